"""May a number be used, and of which part of the phase is it? Runs whose rates are known at every moment."""

import itertools
from typing import Any

import msgspec
import numpy as np
import pytest

from assay import events, plan
from assay.analysis import findings
from assay.analysis.judgements.engine_warnings import from_engine
from assay.host.facts import LINK_FACT, FactValue
from assay.results import Document, Result
from assay.verdicts import ServedBy, SteadyVerdict, TrustLevel
from unit.memory_run import judged
from unit.noise import FloatArray, correlated
from unit.synthetic import (
    BLOCK_BACKED,
    NS,
    Counters,
    Stream,
    SyntheticRun,
    one_job,
    one_plan,
    read_op,
    steady_stream,
)

INTERVAL_S = 0.1
COLD = plan.CacheCondition.COLD
BLOCK = 4096


def stream_of(rates: FloatArray, *, operation: str = "read", seed: int = 1) -> Stream:
    """Completions at given rates, interval by interval, evenly spread inside each, with latencies that vary by 10 %."""
    jitter = 1 + 0.02 * correlated(seed, len(rates), 0.3)
    begins = np.arange(len(rates)) * round(INTERVAL_S * NS)
    done = np.concatenate(
        [
            begin + np.linspace(1, INTERVAL_S * NS, round(count))
            for begin, count in zip(begins, rates * jitter * INTERVAL_S, strict=True)
        ]
    ).astype(np.int64)
    varied = 1 + 0.1 * np.random.default_rng(seed).standard_normal(len(done)).clip(-3, 3)
    latency = (np.diff(done, prepend=0).clip(min=1) * varied).clip(min=1).astype(np.int64)
    return Stream(done, latency, BLOCK, operation=operation)


def run_of(
    *streams: Stream,
    seconds: float,
    stopped_by: events.StoppedBy = events.StoppedBy.TIME,
    job: plan.Job | None = None,
    accept: tuple[str, ...] = (),
    counters: Counters | None = None,
    direct: bool = True,
    cache: plan.CacheCondition = COLD,
) -> Document:
    phase = plan.Phase(name="p", title="p", jobs=(job or one_job(),), cache=cache)
    its_plan = one_plan(phase, sample_interval_s=INTERVAL_S)
    run = SyntheticRun(plan.Plan(**{**{f: getattr(its_plan, f) for f in its_plan.__struct_fields__}, "accept": accept}))
    read = sum(len(stream.done_ns) for stream in streams) * BLOCK
    usual = Counters(process_cpu_ns=NS, process_read_bytes=read, devices={"vda": (read, 0)}, device_ns=NS)
    run.phase(list(streams), seconds=seconds, stopped_by=stopped_by, counters=counters or usual, direct=direct)
    return judged(run.end())


def only(document: Document) -> Result:
    (result,) = document.results
    return result


def ids(result: Result, severity: str | None = None) -> set[str]:
    return {finding.id for finding in result.findings if severity in (None, finding.severity)}


def reasons(result: Result) -> list[str]:
    return [reason.id for reason in result.trust.reasons]


@pytest.mark.long
def test_a_steady_rate_is_trusted_and_its_interval_holds_the_true_one() -> None:
    held = 0
    for seed in range(40):
        result = only(run_of(stream_of(np.full(100, 2000.0), seed=seed), seconds=10))
        assert (result.trust.level, result.trusted, result.trust.reasons) == (TrustLevel.YES, True, ())
        assert result.steady
        assert result.steady.verdict is SteadyVerdict.STEADY
        assert result.measures is ServedBy.STORAGE
        assert result.iops_interval
        assert result.iops
        held += abs(2000 / result.iops - 1) <= result.iops_interval.half_share
    assert held >= 34


def test_the_interval_of_a_rate_lies_evenly_around_it() -> None:
    result = only(run_of(stream_of(np.full(100, 2000.0)), seconds=10))

    assert result.iops
    assert result.iops_interval
    low, high = result.iops_interval.low, result.iops_interval.high
    assert (low + high) / 2 == pytest.approx(result.iops)
    assert (high - low) / 2 == pytest.approx(result.iops_interval.half_share * result.iops)
    assert 0 < result.iops_interval.half_share < 0.1


def test_a_cliff_near_the_end_has_no_number() -> None:
    rates = np.full(100, 4000.0)
    rates[80:] = 1000

    result = only(run_of(stream_of(rates), seconds=10))

    assert result.trust.level is TrustLevel.NO
    assert reasons(result)[0] == "not-steady"
    assert result.steady
    assert result.steady.verdict is SteadyVerdict.LATE_SHIFT


def test_what_comes_before_a_steady_rate_is_in_no_number() -> None:
    rates = np.full(100, 1000.0)
    rates[:15] = 5000

    result = only(run_of(stream_of(rates), seconds=10))

    assert result.iops == pytest.approx(1000, rel=0.02)
    assert result.window_s
    assert 1.5 <= result.window_s[0] <= 2.1
    assert result.trust.level is TrustLevel.YES
    assert "earlier-levels" in ids(result, "note")
    assert result.steady
    assert result.steady.before[0].ratio == pytest.approx(5.0, rel=0.05)
    # Everything else is of the same window.
    assert result.ops == pytest.approx(1000 * (result.seconds or 0), rel=0.02)
    assert sum(share or 0 for share in (result.time_budget.on_cpu, result.time_budget.block_delay)) == pytest.approx(
        0.9, abs=0.01
    )


@pytest.mark.parametrize(
    ("share", "times", "is_start"), [(0.19, 2.0, True), (0.21, 2.0, False), (0.25, 1.5, False), (0.4, 1.08, True)]
)
def test_a_rate_that_stood_elsewhere_for_a_fifth_of_the_phase_is_weak(
    share: float, times: float, is_start: bool
) -> None:
    rates = np.full(100, 1000.0)
    rates[: round(100 * share)] *= times

    result = only(run_of(stream_of(rates), seconds=10))

    assert result.iops == pytest.approx(1000, rel=0.02)
    assert reasons(result) == ([] if is_start else ["earlier-levels"])
    assert result.trust.level is (TrustLevel.YES if is_start else TrustLevel.WEAK)


@pytest.mark.parametrize(("id_", "severity"), [("stalled", "weak"), ("a", "note"), ("z", "note")])
def test_storage_that_stood_still_is_weak_and_other_notes_of_the_engine_are_notes(id_: str, severity: str) -> None:
    said = events.Warning(t_ns=1, phase_index=0, id=id_, severity=events.Severity.NOTE, text="What was seen.", cure="")

    assert from_engine(said).severity == severity


def test_a_rate_that_repeats_itself_says_how_often() -> None:
    # 1.25 times as fast for 0.2 s of each second.
    rates = np.where(np.arange(100) % 10 < 2, 2500.0, 2000.0)

    result = only(run_of(stream_of(rates), seconds=10))

    assert result.steady
    assert result.steady.period_s == pytest.approx(1.0)
    (said,) = [finding for finding in result.findings if finding.id == "periodic"]
    assert said.text.startswith("The rate repeats itself every 1.00 s,")
    assert result.iops == pytest.approx(2100, rel=0.01)


def test_a_fixed_amount_of_work_has_the_number_of_all_of_it() -> None:
    rates = np.full(100, 1000.0)
    rates[:30] = 5000

    result = only(run_of(stream_of(rates), seconds=10, stopped_by=events.StoppedBy.OPS))

    assert result.iops == pytest.approx(2200, rel=0.02)
    assert (result.trust.level, reasons(result)[0]) == (TrustLevel.WEAK, "earlier-levels")
    (said,) = [finding for finding in result.findings if finding.id == "earlier-levels"]
    assert said.effect == pytest.approx(5 - 1, rel=0.01)


@pytest.mark.parametrize(("fall", "level"), [(0.12, TrustLevel.WEAK), (0.6, TrustLevel.NO)])
def test_a_drift_is_weak_and_a_large_one_no_number(fall: float, level: TrustLevel) -> None:
    rates = np.linspace(4000, 4000 * (1 - fall), 100)

    result = only(run_of(stream_of(rates), seconds=10))

    assert (result.trust.level, reasons(result)) == (level, ["not-steady"])
    (said,) = [finding for finding in result.findings if finding.id == "not-steady"]
    # From the middle of the first fifth to that of the last.
    first, last = 1 - fall * 0.1, 1 - fall * 0.9
    assert said.effect == pytest.approx(1 - last / first, abs=0.02)


def test_too_few_intervals_and_operations_are_weak() -> None:
    short = only(run_of(stream_of(np.full(8, 2000.0)), seconds=0.8))
    few = only(run_of(stream_of(np.full(30, 30.0)), seconds=3))

    assert (short.trust.level, set(reasons(short))) == (TrustLevel.WEAK, {"small-sample"})
    assert few.trust.level is TrustLevel.WEAK
    assert "small-sample" in reasons(few)
    assert (
        "only 0.80" in next(r.text for r in short.trust.reasons if r.id == "small-sample") or (short.seconds or 0) < 1
    )


def test_what_the_load_accepts_is_a_note() -> None:
    rates = np.linspace(4000, 4000 * 0.88, 100)

    document = run_of(stream_of(rates), seconds=10, accept=("not-steady", "misspelt"))

    result = only(document)
    assert result.trust.level is TrustLevel.YES
    (said,) = [finding for finding in result.findings if finding.id == "not-steady"]
    assert (said.severity, said.text.startswith(findings.ACCEPTED)) == ("note", True)
    assert [finding.text for finding in document.findings if finding.id == "accepted-in-vain"] == [
        "The load accepts misspelt, which this run does not have."
    ]


def test_a_load_may_accept_a_finding_by_an_earlier_id() -> None:
    known = findings.weak("cpu-contention", "No CPU was free.", "Stop other programs.", brief="no CPU was free")

    (accepted,) = findings.ranked([known], ("cpus-busy",))
    vain = run_of(stream_of(np.full(100, 4000.0)), seconds=10, accept=("cpus-busy",)).findings

    assert (accepted.severity, accepted.text) == ("note", f"{findings.ACCEPTED}No CPU was free.")
    assert findings.ranked([known], ("cpu-oversubscribed",)) == (known,)
    # cpus-busy was weak; what it was merged with is a warning.
    graver = findings.warning("cpu-contention", "Worker 0 waited.", "Stop other programs.")
    assert findings.ranked([graver], ("cpus-busy",)) == (graver,)
    assert findings.ranked([graver], ("cpu-contention",))[0].severity == "note"
    assert [finding.text for finding in vain if finding.id == "accepted-in-vain"] == [
        "The load accepts cpus-busy, which this run does not have."
    ]


def test_a_run_that_memory_served_says_so_first() -> None:
    document = run_of(
        stream_of(np.full(50, 2000.0)),
        seconds=5,
        counters=Counters(process_cpu_ns=NS, process_read_bytes=0),
        direct=False,
        cache=plan.CacheCondition.AS_IS,
    )

    assert only(document).measures is ServedBy.PAGE_CACHE
    assert reasons(only(document)) == ["from-memory"]
    assert document.findings[0].id == "from-memory"


def test_the_parts_of_a_mix_have_no_cpu_time_and_the_whole_has() -> None:
    job = one_job(plan.Do(op=read_op("read")), plan.Do(op=read_op("look", kind=plan.OpKind.STAT)))
    streams = (stream_of(np.full(50, 1000.0)), stream_of(np.full(50, 3000.0), operation="look"))

    whole, *parts = run_of(*streams, seconds=5, job=job).results

    assert (whole.operation, [part.operation for part in parts]) == ("*", ["read", "look"])
    assert whole.ops
    assert whole.ops == sum(part.ops or 0 for part in parts)
    assert whole.cpu_ns_per_op == pytest.approx(NS / whole.ops, rel=1e-6)
    assert whole.time_budget.on_cpu == pytest.approx(0.1, abs=1e-3)
    assert {(part.cpu_ns_per_op, part.time_budget.on_cpu, part.limiter) for part in parts} == {(None, None, None)}
    assert whole.latency_ns.max == max(part.latency_ns.max or 0 for part in parts)


def test_a_window_much_shorter_than_its_samples_has_no_cpu_time() -> None:
    burst = Stream(np.array([100_000, 110_000], dtype=np.int64), np.array([2000, 2000], dtype=np.int64), BLOCK)

    result = only(run_of(burst, seconds=0.05, stopped_by=events.StoppedBy.OPS))

    assert (result.cpu_ns_per_op, result.time_budget.on_cpu, result.limiter) == (None, None, None)
    assert any(each.text.startswith("CPU time per operation and time budgets are null") for each in result.findings)
    assert result.trust.level is TrustLevel.WEAK


def test_what_others_write_beside_direct_writes_is_told() -> None:
    job = one_job(plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)), open=plan.OpenFlags(direct=plan.Direct.ON))
    stream = stream_of(np.full(50, 1000.0), operation="write")
    own = len(stream.done_ns) * BLOCK

    def measured(written: float) -> Result:
        counters = Counters(process_cpu_ns=NS, devices={"vda": (0, round(written))}, device_ns=5 * NS)
        return only(run_of(stream, seconds=5, job=job, counters=counters, cache=plan.CacheCondition.AS_IS))

    assert measured(1.1 * own).trust.level is TrustLevel.YES
    assert reasons(measured(1.5 * own)) == ["foreign-io"]
    assert measured(1.5 * own).trust.level is TrustLevel.WEAK
    assert measured(50 * own).trust.level is TrustLevel.NO
    (said,) = [finding for finding in measured(50 * own).findings if finding.id == "foreign-io"]
    assert said.effect == pytest.approx((50 - 1.15) / 50, rel=0.02)


def test_the_committed_rate_counts_to_the_end_of_the_flush() -> None:
    job = one_job(plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)))
    phase = plan.Phase(name="p", title="p", jobs=(job,), after=(plan.Sync(),))
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S))
    run.phase(
        [steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000, bytes_each=BLOCK, operation="write")],
        seconds=5,
        counters=Counters(process_write_bytes=5000 * BLOCK),
    )
    begin_ns, end_ns = 10 * NS, 15 * NS
    run.say(
        events.StepDone(
            t_ns=end_ns + 5 * NS, phase_index=0, step="sync", subject=None, achieved=True, detail="", seconds=4.9
        )
    )

    result = only(judged(run.end()))

    # 5000 writes from the first at 0 s to the end of the flush at 10 s.
    assert result.iops == pytest.approx(1000, rel=0.01)
    assert result.committed
    assert result.committed.iops == pytest.approx(5000 / ((end_ns + 5 * NS - begin_ns) / NS), rel=1e-6)
    assert result.committed.throughput_bytes_per_s == pytest.approx(500 * BLOCK, rel=1e-6)
    assert (result.measures, reasons(result)) == (ServedBy.WRITE_BACK, ["absorbed"])
    (said,) = [finding for finding in result.findings if finding.id == "absorbed"]
    assert said.effect == pytest.approx(0.5, abs=0.01)


def test_a_committed_rate_has_no_start_in_it_that_the_rate_has_not() -> None:
    job = one_job(plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)))
    phase = plan.Phase(name="p", title="p", jobs=(job,), after=(plan.Sync(),))
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S))
    # Three times as fast for a second, then steady; the flush takes no time to speak of.
    stream = stream_of(np.repeat([3000.0, 1000.0], [10, 50]), operation="write")
    run.phase([stream], seconds=6, counters=Counters(process_write_bytes=9000 * BLOCK))
    run.say(
        events.StepDone(
            t_ns=16 * NS + 1, phase_index=0, step="sync", subject=None, achieved=True, detail="", seconds=1e-9
        )
    )

    result = only(judged(run.end()))

    assert result.window_s
    assert result.window_s[0] == pytest.approx(1.0, abs=0.2)
    assert result.iops
    assert result.iops == pytest.approx(1000, rel=0.02)
    assert result.committed
    assert result.iops * 0.98 < result.committed.iops <= result.iops


def flushed_writes(
    *, dirtied: int | None, access: plan.Access, size_bytes: int = 1_000_000, facts: dict[str, FactValue] = BLOCK_BACKED
) -> Result:
    """5,000 writes of 4 KiB in 5 s to a file of a size, of which the kernel saw so many bytes become dirty, and a flush."""
    write = msgspec.structs.replace(read_op("write", kind=plan.OpKind.WRITE), access=access)
    phase = plan.Phase(name="p", title="p", jobs=(one_job(plan.Do(op=write)),), after=(plan.Sync(),))
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S), facts=facts, set_bytes=size_bytes)
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000, bytes_each=BLOCK, operation="write")
    run.phase([stream], seconds=5, counters=Counters(process_write_bytes=dirtied))
    run.say(
        events.StepDone(t_ns=16 * NS, phase_index=0, step="sync", subject=None, achieved=True, detail="", seconds=1.0)
    )
    return only(judged(run.end()))


@pytest.mark.parametrize(
    ("dirty", "before", "stored_share"),
    [
        # Half of what was written became dirty; what was dirty already is stored by the flush, too.
        (0, (), 0.5),
        (500, (), 0.75),
        (1000, (), 1.0),
        # Nobody looked: it is not known, but for a flush before.
        (None, (), None),
        (None, (plan.Sync(),), 0.5),
    ],
)
def test_what_was_dirty_before_counts_as_stored_or_there_is_no_committed_rate(
    dirty: int | None, before: tuple[plan.Sync, ...], stored_share: float | None
) -> None:
    write = msgspec.structs.replace(read_op("write", kind=plan.OpKind.WRITE), access=plan.RandomAccess())
    first, second = (plan.Phase(name=name, title=name, jobs=(one_job(plan.Do(op=write)),)) for name in "ab")
    second = msgspec.structs.replace(second, before=before, after=(plan.Sync(),))
    # 5,000 writes to a set of half as many blocks.
    run = SyntheticRun(one_plan(first, second, sample_interval_s=INTERVAL_S), set_bytes=2500 * BLOCK)
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000, bytes_each=BLOCK, operation="write")
    counters = Counters(process_write_bytes=2500 * BLOCK)
    run.phase([stream], seconds=5, counters=counters)
    for t_s in (15.5, 22.0) if before else (22.0,):
        run.say(
            events.StepDone(
                t_ns=round(t_s * NS), phase_index=1, step="sync", subject=None, achieved=True, detail="", seconds=0.1
            )
        )
    run.phase([stream], seconds=5, index=1, resident=None if dirty is None else (1.0, 1.0), counters=counters)
    run.lines[:] = [
        msgspec.structs.replace(line, dirty_pages=dirty or 0) if isinstance(line, events.Residency) else line
        for line in run.lines
    ]

    _, result = judged(run.end()).results

    assert (result.committed and result.committed.stored_share) == stored_share


ANYWHERE = plan.RandomAccess()


@pytest.mark.parametrize(
    ("direct", "fetched", "measures", "is_honoured"),
    [
        (plan.Direct.OFF, 1.0, ServedBy.MIXED, True),
        (plan.Direct.ON, 1.0, ServedBy.STORAGE, True),
        (plan.Direct.ON, 0.0, ServedBy.MIXED, False),
    ],
)
@pytest.mark.parametrize("flushed", [True, False])
def test_reads_and_changes_together_are_of_storage_where_no_memory_had_either(
    direct: plan.Direct, fetched: float, measures: ServedBy, is_honoured: bool, flushed: bool
) -> None:
    kinds = {"read": plan.OpKind.READ, "write": plan.OpKind.WRITE, **({"fsync": plan.OpKind.FSYNC} if flushed else {})}
    together = plan.Group(
        name="rewrite", actions=tuple(plan.Do(op=read_op(name, kind=kind)) for name, kind in kinds.items())
    )
    job = one_job(together, open=plan.OpenFlags(direct=direct))
    streams = [
        steady_stream(per_s=1000, seconds=5, latency_ns=300_000, bytes_each=BLOCK, operation=name)
        for name in (*kinds, "rewrite")
    ]
    moved = 5000 * BLOCK
    counters = Counters(process_read_bytes=round(fetched * moved), devices={"vda": (round(fetched * moved), moved)})

    document = run_of(
        *streams,
        seconds=5,
        job=job,
        direct=direct is plan.Direct.ON,
        cache=plan.CacheCondition.AS_IS,
        counters=counters,
    )

    by_name = {result.operation: result for result in document.results}
    assert by_name["rewrite"].measures is measures
    for name in ("rewrite", "read"):
        assert ("O_DIRECT ignored" not in {finding.brief for finding in by_name[name].findings}) is is_honoured
    if direct is plan.Direct.ON:
        assert by_name["read"].measures is (ServedBy.STORAGE if is_honoured else ServedBy.PAGE_CACHE)


def test_what_is_written_over_in_memory_reaches_storage_once() -> None:
    result = flushed_writes(dirtied=1_024_000, access=ANYWHERE)

    # 250 of the 5,000 blocks that were written became dirty: no more came to storage, 6 s after the begin.
    assert result.committed
    assert result.committed.stored_share == pytest.approx(0.05)
    assert result.committed.iops == pytest.approx(250 / 6, rel=0.01)
    assert result.committed.throughput_bytes_per_s == pytest.approx(250 * BLOCK / 6, rel=0.01)
    (said,) = [finding for finding in result.findings if finding.id == "absorbed"]
    assert "Only 5.0 % of the data reached it" in said.text


@pytest.mark.parametrize(("dirtied_share", "stored_share"), [(0.985, 0.985), (0.995, 1.0)])
def test_nothing_was_written_over_where_99_percent_became_dirty(dirtied_share: float, stored_share: float) -> None:
    result = flushed_writes(dirtied=round(dirtied_share * 5000 * BLOCK), access=ANYWHERE)

    assert result.committed
    assert result.committed.stored_share == pytest.approx(stored_share, abs=1e-6)


def test_nothing_is_committed_that_nobody_counted() -> None:
    through_a_server: dict[str, FactValue] = {"target.target.directory": "/data", "target.target.fs.type": "fuse.sshfs"}
    everything = 5000 * BLOCK

    for dirtied, access, size_bytes, facts, stored in (
        (everything, ANYWHERE, 1_000_000, BLOCK_BACKED, 1.0),
        (10 * everything, ANYWHERE, 1_000_000, BLOCK_BACKED, 1.0),
        (None, ANYWHERE, 1_000_000_000, BLOCK_BACKED, None),
        (None, plan.Sequential(), 1_000_000_000, BLOCK_BACKED, 1.0),
        (None, plan.Sequential(), 1_000_000, BLOCK_BACKED, None),
        (0, ANYWHERE, 1_000_000_000, through_a_server, None),
        (0, plan.Sequential(), 1_000_000_000, through_a_server, 1.0),
    ):
        result = flushed_writes(dirtied=dirtied, access=access, size_bytes=size_bytes, facts=facts)
        assert (result.committed and result.committed.stored_share) == stored, (dirtied, access, facts)


def beside_a_limit(
    limit: str,
    *,
    group: tuple[float, float] | None,
    device_per_s: float = 1000,
    size_bytes: int = BLOCK,
    is_own_known: bool = True,
) -> Result:
    """520 direct reads a second for 30 s on a device that is idle for most of it, by a control group with a limit.

    Args:
        limit: As the fact has it.
        group: Bytes and requests a second that the group read; None: its counters were not recorded.
        device_per_s: Reads a second of the device, of 4 KiB.
        size_bytes: Of one operation.
        is_own_known: Whether the kernel says what it fetched for the load.
    """
    facts: dict[str, FactValue] = {
        **BLOCK_BACKED,
        "target.target.device.0.name": "vda",
        "target.target.device.0.number": "254:0",
        "host.cgroup.io_limits": (f"254:0 {limit}",),
    }
    job = one_job(plan.Do(op=read_op(size_bytes=size_bytes)))
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(job,), cache=COLD)), facts=facts)
    streams = [steady_stream(per_s=520, seconds=30, latency_ns=1_900_000, bytes_each=size_bytes)]
    others: dict[tuple[str, str, str], tuple[float, float]] = {
        ("diskstats", "vda", name): (0.0, 30 * device_per_s)
        for name in ("reads", "read_ns", "writes", "write_ns", "weighted_io_ns")
    }
    if group is not None:
        instance = "254:0 /sys/fs/cgroup/above" if " of " in limit else "254:0"
        for name, per_s in zip(("read_bytes", "reads"), group, strict=True):
            others["cgroup_io", instance, name] = (7.0, 7.0 + 30 * per_s)
    counters = Counters(
        process_cpu_ns=NS,
        process_read_bytes=520 * 30 * size_bytes if is_own_known else None,
        devices={"vda": (int(device_per_s) * 30 * BLOCK, 0)},
        device_ns=NS,  # A request for 1 s of the 30.
        others=others,
        on_cpu=0.01,
    )
    return only(judged(run.phase(streams, seconds=30, counters=counters, direct=True).end()))


@pytest.mark.parametrize(
    ("limit", "group", "size_bytes", "share"),
    [
        (f"rbps={1000 * BLOCK}", (1000 * BLOCK, 1000), BLOCK, 0.48),
        (f"rbps={1000 * BLOCK} of /sys/fs/cgroup/above", (1000 * BLOCK, 1000), BLOCK, 0.48),
        ("riops=1000", (1000 * BLOCK, 1000), BLOCK, 0.48),
        # By bytes it is 3 % of theirs; what the limit counts are requests.
        ("riops=1040", (520 * 16 * BLOCK + 520 * BLOCK, 1040), 16 * BLOCK, 0.5),
        # What is more than the operations is theirs as far as their bytes go: 208 and 80 requests of 512 bytes at most.
        ("riops=1040", (520 * 16 * BLOCK + 26 * BLOCK, 1040), 16 * BLOCK, 0.2),
        ("riops=1040", (520 * 16 * BLOCK + 10 * BLOCK, 1040), 16 * BLOCK, 0.0),
        (f"rbps={520 * BLOCK}", (520 * BLOCK, 520), BLOCK, 0.0),
    ],
)
def test_who_takes_of_a_full_limit_is_told_however_idle_the_device_is(
    limit: str, group: tuple[float, float], size_bytes: int, share: float
) -> None:
    result = beside_a_limit(limit, group=group, size_bytes=size_bytes)

    found = [finding for finding in result.findings if finding.id == "foreign-io"]
    assert [finding.effect for finding in found] == ([pytest.approx(share, abs=0.005)] if share else [])
    assert result.limiter is not None
    assert (result.limiter.verdict, result.limiter.confidence) == ("throttle_io", "high")


def test_a_limit_is_not_full_of_what_others_do_outside_of_it() -> None:
    within, unknown = (beside_a_limit("riops=1000", group=group) for group in ((520 * BLOCK, 520), None))

    assert within.limiter is None or within.limiter.verdict != "throttle_io"
    # The device's counters alone do not say whose its requests were.
    assert unknown.limiter is not None
    assert (unknown.limiter.verdict, unknown.limiter.confidence) == ("throttle_io", "medium")
    assert "foreign-io" in ids(unknown, "weak")


def test_where_nobody_knows_what_the_load_had_of_a_full_limit_nobody_is_blamed() -> None:
    result = beside_a_limit("riops=1000", group=(1000 * BLOCK, 1000), is_own_known=False)

    assert result.limiter is not None
    assert (result.limiter.verdict, result.limiter.confidence) == ("throttle_io", "high")
    assert "foreign-io" not in ids(result)


def direct_writes(
    *,
    cache: str,
    flush_s: float | None = None,
    dsync: bool = False,
    is_virtual: bool = False,
    kind: str = "ext4",
    times: float = 1,
) -> Result:
    """1,000 direct writes a second for 5 s on a device that says what cache it has, and a flush after them.

    The device writes so many times their bytes.
    """
    job = one_job(
        plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)), open=plan.OpenFlags(direct=plan.Direct.ON, dsync=dsync)
    )
    after = () if flush_s is None else (plan.Sync(),)
    phase = plan.Phase(name="p", title="p", jobs=(job,), after=after)
    facts = BLOCK_BACKED | {
        "target.target.device.0.name": "vda",
        "target.target.device.0.write_cache": cache,
        "host.virtualisation.is_virtual": is_virtual,
        "target.target.fs.type": kind,
    }
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S), facts=facts)
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000, bytes_each=BLOCK, operation="write")
    run.phase([stream], seconds=5, direct=True, counters=Counters(devices={"vda": (0, round(times * 5000 * BLOCK))}))
    if flush_s is not None:
        at_ns = 15 * NS + round(flush_s * NS)
        done = events.StepDone(
            t_ns=at_ns, phase_index=0, step="sync", subject=None, achieved=True, detail="", seconds=flush_s
        )
        run.say(done)
    return only(judged(run.end()))


def device_cache_effect(result: Result) -> float | None:
    """Return the share of the rate that the device's cache accounts for."""
    (finding,) = (finding for finding in result.findings if finding.id == "device-cache")
    return finding.effect


@pytest.mark.parametrize(
    ("limit", "is_reached"),
    [
        (plan.RateLimit(ops_per_s=100), True),
        (plan.RateLimit(ops_per_s=110), False),
        (plan.RateLimit(bytes_per_s=100 * BLOCK), True),
        (plan.RateLimit(bytes_per_s=110 * BLOCK), False),
    ],
)
def test_a_load_that_reached_its_own_limit_was_held_by_it(limit: plan.RateLimit, is_reached: bool) -> None:
    job = one_job(limit=limit)
    counters = Counters(on_cpu=0.05, run_delay=0.0, idle=0.4, block_delay=0.5)

    stream = steady_stream(per_s=100, seconds=20, latency_ns=5_000_000, bytes_each=BLOCK)
    result = only(run_of(stream, seconds=20, job=job, counters=counters))

    assert result.limiter is not None
    assert (result.limiter.verdict == "offered_load") is is_reached


@pytest.mark.parametrize(
    ("workers", "requests", "measures"),
    [(1, 2.0, "storage"), (1, 0.2, "unknown"), (8, 0.2, "storage"), (8, 0.1, "unknown")],
)
def test_a_flush_is_the_storages_where_each_found_something_to_wait_for(
    workers: int, requests: float, measures: str
) -> None:
    job = one_job(plan.Do(op=read_op("fsync", kind=plan.OpKind.FSYNC)), workers=workers)
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(job,))))
    stream = steady_stream(per_s=100, seconds=20, latency_ns=5_000_000, bytes_each=0, operation="fsync")
    half = (0.0, requests * 100 * 20 / 2)
    others = {("diskstats", "vda", name): half for name in ("writes", "flushes")}
    run.phase([stream], seconds=20, counters=Counters(devices={"vda": (0, 0)}, others=others))

    assert only(judged(run.end())).measures == measures


@pytest.mark.parametrize(
    ("kind", "dsync", "times", "is_told"),
    [
        ("ext4", True, 4, False),
        ("xfs", True, 7, True),
        ("ext4", False, 2, True),
        # What btrfs writes anew for a write depends on its trees, and nobody can tell it from others' writes.
        ("btrfs", True, 37, False),
        ("btrfs", False, 4, False),
        ("btrfs", True, 90, False),
        # Others have a tenth of all beyond 1.15 / 0.9 bytes for each, and beyond 5 / 0.9 for each durable one of 4 KiB.
        ("ext4", False, 1.27, False),
        ("ext4", False, 1.29, True),
        ("ext4", True, 5.5, False),
        ("ext4", True, 5.6, True),
    ],
)
def test_what_a_file_system_writes_anew_is_not_put_to_others(
    kind: str, dsync: bool, times: float, is_told: bool
) -> None:
    result = direct_writes(cache="write through", dsync=dsync, kind=kind, times=times)

    assert ("foreign-io" in ids(result)) is is_told


def test_a_direct_write_is_the_devices_until_a_flush_shows_that_the_medium_keeps_up() -> None:
    nobody_knows = direct_writes(cache="write back")
    keeps_up = direct_writes(cache="write back", flush_s=0.1)
    behind = direct_writes(cache="write back", flush_s=5.0)

    assert [one.cache.verdict for one in (nobody_knows, keeps_up, behind)] == ["device"] * 3
    assert (nobody_knows.committed, reasons(nobody_knows)) == (None, ["device-cache"])
    assert (keeps_up.trust.level, "device-cache" in ids(keeps_up, "note")) == (TrustLevel.YES, True)
    assert keeps_up.committed
    assert keeps_up.committed.iops == pytest.approx(5000 / 5.1, rel=0.01)
    assert (behind.trust.level, reasons(behind)) == (TrustLevel.WEAK, ["device-cache"])
    assert behind.committed
    assert behind.committed.iops == pytest.approx(500, rel=0.01)
    # Of 1,000 a second, 5,000 in 5.1 s are 980 and 5,000 in 10 s are 500: the flush takes 2 % and 50 % of the rate.
    assert device_cache_effect(keeps_up) == pytest.approx(1 - 5 / 5.1, abs=0.002)
    assert device_cache_effect(behind) == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize(("flush_s", "severity"), [(0.55, "note"), (0.56, "weak")])
def test_the_medium_keeps_up_where_it_has_nine_tenths_of_the_rate(flush_s: float, severity: str) -> None:
    # 5 s of writes by 5.55 s are 90.1 % of the rate, by 5.56 s 89.9 %.
    assert "device-cache" in ids(direct_writes(cache="write back", flush_s=flush_s), severity)


def test_a_flush_that_a_virtual_machine_s_host_answers_shows_nothing_of_a_medium() -> None:
    kept = direct_writes(cache="write back", flush_s=0.1, is_virtual=True)
    flushed = direct_writes(cache="write back", dsync=True, is_virtual=True)

    assert device_cache_effect(kept) == pytest.approx(1 - 5 / 5.1, abs=0.002)
    assert (kept.trust.level, reasons(kept)) == (TrustLevel.WEAK, ["device-cache"])
    assert (flushed.trust.level, reasons(flushed)) == (TrustLevel.YES, [])


@pytest.mark.parametrize(("on_cpu", "is_virtual"), [(0.98, True), (0.98, False), (0.3, True)])
def test_the_interval_of_a_load_paced_at_300_a_second_is_300(on_cpu: float, is_virtual: bool) -> None:
    """Whatever limits it, and on whatever machine: its own intervals of time leave nothing open."""
    facts: dict[str, FactValue] = {**BLOCK_BACKED, "host.virtualisation.is_virtual": is_virtual}
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(one_job(),), cache=COLD)), facts=facts)
    streams = [steady_stream(per_s=300, seconds=30, latency_ns=1_000_000, bytes_each=BLOCK)]
    read = 9_000 * BLOCK
    counters = Counters(
        process_cpu_ns=NS, process_read_bytes=read, devices={"vda": (read, 0)}, on_cpu=on_cpu, block_delay=0.0
    )
    result = only(judged(run.phase(streams, seconds=30, counters=counters, direct=True).end()))

    assert result.iops_interval
    assert (result.iops_interval.low, result.iops_interval.high) == pytest.approx((300, 300), rel=1e-3)


def test_a_write_that_waits_for_the_flush_or_for_a_device_without_a_cache_is_flushed() -> None:
    for one in (direct_writes(cache="write through"), direct_writes(cache="write back", dsync=True)):
        assert (one.cache.verdict, one.trust.level, one.committed) == ("flushed", TrustLevel.YES, None)
        assert "device-cache" not in ids(one)


def test_the_gravest_finding_decides_and_each_kind_is_a_reason_once() -> None:
    one, two = (findings.weak("absorbed", text, "", brief="memory took it") for text in "ab")
    grave = findings.warning("not-steady", "c", "", brief="rate changed late", effect=0.3)
    graver = findings.warning("foreign-io", "d", "", effect=0.9)
    for order in itertools.permutations((one, two, grave, graver, findings.note("periodic", "e"))):
        ranked = findings.ranked(order)
        trust = findings.trust(ranked)
        assert trust.level is TrustLevel.NO
        assert [(reason.id, reason.text) for reason in trust.reasons] == [
            ("foreign-io", "foreign io"),
            ("not-steady", "rate changed late"),
            ("absorbed", "memory took it"),
        ]


def two_workers(first_per_s: int, second_per_s: int) -> Result:
    """Two workers for 5 s, each at a rate of its own."""
    streams = [
        steady_stream(per_s=per_s, seconds=5, latency_ns=500_000, bytes_each=BLOCK, worker=worker)
        for worker, per_s in enumerate((first_per_s, second_per_s))
    ]
    return only(run_of(*streams, seconds=5, job=one_job(workers=2)))


def test_workers_of_the_same_time_that_do_not_get_the_same_are_named() -> None:
    # Jain's index of 1000 and 500 is 1500^2 / (2 * 1250000) = 0.9, of 520 it is 0.91, of 480 it is 0.89.
    assert "uneven-workers" not in ids(two_workers(1000, 520))
    assert "uneven-workers" in ids(two_workers(1000, 480), "note")
    assert two_workers(1000, 480).trust.level is TrustLevel.YES


def test_a_storage_that_stood_still_makes_a_number_weak_wherever_its_window_lies() -> None:
    phase = plan.Phase(name="p", title="p", jobs=(one_job(),), cache=COLD)
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S))
    stream = stream_of(np.full(50, 2000.0))
    read = len(stream.done_ns) * BLOCK
    run.phase([stream], seconds=5, counters=Counters(process_cpu_ns=NS, process_read_bytes=read), direct=True)
    note = events.Severity.NOTE
    run.say(events.Warning(t_ns=1, phase_index=0, id="stalled", severity=note, text="no answer for 2 s", cure="Look."))

    result = only(judged(run.end()))

    assert (result.trust.level, reasons(result)) == (TrustLevel.WEAK, ["stalled"])


def test_a_limiter_is_sure_where_twice_as_many_in_flight_agree() -> None:
    def phase(name: str, workers: int) -> plan.Phase:
        return plan.Phase(name=name, title=name, jobs=(one_job(workers=workers),), cache=COLD)

    def measured(rates: dict[int, int]) -> dict[int, Result]:
        phases = [phase(f"p{workers}", workers) for workers in rates]
        run = SyntheticRun(one_plan(*phases, sample_interval_s=INTERVAL_S))
        for index, (workers, per_s) in enumerate(rates.items()):
            each = per_s // workers
            streams = [
                steady_stream(per_s=each, seconds=5, latency_ns=NS // each, bytes_each=BLOCK, worker=worker)
                for worker in range(workers)
            ]
            read = per_s * 5 * BLOCK
            counters = Counters(
                process_cpu_ns=NS // 10, process_read_bytes=read, devices={"vda": (read, 0)}, on_cpu=0.05
            )
            run.phase(streams, seconds=5, index=index, counters=counters, direct=True)
        return dict(zip(rates, judged(run.end()).results, strict=True))

    grows = measured({2: 1000, 4: 1900})[2].limiter
    stays = measured({2: 1000, 4: 1020})[2].limiter
    assert grows
    assert stays
    assert (grows.verdict, grows.confidence) == ("operation_latency", "high")
    assert grows.headroom == pytest.approx(1.9, rel=0.02)
    assert (stays.verdict, stays.confidence) == ("operation_latency", "low")


def direct_write(name: str = "write") -> plan.Job:
    op = plan.Op(
        op=plan.OpKind.WRITE,
        name=name,
        file=plan.FromSet(set="data", pick=plan.Next()),
        access=plan.RandomAccess(),
        size=plan.Fixed(value=float(BLOCK)),
    )
    return one_job(plan.Do(op=op), open=plan.OpenFlags(direct=plan.Direct.ON))


@pytest.mark.parametrize(
    ("write_per_s", "access", "size_bytes", "settings", "is_named"),
    [
        # Five times 200 a second.
        (960, plan.RandomAccess(), BLOCK, {}, False),
        (1040, plan.RandomAccess(), BLOCK, {}, True),
        # Reads that are not as the writes are no measure of them.
        (1040, plan.Sequential(), BLOCK, {}, False),
        (1040, plan.RandomAccess(), 2 * BLOCK, {}, False),
        (1040, plan.RandomAccess(), BLOCK, {"queue_depth": 2}, False),
        (1040, plan.RandomAccess(), BLOCK, {"workers": 2}, False),
        (1040, plan.RandomAccess(), BLOCK, {"open": plan.OpenFlags(direct=plan.Direct.OFF)}, False),
    ],
)
def test_random_writes_far_above_random_reads_of_their_kind_are_named(
    write_per_s: int, access: plan.Access, size_bytes: int, settings: dict[str, Any], *, is_named: bool
) -> None:
    look = msgspec.structs.replace(read_op(size_bytes=size_bytes), access=access)
    read = one_job(plan.Do(op=look), **{"open": plan.OpenFlags(direct=plan.Direct.ON), **settings})
    phases = [plan.Phase(name=name, title=name, jobs=(job,)) for name, job in (("r", read), ("w", direct_write()))]
    run = SyntheticRun(one_plan(*phases, sample_interval_s=INTERVAL_S))
    for index, (operation, per_s) in enumerate((("read", 200), ("write", write_per_s))):
        stream = steady_stream(per_s=per_s, seconds=5, latency_ns=NS // per_s, bytes_each=BLOCK, operation=operation)
        moved = per_s * 5 * BLOCK
        counters = Counters(process_cpu_ns=NS // 10, process_read_bytes=moved, devices={"vda": (moved, moved)})
        run.phase([stream], seconds=5, index=index, counters=counters, direct=True)

    assert ("faster-than-storage" in ids(judged(run.end()).results[1], "note")) is is_named


def durable_writes_after_reads(
    read_ns: int, write_ns: int, *, reads: int = 200, access: plan.Access | None = None, **settings: Any
) -> Result:
    """Return the result of durable writes in a run whose reads, random by default, have a known latency."""
    look = msgspec.structs.replace(read_op(), access=access or plan.RandomAccess())
    read = one_job(plan.Do(op=look), **{"open": plan.OpenFlags(direct=plan.Direct.ON), **settings})
    write = one_job(
        plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)), open=plan.OpenFlags(direct=plan.Direct.ON, dsync=True)
    )
    phases = [plan.Phase(name=name, title=name, jobs=(job,)) for name, job in (("r", read), ("w", write))]
    run = SyntheticRun(one_plan(*phases, sample_interval_s=INTERVAL_S))
    for index, (operation, per_s, latency_ns) in enumerate((("read", reads // 5, read_ns), ("write", 100, write_ns))):
        stream = steady_stream(per_s=per_s, seconds=5, latency_ns=latency_ns, bytes_each=BLOCK, operation=operation)
        counters = Counters(process_read_bytes=reads * BLOCK, devices={"vda": (reads * BLOCK, 500 * BLOCK)})
        run.phase([stream], seconds=5, index=index, counters=counters, direct=True)
    return judged(run.end()).results[1]


@pytest.mark.parametrize(
    ("read_ns", "write_ns", "settings", "is_too_fast"),
    [
        # A tenth of 5 ms is 0.5 ms.
        (5_000_000, 480_000, {}, True),
        (5_000_000, 520_000, {}, False),
        # Reads below 2 ms come from no moving part.
        (2_100_000, 20_000, {}, True),
        (1_900_000, 20_000, {}, False),
        # A read that waits behind another takes longer than the medium needs.
        (5_000_000, 480_000, {"queue_depth": 2}, False),
        (5_000_000, 480_000, {"workers": 2}, False),
        # Reads in order, and those of the page cache, tell nothing of the medium.
        (5_000_000, 480_000, {"access": plan.Sequential()}, False),
        (5_000_000, 480_000, {"open": plan.OpenFlags(direct=plan.Direct.OFF)}, False),
        # Fewer than a hundred reads are no sample.
        (5_000_000, 480_000, {"reads": 100}, True),
        (5_000_000, 480_000, {"reads": 95}, False),
    ],
)
def test_a_durable_write_in_a_tenth_of_a_slow_read_went_into_a_cache(
    read_ns: int, write_ns: int, settings: dict[str, Any], *, is_too_fast: bool
) -> None:
    result = durable_writes_after_reads(read_ns, write_ns, **settings)

    assert ("durable write took" in " ".join(f.text for f in result.findings if f.severity == "weak")) is is_too_fast


@pytest.mark.parametrize(("link_bytes_per_s", "is_said"), [(9e6, False), (8e6, True), (None, False)])
def test_more_than_the_link_carries_never_went_over_it(link_bytes_per_s: float | None, *, is_said: bool) -> None:
    # 2000 of 4 KiB a second are 8.19 MB/s.
    facts = {} if link_bytes_per_s is None else {LINK_FACT: link_bytes_per_s}
    phase = plan.Phase(name="p", title="p", jobs=(one_job(),), cache=COLD)
    run = SyntheticRun(one_plan(phase, sample_interval_s=INTERVAL_S), facts={**BLOCK_BACKED, **facts})
    read = 2000 * 5 * BLOCK
    counters = Counters(process_cpu_ns=NS // 10, process_read_bytes=read, devices={"vda": (read, 0)})
    run.phase(
        [steady_stream(per_s=2000, seconds=5, latency_ns=500_000, bytes_each=BLOCK)], seconds=5, counters=counters
    )

    result = only(judged(run.end()))

    assert ("faster-than-storage" in ids(result, "warning")) is is_said
