"""The terminal report as a reader sees it."""

import io

import pytest
from rich.cells import cell_len

from assay import events, plan
from assay.analysis.document import document
from assay.analysis.record import read
from assay.console import PlainConsole
from assay.report import text
from assay.report.titles import titles_of
from unit.memory_run import judged
from unit.synthetic import MIB, Counters, SyntheticRun, one_job, one_plan, read_op, steady_stream

TITLES = (
    "streaming read, 1 MiB, buffered, cold",
    "4 KiB random read, direct, depth 1",
    "8 KiB random write, O_DSYNC, 1 worker",
)


def example() -> SyntheticRun:
    """Three phases: one fine, one with a late worker on a busy machine, one cached."""
    write = one_job(plan.Do(op=read_op("write", kind=plan.OpKind.WRITE)), open=plan.OpenFlags(dsync=True))
    phases = (
        plan.Phase(name="a", title=TITLES[0], jobs=(one_job(),), cache=plan.CacheCondition.COLD),
        plan.Phase(name="b", title=TITLES[1], jobs=(one_job(workers=2),), cache=plan.CacheCondition.COLD),
        plan.Phase(name="c", title=TITLES[2], jobs=(write,)),
    )
    run = SyntheticRun(one_plan(*phases, sample_interval_s=0.1))
    total = 5 * 400 * MIB
    counters = Counters(process_cpu_ns=10**9, process_read_bytes=total, devices={"vda": (total, 0)}, on_cpu=0.12)
    stream = steady_stream(per_s=400, seconds=5, latency_ns=2_345_678, bytes_each=MIB)
    run.phase([stream], seconds=5, index=0, counters=counters)
    late = [
        steady_stream(per_s=1000, seconds=10, begin_s=begin_s, latency_ns=123_456, bytes_each=4096, worker=worker)
        for worker, begin_s in enumerate((0.0, 1.5))
    ]
    run.phase(late, seconds=10, index=1, counters=Counters(process_read_bytes=0, run_delay=0.3))
    stream = steady_stream(per_s=50, seconds=5, latency_ns=19_000_000, bytes_each=8192, operation="write")
    run.phase([stream], seconds=5, index=2, counters=Counters(devices={"vda": (0, 250 * 8192)}))
    return run.end(events.Outcome.COMPLETE)


def printed(width: int, run: SyntheticRun | None = None) -> str:
    run = run or example()
    console = PlainConsole(file=io.StringIO(), width=width, color_system=None)
    recorded = read(run)
    text.render(document(recorded), recorded, console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_no_line_of_the_table_or_the_findings_is_wider_than_the_terminal(width: int) -> None:
    lines = printed(width).splitlines()
    table = lines[lines.index("", 1) :]
    kept = next(index for index, line in enumerate(table) if line.startswith("kept in"))

    assert max(cell_len(line) for line in table[:kept]) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_every_number_of_a_row_is_there_at_every_width(width: int) -> None:
    flat = " ".join(printed(width).split())

    for expected in (
        "400 400 2.35 ms 2.35 ms 2.35 ms",
        "500 µs",
        "12",
        "80",
        "cold",
        "yes",
        "no",
        "flushed",
        "19.0 ms",
    ):
        assert expected in flat
    for title in TITLES:
        assert title.split(",")[0] in flat


def test_a_finding_is_printed_once_with_the_rows_that_it_applies_to() -> None:
    shown = printed(120)

    assert shown.count("percentiles-withheld") == 1
    assert "percentiles-withheld (1, 3)" in " ".join(shown.split())
    assert "warning  start-skew  row 2" in shown
    assert shown.index("warning  start-skew") < shown.index("notes  ")


def test_a_percentile_that_was_withheld_is_absent_and_never_a_number() -> None:
    row = next(line for line in printed(120).splitlines() if line.startswith(" 3 "))

    assert row.split()[-12:-10] == ["n/a", "19.0"]


def test_rows_of_one_phase_are_told_apart_by_job_and_operation() -> None:
    jobs = (one_job(name="reader"), one_job(plan.Do(op=read_op("r2")), plan.Do(op=read_op("w2")), name="other"))
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="mix", jobs=jobs)))
    run.phase(
        [
            steady_stream(per_s=100, seconds=5, latency_ns=10**6, job="reader"),
            steady_stream(per_s=100, seconds=5, latency_ns=10**6, job="other", operation="r2"),
        ],
        seconds=5,
    )

    measured = judged(run.end()).results

    assert titles_of(measured) == ["mix: reader", "mix: other: r2", "mix: other: w2"]


def test_the_report_ends_with_where_the_run_is_kept() -> None:
    last, previous = printed(120).rstrip().splitlines()[:-3:-1]

    assert previous == "kept in  /runs/20260102T030405Z-quick-0123abcd"
    assert last == "report   assay report 20260102T030405Z-quick-0123abcd"


def test_nothing_measured_is_said_in_words() -> None:
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(one_job(),))))

    shown = printed(80, run)

    assert "Nothing was measured." in shown
    assert "1 of 1 phases are not complete" in " ".join(shown.split())
