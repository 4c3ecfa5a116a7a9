"""Numbers of the result document against runs whose truth is known."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay import events, plan
from assay.analysis.budget import WorkerUse, cpu_bound_share
from assay.analysis.document import code_of_tool
from assay.bundle import RunBundle
from assay.bundle.tables import OF_STREAM, WORKERS
from assay.report.numbers import percentile_words
from assay.results import Document, Finding, Result
from assay.verdicts import Confidence, SteadyVerdict, TrustLevel
from unit.bundle_streams import begun
from unit.memory_run import hello, judged
from unit.synthetic import (
    BLOCK_BACKED,
    DATA,
    MIB,
    NS,
    Counters,
    Stream,
    SyntheticRun,
    one_job,
    one_plan,
    read_op,
    steady_stream,
)

QUIET = Counters(process_cpu_ns=300_000_000, observer_cpu_ns=100_000_000)


def phase(*jobs: plan.Job, **settings: object) -> plan.Phase:
    return plan.Phase(name="p", title="a phase", jobs=jobs or (one_job(),), **settings)  # type: ignore[arg-type]


def ids(result: Result, severity: str | None = None) -> set[str]:
    return {finding.id for finding in result.findings if severity in (None, finding.severity)}


def only(run: SyntheticRun) -> Result:
    (result,) = judged(run).results
    return result


def test_a_constant_load_has_its_closed_form() -> None:
    run = SyntheticRun(one_plan(phase()))
    run.phase(
        [steady_stream(per_s=1000, seconds=10, latency_ns=1_000_000, bytes_each=4096)], seconds=10, counters=QUIET
    )

    result = only(run.end())

    # The first is issued at 0, the last of 10 000 completes at 10 s: back to back, one a millisecond.
    assert (result.ops, result.bytes, result.seconds) == (10_000, 40_960_000, 10.0)
    assert result.window_s == (0.0, 10.0)
    assert result.iops == 1000.0
    assert result.throughput_bytes_per_s == 4_096_000.0
    assert (result.latency_ns.mean, result.latency_ns.max) == (1_000_000.0, 1_000_000.0)
    assert result.latency_ns.p99_9 == pytest.approx(1_000_000, rel=0.0005)
    assert result.cpu_ns_per_op == 200_000_000 / 10_000
    assert result.response_ns is None


def test_percentiles_agree_with_the_raw_samples_of_all_workers() -> None:
    random = np.random.default_rng(7)
    streams = []
    for worker in range(2):
        latency = random.lognormal(12, 1, 6_000).astype(np.int64) + 1
        streams.append(Stream(np.linspace(NS // 1000, 6 * NS, 6_000).astype(np.int64), latency, 4096, worker=worker))
    samples = np.concatenate([stream.latency_ns for stream in streams])
    run = SyntheticRun(one_plan(phase(one_job(workers=2)))).phase(streams, seconds=6)

    latency_ns = only(run.end()).latency_ns

    assert latency_ns.mean == pytest.approx(samples.mean(), rel=1e-12)
    assert latency_ns.max == samples.max()
    found = (latency_ns.p50, latency_ns.p90, latency_ns.p99, latency_ns.p99_9)
    for value, share in zip(found, (0.5, 0.9, 0.99, 0.999), strict=True):
        assert value == pytest.approx(np.quantile(samples, share, method="inverted_cdf"), rel=1 / 2000)


def test_a_phase_bounded_by_operations_ends_at_its_last_completion_and_not_at_a_tick() -> None:
    run = SyntheticRun(one_plan(phase()))
    run.phase(
        [steady_stream(per_s=1000, seconds=2.5, latency_ns=1_000_000)],
        seconds=3,
        stopped_by=events.StoppedBy.OPS,
    )

    result = only(run.end())

    assert (result.seconds, result.iops) == (2.5, 1000.0)


def test_a_phase_stopped_by_time_with_a_hung_operation_lasts_until_its_time() -> None:
    run = SyntheticRun(one_plan(phase(stop=plan.Stop(seconds=10.0))))
    run.phase([steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000)], seconds=10, abandoned=1)

    result = only(run.end())

    assert (result.ops, result.seconds, result.iops) == (5_000, 10.0, 500.0)
    assert "abandoned" in ids(result, "warning")


@pytest.mark.parametrize(("stopped_by", "seconds"), [(events.StoppedBy.STEADY, 12), (events.StoppedBy.TIME, 20)])
def test_a_phase_that_is_extended_lasts_until_it_is_told_to_end_or_for_its_longest_time(
    stopped_by: events.StoppedBy, seconds: int
) -> None:
    run = SyntheticRun(one_plan(phase(stop=plan.Stop(seconds=10.0), extend_to_s=20.0)))
    stream = steady_stream(per_s=1000, seconds=6, latency_ns=1_000_000)
    run.phase([stream], seconds=seconds, stopped_by=stopped_by, abandoned=1)

    result = only(run.end())

    assert (result.ops, result.seconds) == (6_000, seconds)
    assert "ended-early" not in {finding.id for finding in result.findings}


@pytest.mark.parametrize(("phase_s", "job_s"), [(10.0, 6.0), (6.0, 10.0), (None, 6.0)])
def test_a_hung_operation_lasts_until_the_first_of_the_times_of_its_phase_and_its_job(
    phase_s: float | None, job_s: float
) -> None:
    job = one_job(stop=plan.Stop(seconds=job_s))
    run = SyntheticRun(one_plan(phase(job, stop=plan.Stop(seconds=phase_s))))
    run.phase([steady_stream(per_s=1000, seconds=4, latency_ns=1_000_000)], seconds=6, abandoned=1)

    result = only(run.end())

    # Either rule ends it: nothing completes after 4 s, and the operation is given up at 6 s.
    assert (result.ops, result.seconds) == (4_000, 6.0)
    assert result.iops == pytest.approx(4_000 / 6)


def test_a_worker_that_hangs_is_at_work_until_its_own_time_and_those_beside_it_count() -> None:
    """By hand: 2,000 operations of the one that hangs from 2 s on, 10,000 of the other, in 10 s."""
    run = SyntheticRun(one_plan(phase(one_job(workers=2), stop=plan.Stop(seconds=10.0))))
    hanging, other = (
        steady_stream(per_s=1000, seconds=seconds, latency_ns=1_000_000, worker=worker)
        for worker, seconds in enumerate((2, 10))
    )
    run.phase([hanging, other], seconds=10, abandoned=1)

    result = only(run.end())

    assert (result.ops, result.seconds, result.iops) == (12_000, 10.0, 1_200.0)
    assert "A worker waited 8.00 s" in next(one.text for one in result.findings if one.id == "abandoned")
    assert "workers-apart" not in ids(result)


def test_a_job_that_ends_by_its_own_time_does_not_shorten_the_one_that_hangs_in_another() -> None:
    jobs = one_job(name="a", stop=plan.Stop(seconds=9.8)), one_job(name="b")
    run = SyntheticRun(one_plan(phase(*jobs, stop=plan.Stop(seconds=10.0))))
    ended = steady_stream(per_s=1000, seconds=9, latency_ns=1_000_000, job="a")
    hanging = steady_stream(per_s=1000, seconds=6, latency_ns=1_000_000, job="b")
    run.phase([ended, hanging], seconds=10, abandoned=1)

    (result,) = (one for one in judged(run.end()).results if one.job == "b")

    assert (result.ops, result.seconds) == (6_000, 10.0)


@pytest.mark.parametrize(
    ("pace", "at_s"),
    [
        ({"arrival": plan.Open(rate_per_s=1.0)}, ((0.001, 1.001, 2.001, 3.001),)),
        ({"limit": plan.RateLimit(ops_per_s=1.0)}, ((0.001, 1.001, 2.001, 3.001),)),
        # At random times, so that the workers begin and end far apart.
        ({"arrival": plan.Open(rate_per_s=1.0, spacing=plan.Spacing.POISSON)}, ((0.9, 1.1), (2.5, 3.0))),
    ],
    ids=["open", "limit", "poisson"],
)
def test_a_paced_load_has_its_rate_of_the_whole_phase(
    pace: dict[str, Any], at_s: tuple[tuple[float, ...], ...]
) -> None:
    """By hand: 4 operations in 4 s at 1 a second, and not 4 in the 3 s between the first and the last."""
    run = SyntheticRun(one_plan(phase(one_job(workers=len(at_s), **pace), stop=plan.Stop(seconds=4.0))))
    streams = [
        Stream((np.array(own) * NS).astype(np.int64), np.full(len(own), NS // 1000, dtype=np.int64), worker=worker)
        for worker, own in enumerate(at_s)
    ]
    run.phase(streams, seconds=4)

    result = only(run.end())

    assert result.ops == 4
    assert (result.seconds, result.iops) == pytest.approx((4.0, 1.0), rel=1e-3)
    assert not {"workers-apart", "not-steady"} & ids(result)


def test_the_wait_for_the_last_operation_is_no_change_of_a_steady_rate() -> None:
    run = SyntheticRun(one_plan(phase(stop=plan.Stop(seconds=4.0)), sample_interval_s=0.1))
    # A throttle that gives 40 tokens at each tenth of a second: the operation after the last one completes 97 ms later.
    tokens = [round(tenth * 0.1 * NS) + 1_000 * (1 + number) for tenth in range(40) for number in range(40)]
    done_ns = np.array([*tokens, round(4.0967 * NS)], dtype=np.int64)
    run.phase([Stream(done_ns, np.full(len(done_ns), 1_000, dtype=np.int64))], seconds=4.0967)

    result = only(run.end())

    assert result.steady is not None
    assert result.steady.verdict is SteadyVerdict.STEADY
    assert result.steady.intervals == 40
    assert (result.ops, result.seconds) == (1601, 4.0967)


def test_a_wait_for_the_last_operation_that_lowers_the_rate_is_not_trusted() -> None:
    run = SyntheticRun(one_plan(phase(stop=plan.Stop(seconds=6.0)), sample_interval_s=0.1))
    steady = steady_stream(per_s=1000, seconds=6, latency_ns=1_000_000)
    done_ns, latency_ns = np.array([round(6.9 * NS)]), np.array([900_000_000])
    run.phase([steady.then(Stream(done_ns, latency_ns))], seconds=6.9)

    result = only(run.end())

    # 6,001 operations in 6.9 s: 13 % less than the rate at which they were served.
    assert result.iops == pytest.approx(6_001 / 6.9, rel=1e-3)
    assert result.steady is not None
    assert result.steady.verdict is SteadyVerdict.LATE_SHIFT
    assert not result.trusted


def test_an_interval_in_which_nothing_completed_still_counts_as_time() -> None:
    early = steady_stream(per_s=100, seconds=2, latency_ns=1_000_000)
    late = steady_stream(per_s=100, seconds=6, begin_s=4, latency_ns=1_000_000)
    stream = early.then(late)
    run = SyntheticRun(one_plan(phase(ramp_s=1.0))).phase([stream], seconds=6)

    result = only(run.end())

    # 100 + 200 operations between 1 s and the last completion at 5.991 s.
    assert result.ops == 300
    assert result.window_s
    assert result.window_s[0] == 1.0
    assert result.iops == pytest.approx(300 / 4.991)


def test_the_ramp_is_no_part_of_the_number() -> None:
    slow = steady_stream(per_s=10, seconds=2, latency_ns=50_000_000)
    fast = steady_stream(per_s=1000, seconds=6, begin_s=2, latency_ns=1_000_000)
    stream = slow.then(fast)
    run = SyntheticRun(one_plan(phase(ramp_s=2.0))).phase([stream], seconds=6)

    result = only(run.end())

    assert result.window_s == (2.0, 6.0)
    assert result.iops == 1000.0
    assert result.latency_ns.mean == 1_000_000.0
    # The largest latency of the phase, 50 ms, lay in the ramp.
    assert result.latency_ns.max == pytest.approx(1_000_000, rel=0.0005)


def test_the_largest_latency_of_a_window_is_exact_where_it_is_the_largest_of_the_phase() -> None:
    fast = steady_stream(per_s=1000, seconds=2, latency_ns=1_000_000)
    slow = steady_stream(per_s=100, seconds=6, begin_s=2, latency_ns=7_004_000)
    run = SyntheticRun(one_plan(phase(ramp_s=2.0))).phase([fast.then(slow)], seconds=6)

    # Its bucket begins at 1709 times 4,096 ns: the middle is 7,002,112 ns.
    assert only(run.end()).latency_ns.max == 7_004_000


def test_a_ramp_longer_than_the_phase_makes_the_number_invalid() -> None:
    run = SyntheticRun(one_plan(phase(ramp_s=20.0)))
    run.phase([steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000)], seconds=5)

    assert "ramp-not-excluded" in ids(only(run.end()), "invalid")


def late_worker(begin_s: float, seconds: float) -> SyntheticRun:
    streams = [
        steady_stream(per_s=100, seconds=seconds, latency_ns=1_000_000),
        steady_stream(per_s=100, seconds=seconds, begin_s=begin_s, latency_ns=1_000_000, worker=1),
    ]
    run = SyntheticRun(one_plan(phase(one_job(workers=2))))
    return run.phase(streams, seconds=seconds).end()


def test_the_cure_of_an_invalid_sum_is_one_for_what_kept_the_workers_apart() -> None:
    streams = [
        steady_stream(per_s=100, seconds=60, latency_ns=1_000_000),
        steady_stream(per_s=100, seconds=30, latency_ns=1_000_000, worker=1),
    ]
    early = SyntheticRun(one_plan(phase(one_job(workers=2)))).phase(streams, seconds=60).end()

    for run, cure in ((early, "stop.of = first"), (late_worker(30, 60), "Run longer")):
        document = judged(run)
        (found,) = (found for found in document.results[0].findings if found.id == "workers-apart")
        assert cure in found.cure
        assert (document.results[0].trusted, document.run.exit_code) == (False, 1)


def test_a_worker_that_starts_6_s_late_of_60_trims_the_window_to_the_time_of_both() -> None:
    doc = judged(late_worker(6, 60))

    result = doc.results[0]
    assert "workers-apart" in ids(result, "warning")
    assert result.window_s
    assert result.window_s[0] == 6.0
    # Both at 100/s; over the whole span it would have been 190/s.
    assert result.iops == pytest.approx(200.0, rel=0.001)
    assert doc.run.exit_code == 0


def test_a_worker_that_starts_1_s_late_of_60_is_a_note_on_the_whole_span() -> None:
    result = only(late_worker(1, 60))

    assert result.trusted
    assert "workers-apart" in ids(result, "note")
    assert result.ops == 11_900


def test_a_killed_phase_gives_the_intervals_that_were_written() -> None:
    run = SyntheticRun(one_plan(phase()))
    run.phase([steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000)], seconds=3, is_cut=True)

    doc = judged(run)

    result = doc.results[0]
    assert (result.ops, result.seconds, result.iops) == (3000, 3.0, 1000.0)
    assert "unfinished" in ids(result, "warning")
    assert "unfinished" in {finding.id for finding in doc.findings}
    assert doc.run.exit_code == 1


def test_percentiles_without_enough_samples_are_null_and_a_finding_says_so() -> None:
    run = SyntheticRun(one_plan(phase())).phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)

    result = only(run.end())

    assert result.latency_ns.p90 is not None
    assert (result.latency_ns.p99, result.latency_ns.p99_9) == (None, None)
    (finding,) = (finding for finding in result.findings if finding.id == "small-sample" and finding.severity == "note")
    assert finding.text.startswith("p99, p99.9: too few")


@pytest.mark.parametrize(
    ("ramp_s", "seconds", "window_s"),
    [
        (0.0, 6.0, (0.0, 6.0)),
        (2.0, 6.0, (2.0, 6.0)),
        # Cut within the ramp: all that there is stands for it.
        (8.0, 6.0, (0.0, 6.0)),
    ],
)
def test_a_phase_that_was_cut_has_its_ramp_in_no_number(
    ramp_s: float, seconds: float, window_s: tuple[float, float]
) -> None:
    run = SyntheticRun(one_plan(phase(ramp_s=ramp_s)))
    run.phase([steady_stream(per_s=1000, seconds=seconds, latency_ns=1_000_000)], seconds=seconds, is_cut=True)

    result = only(run)

    assert result.window_s == window_s
    assert result.ops == 1000 * (window_s[1] - window_s[0])


def test_time_shares_sum_to_one_exactly_and_coarse_block_delay_is_cut_to_what_is_left() -> None:
    counters = Counters(on_cpu=0.123456789, run_delay=0.03, block_delay=0.9)
    run = SyntheticRun(one_plan(phase()))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5, counters=counters)

    budget = only(run.end()).time_budget

    shares = (budget.on_cpu, budget.run_delay, budget.block_delay, budget.other_wait)
    assert sum(share for share in shares if share is not None) == 1.0
    assert budget.on_cpu == pytest.approx(0.123456789, abs=1e-6)
    assert budget.block_delay == pytest.approx(0.846543211, abs=2e-6)
    assert budget.other_wait == 0.0


def test_without_delay_accounting_block_delay_is_null_and_part_of_the_other_waits() -> None:
    counters = Counters(on_cpu=0.25, run_delay=0.0, block_delay=None)
    run = SyntheticRun(one_plan(phase()))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5, counters=counters)

    doc = judged(run.end())

    budget = doc.results[0].time_budget
    assert (budget.on_cpu, budget.block_delay, budget.other_wait) == (0.25, None, 0.75)
    (finding,) = (finding for finding in doc.findings if finding.id == "counters-unavailable")
    assert "kernel.task_delayacct=1" in finding.cure


def test_block_delay_that_was_dropped_in_one_phase_is_not_blamed_on_privileges() -> None:
    first, second = (msgspec.structs.replace(phase(), name=name, title=name) for name in ("first", "second"))
    run = SyntheticRun(one_plan(first, second))
    for index, block_delay in enumerate((0.1, None)):
        counters = Counters(on_cpu=0.25, run_delay=0.0, block_delay=block_delay)
        stream = steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)
        run.phase([stream], seconds=5, index=index, counters=counters)

    doc = judged(run.end())

    (finding,) = (finding for finding in doc.findings if finding.id == "counters-unavailable")
    assert finding.text.endswith("the other waits in second.")
    assert "root" not in finding.cure


def test_jobs_that_share_a_phase_are_charged_with_their_own_workers_cpu_time() -> None:
    jobs = (one_job(name="a"), one_job(name="b"))
    streams = [steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, job=name) for name in ("a", "b")]
    run = SyntheticRun(one_plan(phase(*jobs)))
    run.phase(streams, seconds=5, counters=Counters(process_cpu_ns=5 * NS, on_cpu=0.2))

    doc = judged(run.end())

    # 20 % of 5 s for 500 operations.
    assert [result.cpu_ns_per_op for result in doc.results] == [2_000_000.0, 2_000_000.0]


def test_programs_that_a_worker_runs_are_charged_to_it_and_are_in_its_time() -> None:
    jobs = (one_job(name="a"), one_job(name="b"))
    streams = [steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, job=name) for name in ("a", "b")]
    run = SyntheticRun(one_plan(phase(*jobs)))
    run.phase(streams, seconds=5, counters=Counters(on_cpu=0.2, run_delay=0.0, block_delay=0.0, children_cpu_ns=2 * NS))

    first = judged(run.end()).results[0]

    # 20 % of 5 s and 2 s of its programs, for 500 operations.
    assert first.cpu_ns_per_op == 6_000_000.0
    assert first.time_budget.on_cpu == pytest.approx(0.6, abs=1e-5)
    assert first.time_budget.other_wait == pytest.approx(0.4, abs=1e-5)


def test_a_group_is_not_counted_on_top_of_its_members() -> None:
    write = read_op("write", kind=plan.OpKind.WRITE)
    job = one_job(plan.Group(name="create", actions=(plan.Do(op=write),)))
    stream = steady_stream(per_s=100, seconds=10, latency_ns=1_000_000, bytes_each=4096, operation="write")
    group = dataclasses.replace(stream, operation="create")
    run = SyntheticRun(one_plan(phase(job)))
    run.phase([stream], seconds=10, counters=dataclasses.replace(QUIET, devices={"vda": (0, 2_048_000)}))
    run._operation(0, ("job", "create"), [group], [k * NS for k in range(11)], 10 * NS)

    doc = judged(run.end())

    create, write_result = sorted(doc.results, key=lambda result: result.operation)
    assert (create.operation, write_result.operation) == ("create", "write")
    assert create.cpu_ns_per_op == write_result.cpu_ns_per_op == 200_000.0
    # 1000 writes of 4096 bytes, half of which the device wrote meanwhile.
    assert any("wrote 50 % of the bytes" in finding.text for finding in create.findings)


def test_a_lost_histogram_row_breaks_conservation() -> None:
    run = SyntheticRun(one_plan(phase())).phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)
    whole = judged(run.end())
    run.lose_histogram_rows(1)

    damaged = judged(run)

    assert "counts-disagree" not in ids(whole.results[0])
    assert "counts-disagree" in ids(damaged.results[0], "invalid")
    assert (whole.run.exit_code, damaged.run.exit_code) == (0, 1)


@pytest.mark.parametrize(
    ("finding", "code"),
    [
        (("counts-disagree", "invalid"), 1),
        (("counts-disagree", "warning"), 0),
        (("no-operations", "note"), 1),
        (("foreign-io", "invalid"), 0),
    ],
)
def test_a_classic_tool_fails_where_its_record_contradicts_itself(finding: tuple[str, str], code: int) -> None:
    id_, severity = finding
    run = SyntheticRun(one_plan(phase())).phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)
    whole = judged(run.end())
    said = (Finding(id=id_, severity=severity, text="", cure=""),)
    unusable = msgspec.structs.replace(
        whole, findings=said, run=msgspec.structs.replace(whole.run, exit_code=1), results=()
    )

    assert code_of_tool(unusable) == code


@pytest.mark.parametrize("lost", ["a", "b", "c"])
def test_operations_that_a_worker_never_ended_break_the_results_of_its_job_alone(lost: str) -> None:
    run = SyntheticRun(one_plan(phase(*(one_job(name=name) for name in "abc"))))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=NS // 100, job=name) for name in "abc"], seconds=5)
    finished = run.lines[-1]
    assert isinstance(finished, events.PhaseFinished)
    workers = [
        msgspec.structs.replace(worker, started=worker.started + (worker.job == lost)) for worker in finished.workers
    ]
    run.lines[-1] = msgspec.structs.replace(finished, workers=tuple(workers))

    broken = {result.job: "counts-disagree" in ids(result, "invalid") for result in judged(run.end()).results}

    assert broken == {name: name == lost for name in "abc"}


@pytest.mark.parametrize(
    ("actions", "more_bytes", "is_broken"),
    [
        ((plan.Do(op=read_op()),), 0, False),
        ((plan.Do(op=read_op()),), 1, True),
        ((plan.Do(op=read_op()),), -1, True),
        # A stop breaks a group off, whose members are recorded before the worker counts it.
        ((plan.Group(name="g", actions=(plan.Do(op=read_op()),)),), -1, False),
        ((plan.Group(name="g", actions=(plan.Do(op=read_op()),)),), 1, True),
    ],
)
def test_workers_moved_what_their_operations_moved_but_for_groups_broken_off(
    actions: tuple[plan.Action, ...], more_bytes: int, *, is_broken: bool
) -> None:
    run = SyntheticRun(one_plan(phase(one_job(*actions))))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=NS // 100, bytes_each=4096)], seconds=5)
    *head, last = run._rows[WORKERS]
    moved = list(OF_STREAM[WORKERS]).index("bytes")
    run._rows[WORKERS] = [*head, (*last[:moved], last[moved] + more_bytes, *last[moved + 1 :])]  # type: ignore[operator]

    results = judged(run.end()).results

    assert results
    assert all(("counts-disagree" in ids(result, "invalid")) is is_broken for result in results)


def test_a_planned_operation_that_never_completed_is_a_result_of_nothing() -> None:
    job = one_job(plan.Do(op=read_op()), plan.Do(op=read_op("other")))
    run = SyntheticRun(one_plan(phase(job)))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)

    first, second = judged(run.end()).results

    assert first.ops == 500
    assert (second.operation, second.ops, second.iops, second.latency_ns.max) == ("other", 0, None, None)
    assert "no-operations" in ids(second, "note")


def test_a_phase_without_any_operation_is_invalid() -> None:
    run = SyntheticRun(one_plan(phase())).phase([], seconds=5, stopped_by=events.StoppedBy.EXHAUSTED)

    assert "no-operations" in ids(only(run.end()), "invalid")


@pytest.mark.parametrize(("number", "name"), [(5, "EIO"), (35, "EDEADLK"), (95, "EOPNOTSUPP"), (999, "errno 999")])
def test_errors_are_named_as_in_the_manual_counted_and_make_the_exit_code_1(number: int, name: str) -> None:
    stream = dataclasses.replace(
        steady_stream(per_s=100, seconds=5, latency_ns=1_000_000), errors_at_ns=(NS // 2, 3 * NS), errno=number
    )
    run = SyntheticRun(one_plan(phase())).phase([stream], seconds=5)

    doc = judged(run.end())

    (finding,) = (finding for finding in doc.results[0].findings if finding.id == "errors")
    assert "2 of 502 operations" in finding.text
    assert f"({name} 2 times)" in finding.text
    assert (doc.results[0].errors, doc.results[0].ops, doc.run.exit_code) == (2, 500, 1)


def run_with(counters: Counters, **machine: object) -> Result:
    first = hello(**machine)  # type: ignore[arg-type]
    run = SyntheticRun(one_plan(phase(), sample_interval_s=0.1), first=first)
    return only(
        run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5, counters=counters).end()
    )


def test_contention_says_what_else_was_at_work_on_the_machine() -> None:
    spent = {"user_ns": 3 * NS, "softirq_ns": NS, "idle_ns": 5 * NS, "iowait_ns": NS}
    result = run_with(Counters(run_delay=0.15, process_cpu_ns=NS, cpu_ns=spent), cpus=2)

    (finding,) = (finding for finding in result.findings if finding.id == "cpu-contention")
    assert "the load itself used 0.2 of 2 CPUs, all else on the machine 0.6." in finding.text


def test_windows_too_short_for_the_ticks_of_the_kernel_say_nothing_of_the_rest_of_the_machine() -> None:
    def short(seconds: float) -> str:
        cpu = {
            "user_ns": round(0.2 * seconds * NS),
            "idle_ns": round(1.6 * seconds * NS),
            "steal_ns": round(0.2 * seconds * NS),
        }
        run = SyntheticRun(one_plan(phase()), first=hello(cpus=2))
        counters = Counters(run_delay=0.15, process_cpu_ns=round(0.1 * seconds * NS), cpu_ns=cpu)
        streams = [steady_stream(per_s=1000, seconds=seconds, latency_ns=10_000)]
        result = only(run.phase(streams, seconds=seconds, counters=counters).end())
        return " ".join(finding.text for finding in result.findings if finding.id == "cpu-contention")

    assert "waited for a CPU for 15 % of its time; the load itself used 0.1 of 2 CPUs." in short(0.8)
    assert "hypervisor" not in short(0.8)
    assert "all else on the machine 0.1." in short(1.2)
    assert "hypervisor" in short(1.2)


def test_a_wait_that_began_before_the_window_is_never_more_than_all_of_it() -> None:
    result = run_with(Counters(run_delay=1.16, process_cpu_ns=NS), cpus=2)

    (finding,) = (finding for finding in result.findings if finding.id == "cpu-contention")
    assert "for 100 % of its time" in finding.text


def test_a_run_in_which_nothing_was_measured_says_nothing_of_counters() -> None:
    doc = judged(SyntheticRun(one_plan(phase())).end())

    assert "counters-unavailable" not in {finding.id for finding in doc.findings}


def test_waiting_for_a_cpu_that_the_load_itself_uses_is_oversubscription() -> None:
    result = run_with(Counters(run_delay=0.15, process_cpu_ns=round(9.5 * NS)), cpus=2)

    assert "own-cpu-wait" in ids(result, "note")
    assert "cpu-contention" not in ids(result)


def shared_cpu(
    *,
    idle_ns: int,
    on_cpu: float = 0.125,
    run_delay: float = 0.25,
    cpus: float = 0.5,
    throttled_s: float = 0.0,
    kernel: tuple[float, float] | None = None,
) -> Result:
    """Workers that waited for a CPU beside a load that used `cpus` of two, in a phase of 5 s.

    `kernel` is how many CPUs the kernel's threads used, and between looks how far apart.
    """
    others = {("cgroup", "/quota", "throttled_ns"): (0.0, throttled_s * NS)}
    if kernel is not None:
        used, apart_s = kernel
        others["kernel_threads", "", "on_cpu_ns"] = (7.0, 7.0 + used * apart_s * NS)
        others["kernel_threads", "", "looked_ns"] = (9.0, 9.0 + apart_s * NS)
    counters = Counters(
        on_cpu=on_cpu,
        run_delay=run_delay,
        process_cpu_ns=round(5 * cpus * NS),
        cpu_ns={"user_ns": 10 * NS - idle_ns, "idle_ns": idle_ns},
        others=others,
    )
    return run_with(counters, cpus=2)


def test_workers_that_wait_for_a_cpu_while_nothing_else_runs_wait_for_each_other() -> None:
    result = shared_cpu(idle_ns=round(7.5 * NS))

    (finding,) = (finding for finding in result.findings if finding.id == "own-cpu-wait")
    assert "cpu-contention" not in ids(result)
    assert result.trust.level is TrustLevel.WEAK
    assert finding.text == (
        "Worker 0 waited for a CPU for 25 % of its time; the load itself used 0.5 of 2 CPUs, all else on the machine 0.0. "
        "Workers of this load shared a CPU, and latencies include that wait."
    )
    assert result.limiter is not None
    assert result.limiter.confidence is Confidence.LOW
    assert result.limiter.evidence[-1] == "its workers waited for a CPU for 25 % of their time, behind each other"


@pytest.mark.parametrize(
    ("why", "result"),
    [
        ("others ran for as long", {"idle_ns": round(6.5 * NS)}),
        ("the load ran less beside it than it waited", {"idle_ns": round(8.2 * NS), "cpus": 0.36}),
        ("its control group had had its share", {"idle_ns": round(7.5 * NS), "throttled_s": 1.0}),
        ("one worker alone has nobody to wait for", {"idle_ns": round(8.8 * NS), "on_cpu": 0.24, "cpus": 0.24}),
        ("other programs ran beside the kernel's threads", {"idle_ns": round(4.0 * NS), "kernel": (0.5, 5)}),
        ("the looks at those say nothing of most of the time", {"idle_ns": round(4.0 * NS), "kernel": (0.7, 2)}),
        ("they ran less than it waited", {"idle_ns": round(6.5 * NS), "kernel": (0.2, 5), "run_delay": 0.7}),
        ("its group had had its share", {"idle_ns": round(4.0 * NS), "kernel": (0.7, 5), "throttled_s": 1.0}),
    ],
)
def test_a_wait_for_a_cpu_that_the_load_does_not_account_for_is_contention(why: str, result: dict[str, Any]) -> None:
    found = shared_cpu(**result)

    assert "cpu-contention" in ids(found, "warning"), why
    assert "own-cpu-wait" not in ids(found)


def test_a_number_from_a_machine_whose_cpus_others_had_is_weak() -> None:
    busy = shared_cpu(idle_ns=NS // 2, run_delay=0.04, kernel=(0.4, 5))
    free = shared_cpu(idle_ns=3 * NS, run_delay=0.04, kernel=(0.4, 5))
    of_kernel = shared_cpu(idle_ns=NS // 2, run_delay=0.04, cpus=0.6, kernel=(1.2, 5))

    (finding,) = (finding for finding in busy.findings if finding.id == "cpu-contention")
    assert busy.trust.level is TrustLevel.WEAK
    assert finding.text == (
        "No CPU was free: the load itself used 0.5 of 2 CPUs, threads of the kernel 0.4, all else on the machine 1.0. "
        "Latencies can include waiting for a CPU."
    )
    assert busy.limiter is not None
    assert busy.limiter.confidence is Confidence.LOW
    assert "cpu-contention" not in ids(free)
    assert "cpu-contention" not in ids(of_kernel)


def test_workers_that_wait_behind_threads_of_the_kernel_alone_were_not_disturbed_by_programs() -> None:
    result = shared_cpu(idle_ns=4 * NS, kernel=(0.62, 4.5))

    (finding,) = (finding for finding in result.findings if finding.id == "own-cpu-wait")
    assert "cpu-contention" not in ids(result)
    assert result.trust.level is TrustLevel.WEAK
    assert finding.text == (
        "Worker 0 waited for a CPU for 25 % of its time; the load itself used 0.5 of 2 CPUs, threads of the kernel 0.6, all "
        "else on the machine 0.1. Threads of the kernel had the CPUs, and latencies include that wait."
    )
    assert "other programs" not in finding.cure
    assert result.limiter is not None
    assert result.limiter.confidence is Confidence.LOW
    assert result.limiter.evidence[-1].endswith("behind threads of the kernel and each other")


def test_time_that_the_hypervisor_took_is_contention() -> None:
    quiet = run_with(Counters(cpu_ns={"user_ns": 10 * NS, "idle_ns": 86 * NS, "steal_ns": 4 * NS}))
    robbed = run_with(Counters(cpu_ns={"user_ns": 10 * NS, "idle_ns": 84 * NS, "steal_ns": 6 * NS}))

    assert quiet.trusted
    assert "cpu-contention" in ids(robbed, "warning")


def test_a_slow_clock_and_a_debug_engine_are_found() -> None:
    assert "engine-cost" in ids(run_with(Counters(), read_cost_ns=15_000.0), "note")
    assert "engine-cost" not in ids(run_with(Counters(), read_cost_ns=9_000.0))
    assert "engine-cost" in ids(run_with(Counters(), profile="debug"), "warning")


def test_warnings_of_the_engine_go_to_the_phase_that_they_are_about() -> None:
    phases = [plan.Phase(name=name, title=name, jobs=(one_job(),)) for name in ("first", "second")]
    run = SyntheticRun(one_plan(*phases))
    for index in range(2):
        run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5, index=index)
    run.say(events.Warning(t_ns=1, phase_index=1, id="direct-refused", text="O_DIRECT was refused"))
    run.say(events.Warning(t_ns=1, phase_index=None, id="low-memory", text="little memory"))

    doc = judged(run.end())

    assert [("direct-refused" in ids(result)) for result in doc.results] == [False, True]
    assert "low-memory" in {finding.id for finding in doc.findings}
    assert "low-memory" not in ids(doc.results[0])


def test_a_fallback_that_the_plan_allows_is_said_and_does_not_cost_the_trust() -> None:
    run = SyntheticRun(one_plan(phase(), sample_interval_s=0.1))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)
    note = events.Severity.NOTE
    run.say(
        events.Warning(
            t_ns=1, phase_index=0, id="io-uring-fallback", severity=note, text="32 threads", cure="Allow io_uring."
        )
    )

    result = only(run.end())

    (said,) = [finding for finding in result.findings if finding.id == "engine-fallback"]
    assert (said.severity, said.text, said.cure) == ("note", "32 threads", "Allow io_uring.")
    assert result.trusted


def test_a_warning_of_an_engine_that_gave_no_severity_moves_the_number() -> None:
    line = b'{"event": "warning", "t_ns": 1, "phase_index": 0, "id": "stalled", "text": "no answer"}'
    run = SyntheticRun(one_plan(phase()))
    run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)
    run.say(events.decode(line))

    result = only(run.end())

    assert "stalled" in ids(result, "warning")
    assert not result.trusted


def test_short_transfers_and_a_backend_that_was_not_asked_for_are_found() -> None:
    run = SyntheticRun(one_plan(phase(one_job(backend=plan.IoUring(fallback=plan.Fallback.THREADS)))))
    stream = steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, bytes_each=4 * MIB)

    result = only(run.phase([stream], seconds=5, backend="psync", short_transfers=3).end())

    assert "short-transfers" in ids(result, "warning")
    assert "engine-fallback" in ids(result, "note")


@pytest.mark.parametrize(
    ("late", "backlog", "verdict", "said"),
    [
        (0, 0, "kept_up", set()),
        (7, 5, "kept_up", {("late-arrivals", "note")}),
        (0, 6, "fell_behind", {("late-arrivals", "warning")}),
    ],
)
def test_an_open_loop_keeps_up_while_99_of_100_arrivals_are_issued(
    late: int, backlog: int, verdict: str, said: set[tuple[str, str]]
) -> None:
    run = SyntheticRun(one_plan(phase(one_job(arrival=plan.Open(rate_per_s=100.0)))))
    arrivals = events.Arrivals(scheduled=505, missed=late, unissued=backlog)

    result = only(
        run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5, arrivals=arrivals).end()
    )

    assert result.schedule
    assert (result.schedule.verdict, result.schedule.rate_per_s) == (verdict, 100.0)
    assert (result.schedule.arrivals, result.schedule.late, result.schedule.backlog) == (505, late, backlog)
    about = {(one.id, one.severity) for one in result.findings if one.id == "late-arrivals"}
    assert about == said


@pytest.mark.parametrize(("load", "verdict"), [(1.006, "fell_behind"), (0.99, "kept_up")])
def test_an_open_loop_whose_backlog_grows_falls_behind(load: float, verdict: str) -> None:
    # 100 arrivals a second, each served in 10 ms times the load: arrival k is issued k x 10 ms x (load - 1) late.
    served_ns = round(load * NS / 100)
    number = np.arange(round(20 * NS / served_ns) if load > 1 else 2000, dtype=np.int64)
    due_ns = number * (NS // 100)
    late_ns = np.maximum(0, number * (served_ns - NS // 100))
    stream = Stream(due_ns + late_ns + served_ns, np.full(len(number), served_ns), late_ns=late_ns)
    arrivals = events.Arrivals(scheduled=2000, missed=0, unissued=2000 - len(number))
    run = SyntheticRun(one_plan(phase(one_job(arrival=plan.Open(rate_per_s=100.0)))))

    result = only(run.phase([stream], seconds=20, arrivals=arrivals).end())

    assert result.schedule
    assert result.schedule.verdict == verdict
    assert result.schedule.backlog < 0.01 * result.schedule.arrivals
    texts = [finding.text for finding in result.findings if finding.id == "late-arrivals"]
    # 99.4 are served a second, each 60 us later than the one before: 2 and 18 s into the phase, 11.93 and 107.4 ms.
    said = "operations were issued 11.9 ms late in the first fifth of the phase, 107 ms in the last"
    assert [said in text for text in texts] == ([True] if load > 1 else []), texts


@pytest.mark.parametrize(("allocate", "is_trusted"), [("write", True), ("fallocate", False), ("sparse", False)])
def test_reads_of_blocks_that_were_never_written_are_not_trusted(allocate: str, is_trusted: bool) -> None:
    data = msgspec.structs.replace(DATA, allocate=plan.Allocate(allocate))
    run = SyntheticRun(one_plan(phase(), sample_interval_s=0.1, data=data))

    result = only(run.phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5).end())

    assert result.trusted == is_trusted
    assert ("holes" in ids(result, "warning")) != is_trusted


def test_a_null_that_has_no_counter_behind_it_is_explained() -> None:
    counters = Counters(on_cpu=None, run_delay=None, block_delay=None)
    jobs = (one_job(name="a"), one_job(name="b"))
    run = SyntheticRun(one_plan(phase(*jobs)), facts={})
    streams = [steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, bytes_each=1, job=name) for name in "ab"]

    doc = judged(run.phase(streams, seconds=5, counters=counters).end())

    result = doc.results[0]
    assert (result.cpu_ns_per_op, result.time_budget.on_cpu, result.cache.hit_ratio, result.device_bytes) == (None,) * 4
    missing = [each.text for each in result.findings if (each.id, each.severity) == ("counters-unavailable", "note")]
    assert len(missing) == 2
    assert any(text.startswith("CPU time per operation is null") for text in missing)
    assert any(text.startswith("No block device is known") for text in missing)
    assert "hit-ratio-uncertain" in ids(result, "weak")
    (budgets,) = (each.text for each in doc.findings if each.id == "counters-unavailable")
    assert budgets.startswith("Time budgets are null")


def test_the_document_survives_its_own_json_with_the_published_names() -> None:
    run = SyntheticRun(one_plan(phase())).phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)
    doc = judged(run.end())

    text = msgspec.json.encode(doc)

    assert msgspec.json.decode(text, type=Document) == doc
    assert set(msgspec.json.decode(text)["results"][0]["latency_ns"]) == {"mean", "p50", "p90", "p99", "p99.9", "max"}


# 0 and 1 are what older versions recorded, from the numbers of then.
@pytest.mark.parametrize(("recorded", "said"), [(None, 0), (0, 0), (1, 0), (2, 2), (3, 3), (130, 130)])
def test_what_ended_a_run_early_is_its_exit_code_and_all_else_is_for_its_numbers(
    recorded: int | None, said: int
) -> None:
    run = SyntheticRun(one_plan(phase())).phase([steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)], seconds=5)
    unfinished = SyntheticRun(one_plan(phase()))
    run.info = unfinished.info = msgspec.structs.replace(run.info, exit_code=recorded)

    assert judged(run.end()).run.exit_code == said
    assert judged(unfinished).run.exit_code == max(said, 1)


def test_a_run_reads_the_same_before_and_after_it_is_sealed(tmp_path: Path) -> None:
    bundle = begun(tmp_path, ticks=20)
    before = judged(bundle)

    bundle.seal()

    after = judged(RunBundle.open(bundle.path))
    assert (after.results, after.findings) == (before.results, before.findings)
    assert (before.run.sealed, after.run.sealed) == (False, True)


def paused(*lengths_s: float, window_s: float = 10.0, at_s: float = 2.0, suspended: bool = False) -> Result:
    """A steady run whose client was paused, once a second from `at_s` on.

    While a machine is suspended, the run's own clock does not go on.
    """
    run = SyntheticRun(one_plan(phase(ramp_s=1.0)))
    run.phase([steady_stream(per_s=1000, seconds=window_s, latency_ns=1_000_000)], seconds=window_s, counters=QUIET)
    for place, seconds in enumerate(lengths_s):
        begun_ns = 10 * NS + round((at_s + place) * NS)
        ended_ns = begun_ns + (1 if suspended else round(seconds * NS))
        run.say(events.Paused(t_ns=ended_ns, phase_index=0, begun_ns=begun_ns, paused_ns=round(seconds * NS)))
    return only(run.end())


def pause_text(result: Result) -> str:
    """Return the text of the one finding about pauses."""
    (finding,) = (finding for finding in result.findings if finding.id == "client-paused")
    return finding.text


@pytest.mark.parametrize("suspended", [True, False])
def test_a_client_that_stood_still_makes_its_row_a_no(suspended: bool) -> None:
    result = paused(2.0, suspended=suspended)

    (finding,) = (finding for finding in result.findings if finding.id == "client-paused")
    assert (finding.severity, result.trusted) == ("invalid", False)
    assert "was paused for 2.00 s" in finding.text


def clock_findings(took_s: float, ended_utc: str) -> list[str]:
    """What is said of the wall clock of a run that began at 03:04:05."""
    run = SyntheticRun(one_plan(phase())).end()
    run.info = msgspec.structs.replace(
        run.info, started_utc="2026-01-02T03:04:05Z", ended_utc=ended_utc, seconds=took_s
    )
    return [finding.text for finding in judged(run).findings if finding.id == "clock-stepped"]


def test_a_wall_clock_that_was_stepped_is_told_and_nothing_is_judged_by_it() -> None:
    assert clock_findings(60.0, "2026-01-02T03:05:05Z") == []
    (ahead,) = clock_findings(60.0, "2026-01-02T04:05:05Z")
    (back,) = clock_findings(60.0, "2026-01-02T02:05:05Z")

    assert "stepped forwards by 3,600 s in this run (or the machine was suspended)" in ahead
    assert "stepped backwards by 3,600 s in this run." in back


def test_a_pause_is_judged_by_its_share_and_its_place() -> None:
    assert "client-paused" in ids(paused(0.95, window_s=5.0), "invalid")
    assert "client-paused" in ids(paused(0.25), "invalid")
    # 1 s of 109 s is less than a hundredth: the number has moved, but little.
    assert "client-paused" in ids(paused(1.0, window_s=110.0), "weak")
    assert "client-paused" in ids(paused(1.2, window_s=110.0), "invalid")
    assert "client-paused" in ids(paused(0.4, 0.4, 0.4, window_s=110.0), "invalid")
    # In the ramp, which is not counted, up to its end; from the end of the phase on.
    assert "client-paused" in ids(paused(1.0, at_s=-0.5), "note")
    assert "client-paused" in ids(paused(1.0, at_s=0.0), "note")
    assert "client-paused" in ids(paused(1.0, at_s=0.001), "invalid")
    assert "client-paused" in ids(paused(1.0, at_s=9.999), "invalid")
    assert "client-paused" in ids(paused(1.0, at_s=10.0), "note")
    assert "client-paused" in ids(paused(1.0, at_s=10.5), "note")


def test_a_pause_in_the_ramp_adds_nothing_to_those_of_the_window() -> None:
    # The ramp ends after 1 s. The clock of a suspended machine stands still, so that 3 s fit into it.
    in_ramp = paused(3.0, suspended=True, at_s=-0.5)
    in_both = paused(3.0, 1.0, 1.5, suspended=True, at_s=0.5, window_s=110.0)

    assert "was paused for 3.00 s: " in pause_text(in_ramp)
    assert "client-paused" in ids(in_ramp, "note")
    # 2.5 s of 109 s; with the pause of the ramp it would be 5.5 s.
    assert "was paused for 2.50 s in 2 pauses: " in pause_text(in_both)
    assert "client-paused" in ids(in_both, "invalid")
    # 1 s of 109 s is less than a hundredth, 4 s would be more.
    assert "client-paused" in ids(paused(3.0, 1.0, suspended=True, at_s=0.5, window_s=110.0), "weak")


# -- edges: what is measured lies just below a threshold and just above it ------------------------------------------------


@pytest.mark.parametrize(
    ("begin_s", "id_", "severity"),
    [
        # A skew of 0.9 and 1.1 % of the minute.
        (0.54, None, None),
        (0.66, "workers-apart", "note"),
        # Both at work for 95.2 and 94.8 % of it.
        (2.9, "workers-apart", "note"),
        (3.1, "workers-apart", "warning"),
        # And for 80.3 and 79.7 %.
        (11.8, "workers-apart", "warning"),
        (12.2, "workers-apart", "invalid"),
    ],
)
def test_a_late_start_is_judged_by_the_time_that_workers_share(
    begin_s: float, id_: str | None, severity: str | None
) -> None:
    result = only(late_worker(begin_s, 60))

    found = [(one.id, one.severity) for one in result.findings if one.id == "workers-apart"]
    assert found == ([(id_, severity)] if id_ else [])


@pytest.mark.parametrize(("last_s", "severity"), [(9.6, "note"), (9.4, "warning")])
def test_an_operation_that_hangs_is_grave_where_nothing_completes_for_a_twentieth_of_the_phase(
    last_s: float, severity: str
) -> None:
    run = SyntheticRun(one_plan(phase(stop=plan.Stop(seconds=10.0))))
    run.phase([steady_stream(per_s=1000, seconds=last_s, latency_ns=1_000_000)], seconds=10, abandoned=1)

    assert [one.severity for one in only(run.end()).findings if one.id == "abandoned"] == [severity]


@pytest.mark.parametrize(("slower_per_s", "is_uneven"), [(91, False), (89, True)])
def test_workers_that_the_first_one_stops_are_uneven_below_nine_tenths_of_its_work(
    slower_per_s: int, is_uneven: bool
) -> None:
    job = one_job(workers=2, stop=plan.Stop(ops=1000, of=plan.StopOf.FIRST))
    streams = [
        steady_stream(per_s=per_s, seconds=10, latency_ns=1_000_000, worker=worker)
        for worker, per_s in enumerate((100, slower_per_s))
    ]
    run = SyntheticRun(one_plan(phase(job))).phase(streams, seconds=10, stopped_by=events.StoppedBy.OPS)

    result = only(run.end())

    assert ("uneven-workers" in ids(result, "invalid")) is is_uneven


@pytest.mark.parametrize(
    ("calls", "is_named"), [(5340, False), (5360, True), (4660, False), (4640, True), (None, False)]
)
def test_calls_and_operations_that_are_a_twentieth_and_a_hundred_apart_are_named(
    calls: int | None, is_named: bool
) -> None:
    # 5,000 reads of one call each: a twentieth is 250.
    run = SyntheticRun(one_plan(phase()))
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000)
    run.phase([stream], seconds=5, counters=Counters(io_calls=calls))

    assert ("counts-disagree" in ids(only(run.end()), "warning")) is is_named


@pytest.mark.parametrize(
    ("failed", "calls", "is_named"),
    [(1000, 6000, False), (3000, 8000, False), (1000, 5000, True), (1000, 7000, True)],
)
def test_calls_that_failed_are_calls(failed: int, calls: int, *, is_named: bool) -> None:
    run = SyntheticRun(one_plan(phase()))
    stream = dataclasses.replace(
        steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000),
        errors_at_ns=tuple(range(1, 5 * NS, 5 * NS // failed))[:failed],
    )
    run.phase([stream], seconds=5, counters=Counters(io_calls=calls))

    assert ("counts-disagree" in ids(only(run.end()), "warning")) is is_named


@pytest.mark.parametrize(
    ("flags", "settings", "facts", "is_named"),
    [
        ({}, {}, {}, True),
        # One operation is several calls, or none, or a call serves several.
        ({"chunk_bytes": 1024}, {}, {}, False),
        ({"nowait": True}, {}, {}, False),
        ({"cached_first": True}, {}, {}, False),
        ({}, {"queue_depth": 2}, {}, False),
        ({}, {}, {"backend": "io_uring"}, False),
        ({}, {}, {"short_transfers": 1}, False),
    ],
)
def test_calls_are_held_against_operations_where_each_is_one_call(
    flags: dict[str, Any], settings: dict[str, Any], facts: dict[str, Any], *, is_named: bool
) -> None:
    op = msgspec.structs.replace(read_op(), flags=plan.OpFlags(**flags))
    run = SyntheticRun(one_plan(phase(one_job(plan.Do(op=op), **settings))))
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000)
    run.phase([stream], seconds=5, counters=Counters(io_calls=10_000), **facts)

    assert ("counts-disagree" in ids(only(run.end()), "warning")) is is_named


@pytest.mark.parametrize(
    ("kernel_cpus", "idle_cpus", "is_busy"),
    [
        # Of two CPUs, other programs had 0.19 and 0.21: what the load's 0.5 and the kernel's threads leave of 1.9.
        (1.21, 0.1, False),
        (1.19, 0.1, True),
        # Of two CPUs, 1.82 and 1.78 were busy.
        (0.4, 0.18, True),
        (0.4, 0.22, False),
    ],
)
def test_no_cpu_is_free_where_nine_tenths_are_busy_and_other_programs_have_a_tenth(
    kernel_cpus: float, idle_cpus: float, is_busy: bool
) -> None:
    result = shared_cpu(idle_ns=round(5 * idle_cpus * NS), run_delay=0.04, kernel=(kernel_cpus, 5))

    assert ("cpu-contention" in ids(result, "weak")) is is_busy


@pytest.mark.parametrize(("run_delay", "is_named"), [(0.095, False), (0.105, True)])
def test_a_worker_that_waits_for_a_cpu_for_a_tenth_of_its_time_measures_the_neighbours(
    run_delay: float, is_named: bool
) -> None:
    result = run_with(Counters(run_delay=run_delay, process_cpu_ns=NS), cpus=2)

    assert ("cpu-contention" in ids(result, "warning")) is is_named
    assert result.trusted is not is_named


@pytest.mark.parametrize(("run_delay", "share"), [(0.975, 1.0), (0.985, None)])
def test_a_worker_that_had_a_cpu_for_less_than_a_fiftieth_of_its_time_is_not_called_busy(
    run_delay: float, share: float | None
) -> None:
    # It was on a CPU for all of the time in which it did not wait for one.
    assert cpu_bound_share((worker_of(0, ops=100, on_cpu=1 - run_delay, run_delay=run_delay),)) == share


def worker_of(number: int, *, ops: int, on_cpu: float | None, run_delay: float = 0.0) -> WorkerUse:
    """What a worker did in a second."""
    return WorkerUse(
        worker=number,
        wall_ns=NS,
        ops=ops,
        on_cpu_ns=None if on_cpu is None else round(on_cpu * NS),
        run_delay_ns=round(run_delay * NS),
        block_delay=None,
        idle_ns=0,
        user_cpu_ns=None,
        system_cpu_ns=None,
        io_calls=None,
    )


@pytest.mark.parametrize(
    ("workers", "share"),
    [
        # One of 16 is busy: it counts for what it did.
        ([(100, 0.99)] + 15 * [(100, 0.1)], 1 / 16),
        ([(8500, 0.99)] + 15 * [(100, 0.1)], 0.85),
        (3 * [(100, 0.95)] + [(100, None)], 0.75),
        ([(0, 0.99), (100, 0.2)], 0.0),
        ([(100, None)], None),
        ([(0, 0.99)], None),
    ],
)
def test_the_share_of_busy_workers_is_that_of_their_operations(
    workers: list[tuple[int, float | None]], share: float | None
) -> None:
    uses = tuple(worker_of(number, ops=ops, on_cpu=on_cpu) for number, (ops, on_cpu) in enumerate(workers))

    assert cpu_bound_share(uses) == share


@pytest.mark.parametrize(
    ("cpus", "workers", "on_cpu", "found", "limit"),
    [
        # Two workers fill the one CPU that the Plan allows, whatever other programs do on the other one.
        ((1,), 2, 0.49, "own-cpu-wait", "client_cpu_all"),
        ((1,), 3, 0.33, "own-cpu-wait", "client_cpu_all"),
        ((0, 1), 4, 0.49, "own-cpu-wait", "client_cpu_all"),
        # They leave half of it, so somebody else may have had it.
        ((1,), 2, 0.25, "cpu-contention", "cpu_contention"),
        # A worker each, and they wait all the same.
        ((0, 1), 2, 0.40, "cpu-contention", "cpu_contention"),
        # Any CPU.
        ((), 2, 0.49, "cpu-contention", "cpu_contention"),
    ],
)
def test_workers_are_held_against_the_cpus_that_they_may_run_on(
    cpus: tuple[int, ...], workers: int, on_cpu: float, found: str, limit: str
) -> None:
    job = one_job(workers=workers, affinity=plan.Affinity(cpus=cpus))
    first = hello(cpus=4)
    run = SyntheticRun(one_plan(phase(job), sample_interval_s=0.1), first=first)
    streams = [steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, worker=worker) for worker in range(workers)]
    counters = Counters(
        on_cpu=on_cpu,
        run_delay=0.51,
        block_delay=0.0,
        process_cpu_ns=round(5 * NS * workers * on_cpu),
        cpu_ns={"user_ns": 18 * NS, "idle_ns": 2 * NS},
    )

    result = only(run.phase(streams, seconds=5, counters=counters).end())

    assert {"own-cpu-wait", "cpu-contention"} & set(ids(result)) == {found}
    assert result.limiter is not None
    assert result.limiter.verdict == limit
    assert not any("not for each other" in text for text in result.limiter.evidence)


def test_a_client_that_may_run_on_some_cpus_is_not_crowded_by_what_runs_on_others() -> None:
    def result(**facts: int) -> Result:
        first = hello(cpus=1)
        run = SyntheticRun(one_plan(phase(), sample_interval_s=0.1), first=first, facts={**BLOCK_BACKED, **facts})
        counters = Counters(process_cpu_ns=NS, cpu_ns={"user_ns": 6 * NS, "idle_ns": 4 * NS})
        stream = steady_stream(per_s=100, seconds=5, latency_ns=1_000_000)
        return only(run.phase([stream], seconds=5, counters=counters).end())

    # It used 0.2 of its CPU, other programs 1.0 of two.
    assert "cpu-contention" in ids(result(), "weak")
    assert "cpu-contention" not in ids(result(**{"host.cpu.online": 2}))


@pytest.mark.parametrize(
    ("job", "facts", "is_polling"),
    [
        ({"backend": plan.IoUring(iopoll=True)}, {"backend": "io_uring", "direct": True}, True),
        ({"backend": plan.IoUring(iopoll=True)}, {"backend": "psync", "direct": True}, False),
        ({"backend": plan.IoUring()}, {"backend": "io_uring", "direct": True}, False),
        ({}, {"backend": "psync", "direct": True}, False),
        ({"high_priority": True}, {"backend": "psync", "direct": True}, True),
        ({"high_priority": True}, {"backend": "psync", "direct": False}, False),
    ],
)
def test_cpu_time_of_workers_that_poll_for_completions_is_no_work(
    job: dict[str, Any], facts: dict[str, Any], *, is_polling: bool
) -> None:
    flags = plan.OpFlags(high_priority=job.pop("high_priority", False))
    op = msgspec.structs.replace(read_op(), flags=flags)
    run = SyntheticRun(one_plan(phase(one_job(plan.Do(op=op), queue_depth=4, **job))))
    counters = Counters(on_cpu=0.99, block_delay=0.0)
    stream = steady_stream(per_s=1000, seconds=5, latency_ns=4_000_000)

    result = only(run.phase([stream], seconds=5, counters=counters, **facts).end())

    assert result.limiter is not None
    assert (result.limiter.verdict == "client_cpu_single") is not is_polling


def test_the_thread_that_polls_for_submissions_does_no_work_of_the_load() -> None:
    def limit(*, sqpoll: bool) -> str:
        job = one_job(queue_depth=4, backend=plan.IoUring(sqpoll=sqpoll))
        run = SyntheticRun(one_plan(phase(job)), first=hello(cpus=2))
        # The worker has 0.85 CPUs, the thread of the kernel one.
        counters = Counters(on_cpu=0.85, block_delay=0.0, process_cpu_ns=round(1.85 * 5 * NS))
        stream = steady_stream(per_s=1000, seconds=5, latency_ns=4_000_000)
        result = only(run.phase([stream], seconds=5, counters=counters, backend="io_uring").end())
        return result.limiter.verdict if result.limiter else ""

    assert limit(sqpoll=False) == "client_cpu_all"
    assert limit(sqpoll=True) != "client_cpu_all"


@pytest.mark.parametrize(("ticks", "is_known"), [(19, False), (21, True)])
def test_user_and_system_are_told_apart_from_twenty_ticks_of_cpu_time_on(ticks: int, is_known: bool) -> None:
    # The kernel's ticks are of 10 ms; six in ten of them, and the rest, are outside of it.
    tick_ns = NS // 100
    counters = Counters(
        on_cpu=0.95,
        block_delay=0.0,
        user_cpu_ns=(ticks - 7) * tick_ns,
        system_cpu_ns=7 * tick_ns,
    )
    run = SyntheticRun(one_plan(phase()))
    run.phase([steady_stream(per_s=1000, seconds=5, latency_ns=1_000_000)], seconds=5, counters=counters)

    result = only(run.end())

    assert result.limiter is not None
    assert result.limiter.verdict == "client_cpu_single"
    assert any("in programs (user)" in text for text in result.limiter.evidence) is is_known


@pytest.mark.parametrize(
    ("ops", "seconds", "is_small"), [(99, 5.0, True), (100, 5.0, False), (980, 0.98, True), (1020, 1.02, False)]
)
def test_a_sample_is_small_below_a_hundred_operations_or_a_second(ops: int, seconds: float, is_small: bool) -> None:
    done_ns = np.linspace(seconds / ops * NS, seconds * NS, ops).astype(np.int64)
    stream = Stream(done_ns, np.full(ops, int(seconds / ops * NS), dtype=np.int64), 4096)
    run = SyntheticRun(one_plan(phase(), sample_interval_s=0.1)).phase([stream], seconds=seconds)

    assert any(reason.text.startswith("only ") for reason in only(run.end()).trust.reasons) is is_small


@pytest.mark.parametrize(
    ("ops", "known"),
    [(19, 0), (20, 1), (99, 1), (100, 2), (999, 2), (1000, 3), (9_999, 3), (10_000, 4)],
)
def test_a_percentile_needs_ten_values_beyond_it(ops: int, known: int) -> None:
    # 10 / (1 - q): 20 for the median, 100 for p90, 1,000 for p99, 10,000 for p99.9.
    done_ns = np.linspace(5 / ops * NS, 5 * NS, ops).astype(np.int64)
    stream = Stream(done_ns, np.full(ops, 100_000, dtype=np.int64), 4096)

    latency = only(SyntheticRun(one_plan(phase())).phase([stream], seconds=5).end()).latency_ns

    percentiles = (latency.p50, latency.p90, latency.p99, latency.p99_9)
    assert [value is not None for value in percentiles] == [place < known for place in range(4)]


@pytest.mark.parametrize(
    ("ended_utc", "is_named"), [("2026-01-02T03:05:06.9Z", False), ("2026-01-02T03:05:07.1Z", True)]
)
def test_a_wall_clock_was_stepped_from_two_seconds_on(ended_utc: str, is_named: bool) -> None:
    # A run of a minute that began at 03:04:05.
    assert bool(clock_findings(60.0, ended_utc)) is is_named


@pytest.mark.parametrize(
    ("ramp_s", "second_s", "window_s"),
    [
        # A tick may be 10 ms before the ramp ends, a hundredth of the interval.
        (2.009, 30.0, (2.0, 30.0)),
        (2.011, 30.0, (3.0, 30.0)),
        # And as long after the second worker had finished, if that is what ends the window.
        (0.0, 26.991, (0.0, 27.0)),
        (0.0, 26.989, (0.0, 26.0)),
    ],
)
def test_an_interval_is_in_the_window_up_to_a_hundredth_of_it_outside(
    ramp_s: float, second_s: float, window_s: tuple[float, float]
) -> None:
    run = SyntheticRun(one_plan(phase(one_job(workers=2), ramp_s=ramp_s)))
    streams = [
        steady_stream(per_s=1000, seconds=seconds, latency_ns=1_000_000, worker=worker)
        for worker, seconds in enumerate((30.0, second_s))
    ]

    assert only(run.phase(streams, seconds=30).end()).window_s == window_s


@pytest.mark.parametrize(("seconds", "is_known"), [(8.9, False), (9.1, True)])
def test_cpu_time_is_known_where_work_went_on_for_nine_tenths_of_what_was_sampled(
    seconds: float, is_known: bool
) -> None:
    run = SyntheticRun(one_plan(phase()))
    stream = steady_stream(per_s=1000, seconds=seconds, latency_ns=1_000_000)

    result = only(run.phase([stream], seconds=10, counters=QUIET).end())

    assert (result.cpu_ns_per_op is not None) is is_known


def latencies_of(*parts: tuple[float, float], seconds: int = 20, per_s: int = 100, seed: int = 1) -> Result:
    """Reads of which each part has a share and a latency in milliseconds, with some noise, at random."""
    noise = np.random.default_rng(seed)
    shares = [share for share, _ in parts]
    place = noise.choice(len(parts), seconds * per_s, p=shares)
    latency_ns = np.array([1e6 * ms for _, ms in parts])[place] * noise.uniform(0.95, 1.05, seconds * per_s)
    steady = steady_stream(per_s=per_s, seconds=seconds, latency_ns=1_000_000)
    stream = dataclasses.replace(steady, latency_ns=latency_ns.astype(np.int64))
    return only(SyntheticRun(one_plan(phase())).phase([stream], seconds=seconds).end())


@pytest.mark.parametrize(("fast_ms", "slow_ms"), [(1.0, 20.0), (0.1, 3.0), (2.0, 9.0)])
def test_a_median_between_two_modes_is_no_level_and_the_modes_are_named(fast_ms: float, slow_ms: float) -> None:
    result = latencies_of((0.5, fast_ms), (0.5, slow_ms))

    (finding,) = (finding for finding in result.findings if finding.id == "wide-interval")
    assert result.trust.level is TrustLevel.WEAK
    assert finding.text.startswith("Latencies have 2 modes (")
    assert result.latency_intervals_ns is not None
    assert result.latency_intervals_ns.p50 is not None
    low, high = result.latency_intervals_ns.p50
    # The truth: half of them are of each, so the interval has both.
    assert low < 1.1e6 * fast_ms
    assert high > 0.9e6 * slow_ms
    assert percentile_words(result, "p50", result.latency_ns.p50).endswith("?")


@pytest.mark.parametrize(
    ("parts", "is_named"),
    [
        (((0.8, 1.0), (0.2, 20.0)), True),
        (((0.2, 1.0), (0.8, 20.0)), True),
        (((0.4, 0.1), (0.3, 2.0), (0.3, 40.0)), True),
        # A tail, one place, and two that are near each other.
        (((0.95, 1.0), (0.05, 20.0)), False),
        (((1.0, 5.0),), False),
        (((0.5, 1.0), (0.5, 2.5)), False),
    ],
)
def test_modes_are_named_where_a_tenth_is_not_of_the_largest(
    parts: tuple[tuple[float, float], ...], *, is_named: bool
) -> None:
    result = latencies_of(*parts)

    named = [finding.text for finding in result.findings if finding.id == "latency-modes"]
    assert bool(named) is is_named
    assert not named or named[0].startswith(f"Latencies have {len(parts)} modes (")
