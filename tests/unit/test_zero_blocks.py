"""Does a number say that a part of the device that it is of may never have been written?"""

import msgspec
import numpy as np
import pytest
import scipy.stats

from assay import events, plan
from assay.analysis.statistics.binomial import binomial_interval
from assay.results import Result
from assay.verdicts import ServedBy, TrustLevel
from unit.memory_run import judged
from unit.synthetic import DATA, NS, Counters, Stream, SyntheticRun, one_job, one_plan, read_op

BLOCK = 4096
PER_S, SECONDS = 2000, 10
MOVED = PER_S * SECONDS * BLOCK
SET_BYTES = 1 << 30
DRAWN = 256
LEAST = 21
"""Blocks of zeros of 256 from which on the lower end of the share is above 5 %."""


def stream(operation: str = "read", *, bytes_each: int = BLOCK) -> Stream:
    latency = (400_000 * (1 + 0.1 * np.random.default_rng(1).standard_normal(PER_S * SECONDS).clip(-3, 3))).astype(int)
    done = np.linspace(NS // PER_S, SECONDS * NS, PER_S * SECONDS).astype(np.int64)
    return Stream(done, latency, bytes_each, operation=operation)


def run(zeros: int, *phases: plan.Phase, drawn: int = DRAWN) -> SyntheticRun:
    """A run on a device of which blocks were looked at before."""
    its_plan = one_plan(*(phases or (phase(),)), sample_interval_s=0.1, data=DATA)
    targets = (plan.Target(name="target", uri="block:/dev/disk"),)
    made = SyntheticRun(msgspec.structs.replace(its_plan, targets=targets))
    (prepared,) = (line for line in made.lines if isinstance(line, events.Prepared))
    made.lines.remove(prepared)
    return made.say(
        msgspec.structs.replace(
            prepared, bytes=SET_BYTES, reused=True, path="/dev", sampled_blocks=drawn, zero_blocks=zeros
        )
    )


def phase(*ops: plan.Op, name: str = "p") -> plan.Phase:
    return plan.Phase(name=name, title="p", jobs=(one_job(*(plan.Do(op=op) for op in ops or (read_op(),))),))


def counters(read: int = MOVED, written: int = 0) -> Counters:
    moved = {"process_read_bytes": read, "devices": {"vda": (read, written)}}
    return Counters(process_cpu_ns=NS, device_ns=NS, **moved)  # type: ignore[arg-type]


def read_once(zeros: int, *, drawn: int = DRAWN) -> Result:
    made = run(zeros, drawn=drawn).phase([stream()], seconds=SECONDS, counters=counters(), direct=True)
    (result,) = judged(made.end()).results
    return result


def found(result: Result) -> list[str]:
    return [finding.text for finding in result.findings if finding.id == "zero-blocks"]


@pytest.mark.parametrize(("hits", "drawn"), [(0, 256), (1, 256), (128, 256), (256, 256), (3, 7), (21, 256)])
def test_the_interval_of_a_share_is_that_of_scipy(hits: int, drawn: int) -> None:
    exact = scipy.stats.binomtest(hits, drawn).proportion_ci(0.95, method="exact")

    assert binomial_interval(hits, drawn) == pytest.approx((exact.low, exact.high), rel=1e-8)


def test_reads_of_a_device_that_is_partly_zeros_are_weak_and_name_the_share_with_its_interval() -> None:
    result = read_once(164)

    assert result.trust.level is TrustLevel.WEAK
    assert [reason.text for reason in result.trust.reasons] == ["blocks of zeros"]
    (text,) = found(result)
    assert text.startswith("64 % of 256 sampled blocks of vda hold only zeros (58 to 70 % of all). ")
    (finding,) = (each for each in result.findings if each.id == "zero-blocks")
    assert (finding.severity, finding.effect) == ("weak", 164 / 256)


def test_a_share_that_may_be_small_leaves_a_result_trusted() -> None:
    assert binomial_interval(LEAST - 1, DRAWN)[0] <= 0.05 < binomial_interval(LEAST, DRAWN)[0]
    for zeros, drawn in ((0, DRAWN), (LEAST - 1, DRAWN), (0, 0), (1, 1)):
        if drawn == 1:
            # One block: 2.5 to 100 %.
            assert binomial_interval(1, 1)[0] == pytest.approx(0.025)
        assert read_once(zeros, drawn=drawn).trust.level is TrustLevel.YES
    assert read_once(LEAST).trust.level is TrustLevel.WEAK


def test_reads_from_the_page_cache_and_writes_have_nothing_to_do_with_it() -> None:
    cached = run(DRAWN).phase([stream()], seconds=SECONDS, counters=counters(read=0), resident=(1.0, 1.0))
    writing = phase(read_op("write", kind=plan.OpKind.WRITE))
    written = run(DRAWN, writing).phase([stream("write")], seconds=SECONDS, counters=counters(0, MOVED), direct=True)

    for made in (cached, written):
        (result,) = judged(made.end()).results
        assert not found(result)


@pytest.mark.parametrize(
    ("written_share", "is_found"), [(0.0, True), (0.3, True), (0.6, False), (1.0, False), (3.0, False)]
)
def test_blocks_that_the_run_wrote_since_may_be_those_that_held_zeros(written_share: float, is_found: bool) -> None:
    # Half of the blocks held zeros, 43.7 % of all or more.
    writing = phase(read_op("write", kind=plan.OpKind.WRITE), name="before")
    made = run(128, writing, phase())
    each = round(SET_BYTES * written_share / (PER_S * SECONDS))
    total = each * PER_S * SECONDS
    made.phase([stream("write", bytes_each=each)], seconds=SECONDS, counters=counters(0, total), direct=True)
    made.phase([stream()], seconds=SECONDS, index=1, counters=counters(), direct=True)

    _, read = judged(made.end()).results

    assert bool(found(read)) is is_found


def test_the_last_look_before_a_phase_is_the_one_that_counts() -> None:
    made = run(DRAWN, phase(), phase(name="again"))
    made.phase([stream()], seconds=SECONDS, counters=counters(), direct=True)
    (prepared,) = (line for line in made.lines if isinstance(line, events.Prepared))
    ended = next(line for line in made.lines if isinstance(line, events.PhaseFinished))
    made.say(msgspec.structs.replace(prepared, t_ns=ended.t_ns, zero_blocks=0))
    made.phase([stream()], seconds=SECONDS, index=1, counters=counters(), direct=True)

    first, second = judged(made.end()).results

    assert (len(found(first)), len(found(second))) == (1, 0)


@pytest.mark.parametrize(("then", "is_found"), [((), True), (("prepare",), False)])
def test_reads_of_what_the_run_discarded_are_weak_unless_it_was_laid_out_again(
    then: tuple[str, ...], is_found: bool
) -> None:
    made = run(0, drawn=0)
    for step in ("discard", *then):
        made.say(
            events.StepDone(t_ns=0, phase_index=0, step=step, subject=DATA.name, achieved=True, detail="", seconds=0.0)
        )
    made.phase([stream()], seconds=SECONDS, counters=counters(), direct=True)
    (result,) = judged(made.end()).results

    assert bool(found(result)) is is_found
    if is_found:
        assert "100 % of it or more was not written since" in found(result)[0]
        assert result.trust.level is not TrustLevel.YES


@pytest.mark.parametrize("kind", [plan.OpKind.DISCARD, plan.OpKind.WRITE_ZEROES, plan.OpKind.PUNCH_HOLE])
@pytest.mark.parametrize(
    ("emptied_share", "written_share", "is_found"),
    [(0.04, 0.0, False), (0.3, 0.0, True), (3.0, 0.0, True), (0.3, 0.2, True), (0.3, 0.3, False)],
)
def test_reads_of_what_operations_discarded_or_zeroed_are_weak_until_as_much_was_written(
    kind: plan.OpKind, emptied_share: float, written_share: float, is_found: bool
) -> None:
    each = round(SET_BYTES * emptied_share / (PER_S * SECONDS))
    emptying = phase(read_op("empty", kind=kind, size_bytes=each), name="emptying")
    writing = phase(read_op("write", kind=plan.OpKind.WRITE), name="writing")
    made = run(0, emptying, writing, phase(), drawn=0)
    made.phase([stream("empty", bytes_each=0)], seconds=SECONDS, counters=counters(0), direct=True)
    bytes_each = round(SET_BYTES * written_share / (PER_S * SECONDS))
    total = bytes_each * PER_S * SECONDS
    written = stream("write", bytes_each=bytes_each)
    made.phase([written], seconds=SECONDS, index=1, counters=counters(0, total), direct=True)
    made.phase([stream()], seconds=SECONDS, index=2, counters=counters(), direct=True)

    *_, read = judged(made.end()).results

    assert bool(found(read)) is is_found
    if is_found:
        assert f"up to {100 * min(1, emptied_share):.0f} %" in found(read)[0]
        assert read.trust.level is TrustLevel.WEAK


def test_what_was_discarded_before_the_set_was_laid_out_again_does_not_count() -> None:
    discarding = phase(read_op("empty", kind=plan.OpKind.DISCARD, size_bytes=SET_BYTES // 8), name="discarding")
    made = run(0, discarding, phase(), drawn=0)
    made.phase([stream("empty", bytes_each=0)], seconds=SECONDS, counters=counters(0), direct=True)
    (prepared,) = (line for line in made.lines if isinstance(line, events.Prepared))
    ended = next(line for line in made.lines if isinstance(line, events.PhaseFinished))
    made.say(msgspec.structs.replace(prepared, t_ns=ended.t_ns, reused=False))
    made.phase([stream()], seconds=SECONDS, index=1, counters=counters(), direct=True)

    _, read = judged(made.end()).results

    assert not found(read)


@pytest.mark.parametrize("kind", [plan.OpKind.DISCARD, plan.OpKind.WRITE_ZEROES])
def test_a_device_has_answered_what_was_discarded_or_zeroed_on_it(kind: plan.OpKind) -> None:
    made = run(0, phase(read_op("empty", kind=kind)), drawn=0)
    made.phase([stream("empty", bytes_each=0)], seconds=SECONDS, counters=counters(0), direct=False)

    (result,) = judged(made.end()).results

    assert result.measures is ServedBy.STORAGE
    assert "absorbed" not in {finding.id for finding in result.findings}
