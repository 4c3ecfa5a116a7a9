"""Progress: rates and percentiles of a phase so far against values that are known, time left, and the lines of a log."""

import time
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from assay import events, plan
from assay.live.merged_ticks import MergedTicks
from assay.live.set_words import set_words
from assay.live.tally import Tally
from assay.live.terminal import TerminalDisplay
from assay.live.time_left import words_left
from unit.memory_run import filled_buckets
from unit.synthetic import one_job, one_plan

NS_PER_S = 10**9


def buckets(values_ns: Sequence[int]) -> events.Buckets:
    index, count = filled_buckets(np.array(values_ns, dtype=np.int64))
    return events.Buckets(
        index=tuple(index.tolist()), count=tuple(count.tolist()), max_ns=max(values_ns), sum_ns=sum(values_ns)
    )


def interval(
    values_ns: Sequence[int],
    *,
    bytes_each: int = 4096,
    seconds: float = 1.0,
    operation: str = "read",
    errors: int = 0,
    phase: int = 0,
) -> events.Interval:
    one = events.OperationInterval(
        job="job",
        operation=operation,
        ops=len(values_ns),
        bytes=len(values_ns) * bytes_each,
        errors=errors,
        latency=buckets(values_ns),
        response=None,
    )
    return events.Interval(
        t_ns=0,
        dt_ns=int(seconds * NS_PER_S),
        phase_index=phase,
        operations=(one,),
        workers=(),
        process_cpu_ns=0,
        observer_cpu_ns=0,
        process_read_bytes=None,
        process_write_bytes=None,
        host=(),
    )


def finished(phase: int = 0, *workers: events.WorkerWindow) -> events.PhaseFinished:
    return events.PhaseFinished(
        t_ns=0, phase_index=phase, start_ns=0, stopped_by=events.StoppedBy.TIME, workers=workers, jobs=(), errors=()
    )


def worked(worker: int, first_s: float, last_s: float) -> events.WorkerWindow:
    first_ns, last_ns = int(first_s * NS_PER_S), int(last_s * NS_PER_S)
    return events.WorkerWindow(
        job="job", worker=worker, first_op_ns=first_ns, last_op_ns=last_ns, started=1, completed=1, failed=0,
        abandoned=0, stopped_by=events.StoppedBy.EXHAUSTED,
    )  # fmt: skip


def test_rates_are_of_all_intervals_and_percentiles_of_all_their_values() -> None:
    tally = Tally()
    tally.add(interval([1000] * 1000, seconds=1.0))
    tally.add(interval([1000] * 980 + [2000] * 20, seconds=3.0))

    assert tally.so_far() == "500 IOPS  p50 1.00 µs  p99 1.00 µs"
    assert tally.latest() == "333 IOPS  p50 1.00 µs  p99 1.00 µs"


def test_a_percentile_of_too_few_operations_is_left_out() -> None:
    tally = Tally()
    tally.add(interval([1000] * 999))

    assert tally.so_far() == "999 IOPS  p50 1.00 µs"


def test_streams_are_told_in_bytes_and_errors_are_told() -> None:
    tally = Tally()
    tally.add(interval([5000] * 100, bytes_each=1 << 20, seconds=0.5, errors=3))

    assert tally.so_far() == "200 MiB/s  p50 5.00 µs  3 errors"


def test_of_several_operations_the_one_that_moves_the_most_is_named() -> None:
    tally = Tally()
    tally.add(interval([1000] * 10, operation="stat", bytes_each=0))
    tally.add(interval([1000] * 5, operation="write"))

    assert tally.so_far().startswith("write 2.50 IOPS")


def test_before_anything_was_done_nothing_is_told() -> None:
    assert Tally().so_far() == Tally().latest() == ""


def phase(name: str, seconds: float | None, *, longest_s: float | None = None) -> plan.Phase:
    return plan.Phase(name=name, title=name, jobs=(one_job(),), stop=plan.Stop(seconds=seconds), extend_to_s=longest_s)


def staggered(*times: tuple[float, float | None]) -> plan.Phase:
    jobs = tuple(
        msgspec.structs.replace(one_job(), name=f"job {number}", delay_s=delay_s, stop=plan.Stop(seconds=seconds))
        for number, (delay_s, seconds) in enumerate(times)
    )
    return plan.Phase(name="p", title="p", jobs=jobs)


@pytest.mark.parametrize(
    ("phases", "passed_s", "words"),
    [
        ((phase("a", 10.0),), 4.0, "6 s left"),
        ((phase("a", 10.0), phase("b", 60.0)), 4.0, "1:06 left"),
        ((phase("a", 10.0, longest_s=30.0), phase("b", 7200.0)), 12.0, "2:00:00 left"),
        ((phase("a", 10.0), phase("b", None)), 4.0, "6 s left in this"),
        ((phase("a", None), phase("b", 10.0)), 4.0, ""),
        ((staggered((0.0, 10.0), (8.0, 10.0)),), 4.0, "14 s left"),
        ((staggered((0.0, 10.0), (8.0, None)),), 4.0, "6 s left"),
    ],
)
def test_time_left_is_that_of_the_phases_own_rules(phases: tuple[plan.Phase, ...], passed_s: float, words: str) -> None:
    assert words_left(one_plan(*phases), 0, passed_s) == words


def test_a_log_has_a_line_when_a_phase_ends_and_now_and_then_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    display = TerminalDisplay()
    display.begin(one_plan(phase("first", 30.0), phase("second", 30.0)))

    display.show(events.Started(t_ns=0, phase_index=0, start_ns=0))
    for at_s in (101.0, 102.5, 103.0, 112.6):
        now_s = at_s
        display.show(interval([1000] * 1000))
    display.show(finished())
    display.end()

    assert capsys.readouterr().err.splitlines() == [
        "[1/2] first: 1,000 IOPS  p50 1.00 µs  p99 1.00 µs  58 s left",
        "[1/2] first: 1,000 IOPS  p50 1.00 µs  p99 1.00 µs  47 s left",
        "[1/2] first: 1,000 IOPS  p50 1.00 µs  p99 1.00 µs",
    ]


def test_the_rate_of_a_phase_is_that_of_the_time_in_which_its_workers_worked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = TerminalDisplay()
    display.begin(one_plan(phase("short", 30.0)))

    display.show(events.Started(t_ns=0, phase_index=0, start_ns=0))
    display.show(interval([1000] * 1000))
    display.show(finished(0, worked(0, 0.1, 0.3), worked(1, 0.2, 0.35)))
    display.end()

    # 1,000 operations from 0.1 s to 0.35 s, whatever the length of the interval in which they were counted.
    assert capsys.readouterr().err == "[1/1] short: 4,000 IOPS  p50 1.00 µs  p99 1.00 µs\n"


def test_the_log_of_a_classic_tool_has_a_line_in_ten_seconds_however_many_phases_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    display = TerminalDisplay(is_terse=True)
    display.begin(one_plan(*(phase(f"cell {index}", 30.0) for index in range(315))))

    for index in range(315):
        display.show(events.Started(t_ns=0, phase_index=index, start_ns=0))
        now_s += 0.125
        display.show(interval([1000] * 1000, phase=index))
        display.show(finished(index))
    display.end()

    # 39.4 s, and a line when ten are over.
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        f"[{number}/315] cell {number - 1}" for number in (80, 160, 240)
    ]


def test_what_stands_beside_is_told_with_the_rates_of_a_phase_that_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    clients = ["h1", "h2"]
    merger = MergedTicks(clients, 1.0)
    display = TerminalDisplay(note=lambda: set_words(merger))
    display.begin(one_plan(phase("first", 30.0)))

    display.show(events.Started(t_ns=0, phase_index=0, start_ns=0))
    now_s = 103.0
    for client in clients:
        for merged in merger.add(client, msgspec.structs.replace(interval([1000] * 1000), t_ns=NS_PER_S)):
            display.show(merged)
    display.show(finished())
    display.end()

    assert capsys.readouterr().err.splitlines() == [
        "[1/1] first: 2,000 IOPS  p50 1.00 µs  p99 1.00 µs  2 of 2 clients  27 s left",
        "[1/1] first: 2,000 IOPS  p50 1.00 µs  p99 1.00 µs",
    ]


def test_a_log_says_how_well_the_rate_of_repeats_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    display = TerminalDisplay()
    repeats = [plan.Phase(name="read", title="read", jobs=(one_job(),), repeat=repeat) for repeat in range(3)]
    display.begin(one_plan(*repeats))

    for index, ops in enumerate((1000, 1020, 1010)):
        display.show(events.Started(t_ns=0, phase_index=index, start_ns=0))
        display.show(interval([1000] * ops, phase=index))
        display.show(finished(index))
    display.end()

    # Student's t of two degrees of freedom: 4.303 times 10 by the root of 3, of 1,010.
    assert [line.rpartition("  ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "p99 1.00 µs",
        "2 repeats 2.0 % apart",
        "3 repeats ± 2.5 %",
    ]
