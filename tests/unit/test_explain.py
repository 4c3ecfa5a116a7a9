"""The story of a number, against a run whose truth is known."""

import dataclasses
from typing import Any

import pytest
from rich.cells import cell_len

from assay import events, plan
from assay.analysis.curve import curve_of
from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.errors import InputError
from assay.report import terminal_table
from assay.report.explain.story import story, thresholds_story
from assay.report.explain.time_bar import cells, time_bar
from assay.report.numbers import hit_scope
from assay.results import Result, TimeBudget
from assay.units import format_share
from unit.synthetic import BLOCK_BACKED, Counters, SyntheticRun, one_job, one_plan, read_op, steady_stream

COLUMNS = 80
TIME = Counters(process_cpu_ns=10**9, on_cpu=0.1, run_delay=0.2, block_delay=0.5)
CEILINGS = (
    events.Ceiling(name="system_call", block_size_bytes=None, ops_per_s=1_000_000.0, bytes_per_s=None),
    events.Ceiling(name="cached_pread", block_size_bytes=4096, ops_per_s=10_000.0, bytes_per_s=40_960_000.0),
)
RING: dict[str, Any] = {
    "backend": "io_uring",
    "direct": True,
    "features": ("SINGLE_ISSUER", "DEFER_TASKRUN", "registered buffers"),
}


@pytest.fixture(scope="module")
def run() -> RunRecord:
    """The same reads one and four at a time, and other reads; 1,000, 2,000 and 500 a second of 4 KiB."""
    other = one_job(plan.Do(op=read_op("read", size_bytes=8192)))
    phases = (
        plan.Phase(name="one", title="reads, depth 1", jobs=(one_job(),)),
        plan.Phase(name="four", title="reads, depth 4", jobs=(one_job(queue_depth=4),)),
        plan.Phase(name="other", title="other reads", jobs=(other,)),
    )
    made = SyntheticRun(one_plan(*phases, sample_interval_s=0.1))
    made.say(events.CeilingsMeasured(t_ns=2, ceilings=CEILINGS))
    for index, per_s in enumerate((1000, 2000, 500)):
        total = per_s * 10 * 4096
        counters = dataclasses.replace(TIME, process_read_bytes=total, devices={"vda": (total, 0)})
        stream = steady_stream(per_s=per_s, seconds=10, latency_ns=1_000_000, bytes_each=4096)
        made.phase([stream], seconds=10, index=index, counters=counters, **(RING if per_s == 2000 else {}))
    return read(made.end())


def told(run: RunRecord, about: str | None) -> str:
    lines = story(document(run), run, about, COLUMNS)
    assert max(cell_len(line.plain) for line in lines) <= COLUMNS
    return "\n".join(line.plain for line in lines)


def said(run: RunRecord, about: str | None) -> str:
    """The same without the breaks of lines."""
    return " ".join(told(run, about).split())


def test_a_row_names_the_interface_and_what_the_kernel_granted_of_it(run: RunRecord) -> None:
    assert "depth 1 through psync latency" in said(run, "1")
    assert "depth 4 through io_uring (SINGLE_ISSUER, DEFER_TASKRUN, registered buffers), direct I/O number" in said(
        run, "2"
    )


def test_a_row_is_told_with_its_number_and_what_it_is_known_by(run: RunRecord) -> None:
    text = said(run, "1")

    assert text.startswith("row 1 reads, depth 1 (of 3 rows) operation 'read' of job 'job' in phase 'one'")
    assert ": 1 worker, depth 1" in text
    assert "number 1,000 IOPS ± 0.0 %, or 3.91 MiB/s 95 % interval 1,000 to 1,000 IOPS (± 0.0 %)" in text
    assert "of the phase (10.0 s): 10,000 operations, 39.1 MiB, 0 errors" in text
    assert "mean 1.00 ms" in text
    assert "memory delivered 0.0 % of the bytes read, by byte balance" in text


def test_what_differs_from_run_to_run_is_from_earlier_runs_where_five_are_known(run: RunRecord) -> None:
    known = document(run)
    label = known.results[0].label
    rates = [1000.0, 1000.0, 1000.0, 1050.0, 1050.0]

    def text(earlier: list[float]) -> str:
        lines = story(known, run, "1", COLUMNS, lambda: {label: earlier})
        return " ".join(" ".join(line.plain for line in lines).split())

    # Of the ten pairs four are equal and six are 5 % apart.
    assert "5 earlier runs of this Plan on this machine: two of them differ by 5.0 % in the median" in text(rates)
    assert "one run: the interval does not cover differences between runs. Use --repeat 3" in text(rates[:4])


def test_a_row_is_held_against_what_this_client_could_show(run: RunRecord) -> None:
    text = said(run, "1")

    # 1,000 of 1,000,000 calls; 4,096,000 of 40,960,000 bytes.
    assert "system call 1.00M ops/s 0.1 % of it" in text
    assert "cached pread, 4.00 KiB 39.1 MiB/s 10.0 % of it" in text


def test_a_curve_has_the_same_work_with_more_in_flight_and_no_other(run: RunRecord) -> None:
    measured = document(run).results

    assert curve_of(run, measured, 0) == (0, 1)
    assert curve_of(run, measured, 1) == (0, 1)
    assert curve_of(run, measured, 2) == (2,)
    assert "1 1 1,000 IOPS 1.00 ms 1.00 ms no <- this one 2 4 2,000 IOPS 1.00 ms 1.00 ms no" in said(run, "1")
    assert "curve" not in told(run, "3")


def test_trust_comes_with_each_reason_its_cure_and_the_thresholds_that_decided(run: RunRecord) -> None:
    text = said(run, "1")

    assert "trust no warning cpu-contention: Worker 0 waited for a CPU for 20 % of its time" in text
    assert "Stop other programs, or use no more workers than CPUs" in text
    assert "RUN_DELAY_SHARE = 0.1: A worker that waits longer for a CPU" in text


def test_the_time_is_a_bar_with_its_shares(run: RunRecord) -> None:
    lines = told(run, "1").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("time"))

    # Of 70 cells beside the word: a tenth, a fifth, a half, and a fifth that is left.
    assert lines[place].split() == ["time", "C" * 7 + "R" * 14 + "B" * 35 + "w" * 14]
    assert [line.split()[:2] for line in lines[place + 1 : place + 5]] == [
        ["C", "10.0"],
        ["R", "20.0"],
        ["B", "50.0"],
        ["w", "20.0"],
    ]


@pytest.mark.parametrize(
    ("shares", "width", "expected"),
    [
        ([0.5, 0.25, 0.25], 8, [4, 2, 2]),
        ([1 / 3, 1 / 3, 1 / 3], 10, [4, 3, 3]),
        ([1.0, 0.0], 5, [5, 0]),
        ([0.0, 0.0], 5, [0, 0]),
        ([0.96, 0.04], 10, [10, 0]),
    ],
)
def test_a_bar_is_divided_by_largest_remainders(shares: list[float], width: int, expected: list[int]) -> None:
    assert cells(shares, width) == expected


def test_a_share_that_is_not_known_is_not_in_the_bar() -> None:
    bar, *shares = time_bar(TimeBudget(on_cpu=0.5, run_delay=0.0, block_delay=None, idle=None, other_wait=0.5), 10)

    assert bar == "CCCCCwwwww"
    assert [line.split()[0] for line in shares] == ["C", "w"]
    assert not time_bar(TimeBudget(on_cpu=None, run_delay=None, block_delay=None, idle=None, other_wait=None), 10)


def test_a_finding_is_told_with_each_row_that_it_strikes(run: RunRecord) -> None:
    text = said(run, "cpu-contention")

    assert text.startswith("finding cpu-contention Other programs, the hypervisor or a limit")
    for row, title in enumerate(("reads, depth 1: 1,000 IOPS", "reads, depth 4: 2,000 IOPS"), start=1):
        assert f"row {row} {title} warning: Worker 0 waited" in text
    assert text.count("Stop other programs") == 1


def test_a_finding_may_be_asked_for_by_an_earlier_id(run: RunRecord) -> None:
    assert said(run, "cpus-busy") == said(run, "cpu-contention")


def test_without_a_row_the_run_is_told_in_short(run: RunRecord) -> None:
    text = said(run, None)

    assert "row 1 reads, depth 1: 1,000 IOPS ± 0.0 %, served by storage" in text
    assert "trusted: no (cpu contention)" in text
    assert "findings: " in text


@pytest.mark.parametrize(
    ("about", "there"),
    [
        ("0", "it has rows 1 to 3"),
        ("4", "it has rows 1 to 3"),
        ("no-such", "it has: .*cpu-contention"),
        ("", "it has: "),
    ],
)
def test_what_is_not_there_is_refused_with_what_there_is(run: RunRecord, about: str, there: str) -> None:
    with pytest.raises(InputError, match=there):
        story(document(run), run, about, COLUMNS)


def test_every_threshold_is_told() -> None:
    text = "\n".join(line.plain for line in thresholds_story(COLUMNS))

    assert "RUN_DELAY_SHARE = 0.1" in text
    assert "waits longer for a CPU than this share of its time" in " ".join(text.split())


def test_what_a_row_is_of_and_what_its_hit_ratio_is_of_are_the_same_words_everywhere() -> None:
    behind_fuse = {**BLOCK_BACKED, "target.target.fs.type": "fuse.x", "target.target.fs.is_block_backed": False}
    phase = plan.Phase(name="one", title="one", jobs=(one_job(),), ramp_s=5.0)
    made = SyntheticRun(one_plan(phase, sample_interval_s=0.1), facts=behind_fuse, set_bytes=10_000 * 4096)
    stream = steady_stream(per_s=1000, seconds=10, latency_ns=1_000_000, bytes_each=4096)
    recorded = read(made.phase([stream], seconds=10, resident=(0.02, 1.0)).end())
    result = document(recorded).results[0]

    text = said(recorded, None) + said(recorded, "1")

    assert (result.cache.hit_ratio, result.cache.hit_ratio_of, result.measures) == (0.02, "phase", "server")
    assert "server (its storage or its memory, not distinguishable from here)" in text
    assert "memory delivered 2.0 % of the bytes read (over the whole phase), by residency" in text
    assert hit_scope(result.cache) == " (over the whole phase)"
    assert rows_with(result) == [f"phase {format_share(0.02)}"]


def rows_with(result: Result) -> list[str]:
    """Give the cell of the terminal's table."""
    return [column.cell(result) for column in terminal_table._ALL if column.heading == "cache hit"]
