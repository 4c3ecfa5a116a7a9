"""The terminal report as a reader sees it."""

import io

import msgspec
import pytest
from rich.cells import cell_len

from assay import events, plan
from assay.analysis.document import document
from assay.analysis.record import read
from assay.console import PlainConsole
from assay.report import text
from assay.report.head import head_of
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


def printed(width: int, run: SyntheticRun | None = None, *, has_notes: bool = False) -> str:
    """What a terminal of a width shows; of 0: what goes into a pipe."""
    recorded = read(run or example())
    is_terminal = width > 0
    console = PlainConsole(
        file=io.StringIO(), width=width or 80, color_system=None, force_terminal=is_terminal, legacy_windows=False
    )
    shown = document(recorded)
    text.render(shown, head_of(shown, recorded), console, has_notes=has_notes)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def rows_of(shown: str) -> list[str]:
    """The lines of the table, its headings first."""
    lines = shown.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("   operation"))
    return lines[begin : lines.index("", begin)]


@pytest.mark.parametrize("width", [30, 80, 100, 120, 160])
def test_no_line_of_the_table_the_findings_or_the_answer_is_wider_than_the_terminal(width: int) -> None:
    lines = printed(width).splitlines()
    told = [line for line in lines[lines.index("", 1) :] if not line.startswith(("kept in", "report", "notes"))]

    assert max(cell_len(line) for line in told) <= width


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_row_has_two_lines_in_a_terminal(width: int) -> None:
    table = rows_of(printed(width))

    assert len(table) == 2 + 2 * len(TITLES)
    assert [line[:3].strip() for line in table[2::2]] == ["1", "2", "3"]


@pytest.mark.parametrize("width", [0, 240])
def test_a_row_has_one_line_in_a_pipe_and_where_all_columns_fit(width: int) -> None:
    shown = printed(width)

    assert len(rows_of(shown)) == 1 + len(TITLES)
    assert not any(line.endswith(" ") for line in shown.splitlines())


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (
            80,
            (
                "storage",
                "yes",
                "workers apart",
                "400 400 0.0 % 2.35 ms 2.35 ms 2.35 ms 500 µs operation latency",
                "page cache no",
            ),
        ),
        (100, ("cold 100.0 %", "flushed", "workers apart, not cold, cpu…")),
        (130, ("12.0 0.0 80.0 0.0 8.0", "cold 0.0 %")),
        (0, ("12.0 0.0 80.0 0.0 8.0", "workers apart, not cold, cpu contention", *TITLES)),
    ],
)
def test_the_more_room_the_more_columns(width: int, expected: tuple[str, ...]) -> None:
    flat = " ".join(" ".join(rows_of(printed(width))).split())

    for words in expected:
        assert words in flat


def test_a_finding_is_printed_once_with_the_rows_that_it_applies_to() -> None:
    shown = printed(120)

    assert shown.count("small-sample") == 1
    assert "warning  workers-apart  row 2" in shown
    assert shown.index("warning  workers-apart") < shown.index("\nnotes ")


def test_notes_are_one_line_unless_they_are_asked_for() -> None:
    folded, full = printed(80), printed(80, has_notes=True)

    assert "notes    3: 'assay show 20260102T030405Z-quick-0123abcd --notes'" in folded
    assert "note  small-sample  rows 1, 3" in full
    assert "--notes" not in full


def test_a_percentile_that_was_withheld_is_absent_and_never_a_number() -> None:
    row = rows_of(printed(80))[-1]

    assert row.split()[3:] == ["%", "19.0", "ms", "n/a", "19.0", "ms", "0", "ns", "operation", "latency?"]


@pytest.mark.parametrize("width", [0, 80, 120])
def test_the_last_thing_on_the_screen_is_the_answer(width: int) -> None:
    shown = printed(width)
    answer = shown[shown.index("\nreport ") :].splitlines()[3:]

    assert 3 <= len(answer) <= 8
    assert "streaming read, 1 MiB, buffered, cold: 400 MiB/s" in answer[0]
    assert any(", not usable: workers apart. " in line for line in answer)
    assert shown.index("kept in  /runs/20260102T030405Z-quick-0123abcd") < shown.index(answer[0])


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


def test_nothing_measured_is_said_in_words() -> None:
    run = SyntheticRun(one_plan(plan.Phase(name="p", title="p", jobs=(one_job(),))))

    shown = printed(80, run)

    assert "Nothing was measured." in shown
    assert "1 of 1 phases are not complete" in " ".join(shown.split())


def test_what_the_user_calls_a_run_stands_first() -> None:
    recorded = read(example())
    shown = document(recorded)
    called = msgspec.structs.replace(shown.run, name="baseline", tags=("nvme", "lab"), note="before\nthe change")
    console = PlainConsole(file=io.StringIO(), width=80, color_system=None)

    text.render(msgspec.structs.replace(shown, run=called), head_of(shown, recorded), console)

    first = console.file.getvalue().splitlines()[0]  # type: ignore[attr-defined]
    assert first.startswith("called   baseline   [nvme, lab]   before")
    assert first.endswith("the change")


def beside(run: SyntheticRun) -> list[str]:
    """The lines beside a classic tool's output, in a pipe."""
    recorded = read(run)
    console = PlainConsole(file=io.StringIO(), width=80, color_system=None)
    shown = document(recorded)
    text.render_stderr_notes(shown, head_of(shown, recorded), console)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_a_short_run_of_a_classic_tool_has_few_lines_beside_its_output() -> None:
    phases = [plan.Phase(name=f"p{index}", title=f"phase {index}", jobs=(one_job(),)) for index in range(4)]
    run = SyntheticRun(one_plan(*phases, sample_interval_s=0.1))
    for index in range(4):
        stream = steady_stream(per_s=400, seconds=1, latency_ns=2_345_678, bytes_each=MIB)
        run.phase([stream], seconds=1, index=index, counters=Counters(process_read_bytes=400 * MIB))
    run.end(events.Outcome.COMPLETE)
    assert {result.trust.level.value for result in document(read(run)).results} == {"weak"}

    lines = beside(run)

    assert len(lines) == 4
    assert lines[0].startswith("findings ")
    assert "small-sample" in lines[0]
    assert lines[3].startswith("4 results: 0 trusted, 4 weak, 0 not usable.")


def test_what_makes_numbers_unusable_is_told_beside_a_classic_tools_output() -> None:
    lines = beside(example())

    (told,) = [line for line in lines if line.startswith("warning  cpu-contention  row")]
    assert "→" in told
