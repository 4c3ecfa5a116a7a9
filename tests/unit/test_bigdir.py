"""bigdir: its command line, its CSV against the published one, and what the CSV cannot show."""

import csv
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import plan
from assay.errors import InputError
from assay.plan.walk import job_actions
from assay.tools.bigdir import FRONT_END
from assay.tools.bigdir import output as bigdir
from assay.tools.bigdir.steps import StepRow, steps
from goldens import Goldens
from unit import classic_runs as classic
from unit import vega
from unit.classic_runs import bigdir_plan, bigdir_run

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "bigdir"
ONE = "client0001"
TWO = "client0002"


def published() -> list[dict[str, str]]:
    lines = (GOLDEN / "published.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def rows_of(text: str) -> list[list[float]]:
    return [[float(cell) for cell in line.split(", ")] for line in text.splitlines()[1:]]


# -- the columns -------------------------------------------------------------------------------------------------------


def test_the_published_rows_come_out_digit_by_digit() -> None:
    for row in published():
        made = StepRow(
            entries=int(row["iterations"]),
            create_ms=float(row["mkdir_op_ms"]),
            enumeration_ms=float(row["enum_ms"]),
            enumeration_per_entry_ms=float(row["enum_ms"]) / int(row["iterations"]),
        )

        printed = bigdir.csv_line(made).split(", ")
        assert printed[:3] == list(row.values())[:3]
        # The tool divided before it cut the time to 15 digits.
        assert float(printed[3]) == pytest.approx(float(row["enum_op_ms"]), rel=1e-14)


def test_times_like_the_published_ones_give_the_published_rows() -> None:
    expected = [[float(cell) for cell in row.values()] for row in published()]
    sums_ns = [row[0] * row[1] * 1e6 for row in expected]
    making = [round(now - before) for before, now in zip([0.0, *sums_ns], sums_ns, strict=False)]
    listing = [round(row[2] * 1e6) for row in expected]

    text = classic.text(bigdir_run(("3000", "500"), {ONE: (making, listing)}))

    assert text.splitlines()[0] == "Iterations, MkDirOpTime(ms), EnumerationTimeDOS(ms), EnumerationOpTimeDOS(ms)"
    # The engine's clock counts whole nanoseconds, the published one did not.
    assert np.array(rows_of(text)) == pytest.approx(np.array(expected), rel=1e-6)


def test_no_decimal_of_the_timer_is_lost() -> None:
    """A first version of the tool cut its times to whole milliseconds: everything below was 0."""
    text = classic.text(bigdir_run(("4", "2"), {ONE: ([1234, 1235], [789, 791])}))

    assert text.splitlines()[1:] == ["2, 0.000617, 0.000789, 0.0003945", "4, 0.00061725, 0.000791, 0.00019775"]


def test_a_step_is_listed_once() -> None:
    """A first version of the tool listed the directory STEP times and gave the sum as the time of one."""
    job = bigdir_plan(("3000", "500")).phases[0].jobs[0]

    done: dict[str, int] = {}
    count_operations(job.body.actions if isinstance(job.body, plan.Loop) else (), 1, done)

    assert done == {"mkdir": 3000, "readdir_stat": 6}
    assert job.stop.passes == 1
    text = classic.text(bigdir_run(("1000", "500"), {ONE: ([1, 1], [4_000_000, 8_000_000])}))
    assert [row[2] for row in rows_of(text)] == [4.0, 8.0]


def test_the_time_of_an_entry_is_divided_by_the_entries_alone() -> None:
    """A first version of the tool divided by the step too."""
    text = classic.text(bigdir_run(("1000", "500"), {ONE: ([1, 1], [4_000_000, 8_000_000])}))

    assert [row[3] for row in rows_of(text)] == [4.0 / 500, 8.0 / 1000]


@given(
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1, max_size=30), st.integers(1, 999)
)
def test_create_times_of_all_rows_sum_to_what_was_measured(times: list[tuple[int, int]], step: int) -> None:
    making, listing = zip(*times, strict=True)
    run = bigdir_run((str(step * len(times)), str(step)), {ONE: (making, listing)})

    rows = steps(run, FRONT_END.settings_of(run.plan)).mean_rows()

    assert [row.entries for row in rows] == [step * (at + 1) for at in range(len(times))]
    assert rows[-1].create_ms * rows[-1].entries == pytest.approx(sum(making) / 1e6)
    assert sum(row.enumeration_ms for row in rows) == pytest.approx(sum(listing) / 1e6)


def count_operations(actions: Sequence[plan.Action], times: int, done: dict[str, int]) -> None:
    """How often each operation is carried out in one pass."""
    for action in actions:
        if isinstance(action, plan.Do):
            done[action.op.name] = done.get(action.op.name, 0) + times
        elif isinstance(action, plan.Repeat):
            count_operations(action.actions, times * action.times, done)
        elif isinstance(action, plan.Group):
            count_operations(action.actions, times, done)


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [("3000", "500"), ("1050", "500", "--files", "--readdir-only", "--clients", "2")],
    ids=["directories", "files"],
)
def test_a_command_line_becomes_the_plan_beside_it(
    argv: tuple[str, ...], goldens: Goldens, request: pytest.FixtureRequest
) -> None:
    made = bigdir_plan(argv)

    name = request.node.callspec.id
    goldens.check_plan(GOLDEN / f"{name}.plan.json", made)


@given(st.integers(1, 5000), st.data())
def test_every_entry_is_made_once_whatever_the_step(count: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(1, count))
    job = bigdir_plan((str(count), str(step))).phases[0].jobs[0]

    done: dict[str, int] = {}
    count_operations(job.body.actions if isinstance(job.body, plan.Loop) else (), 1, done)

    assert done == {"mkdir": count, "readdir_stat": count // step}


def test_each_client_works_in_a_directory_of_its_own() -> None:
    made = bigdir_plan(("100", "10", "--clients", "3"))

    folders = {file_set.name: file_set.path for file_set in made.file_sets}
    sets = [
        {
            action.op.file.set
            for action in job_actions(job)
            if isinstance(action, plan.Do)
            if isinstance(action.op.file, plan.FromSet)
        }
        for job in made.phases[0].jobs
    ]
    assert sets == [{name} for name in folders]
    assert len(set(folders.values())) == len(sets) == 3


def test_a_plan_holds_the_request_that_it_was_made_from() -> None:
    argv = ("100", "10", "--type", "file", "--clients", "3", "--dir", "/mnt/a b")

    made = bigdir_plan(argv)

    assert FRONT_END.settings_of(plan.Plan.from_json(made.to_json())) == FRONT_END.parse(argv)
    assert FRONT_END.parse(argv).kind == "file"
    assert FRONT_END.parse(argv).directory == "/mnt/a b"
    assert FRONT_END.parse(("3",)).step == 1


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        ((), "required: COUNT"),
        (("10", "5", "2"), "unrecognized arguments: 2"),
        (("0",), "COUNT is '0'"),
        (("1e3",), "COUNT is '1e3'"),
        (("10", "0"), "STEP is '0'"),
        (("10", "20"), "nothing would be listed"),
        (("10", "--type", "link"), "'link'"),
        (("10", "--files", "--type", "dir"), "leave --type dir or --files out"),
        (("10", "--clients", "0"), "--clients is '0'"),
        (("10", "--clients", "50000"), "at most 10000"),
        (("9" * 30,), "whole number"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_with_words(argv: Sequence[str], part: str) -> None:
    with pytest.raises(InputError) as refused:
        FRONT_END.parse(argv)

    assert part in str(refused.value)


# -- runs --------------------------------------------------------------------------------------------------------------


def growing(steps_: int, *, factor: float = 1.0, from_step: int = 0) -> tuple[list[int], list[int]]:
    """Creates of 100 µs in steps of 10, `factor` times that from a step on; listings of 1 µs an entry; a little noise."""
    rng = np.random.default_rng(7)
    making = 1e6 * rng.normal(1.0, 0.02, steps_)
    making[from_step:] *= factor
    listing = 1e4 * np.arange(1, steps_ + 1) * rng.normal(1.0, 0.02, steps_)
    return making.astype(int).tolist(), listing.astype(int).tolist()


def test_the_output_of_a_run_is_the_one_beside_it(goldens: Goldens) -> None:
    run = bigdir_run(("403", "10", "--clients", "2"), {ONE: growing(40, factor=1.4, from_step=25), TWO: growing(40)})

    goldens.check(GOLDEN / "output.txt", classic.text(run))
    goldens.check(GOLDEN / "beside.txt", classic.stderr_notes(run))
    one_line = " ".join(classic.stderr_notes(run).splitlines())
    ends, changes = classic.brief(run).splitlines()
    assert {ends in one_line, changes in one_line} == {True}


def test_a_change_of_level_is_said_with_its_place_and_evidence() -> None:
    said = classic.stderr_notes(bigdir_run(("400", "10"), {ONE: growing(40, factor=1.5, from_step=25)}))

    change = re.search(
        r"mkdir changes: after (\d+) entries ([\d.]+) µs instead of ([\d.]+) µs \((.*?) %; (.*?)\)", said
    )
    assert change is not None, said
    assert change[1] == "250"
    assert (float(change[2]), float(change[3])) == pytest.approx((150, 100), abs=2)
    assert float(change[4]) == pytest.approx(50, abs=2)
    assert change[5] == "25 steps before, 15 after"
    assert "readdir_stat of an entry: no change of level over 40 steps" in said


def test_few_steps_say_nothing_of_a_change() -> None:
    run = bigdir_run(("60", "10"), {ONE: growing(6, factor=3.0, from_step=3)})
    said = classic.stderr_notes(run)
    assert len(classic.brief(run).splitlines()) == 1

    assert "mkdir: 6 steps are too few to find where the time changes" in said


def test_many_levels_are_called_a_drift() -> None:
    drift = [int(1e6 * 1.03**at) for at in range(60)]
    said = classic.stderr_notes(bigdir_run(("600", "10"), {ONE: (drift, growing(60)[1])}))

    assert "mkdir drifts or swings" in said


def test_several_clients_give_the_mean_and_say_until_when_all_worked() -> None:
    slow, fast = ([2_000_000] * 3, [200_000] * 3), ([1_000_000] * 3, [100_000] * 3)
    run = bigdir_run(("30", "10", "--clients", "2"), {ONE: slow, TWO: fast})

    text, said = classic.text(run), classic.stderr_notes(run)

    assert text.splitlines()[1:] == ["10, 0.15, 0.15, 0.015", "20, 0.15, 0.15, 0.0075", "30, 0.15, 0.15, 0.005"]
    # The fast one was through after 3.3 ms; by then the slow one had listed once.
    assert "All were at work up to 10 entries" in said
    assert "(clients 100 µs to 200 µs)" in said


def test_entries_of_no_whole_step_are_said() -> None:
    said = classic.stderr_notes(bigdir_run(("35", "10"), {ONE: growing(3)}))

    assert "The last 5 entries were made, not listed" in said


@pytest.mark.parametrize(("cut", "rows"), [(1, 4), (2, 4), (3, 3)])
def test_a_run_that_was_cut_prints_its_whole_steps(cut: int, rows: int) -> None:
    run = bigdir_run(("50", "10"), {ONE: growing(5)}, cut=cut)

    assert len(classic.text(run).splitlines()) == 1 + rows
    assert f"the CSV ends at {10 * rows} entries" in classic.stderr_notes(run)


def test_steps_end_where_an_operation_failed_because_the_count_is_not_known_from_there() -> None:
    making, listing = growing(5)
    run = bigdir_run(("50", "10"), {ONE: ([*making[:2], None, *making[3:]], listing)})

    assert [row[0] for row in rows_of(classic.text(run))] == [10, 20]


def test_a_lap_that_was_not_kept_ends_the_steps() -> None:
    run = bigdir_run(("50", "10"), {ONE: growing(5)})
    lost = 1 + 2 * 2
    run = dataclasses.replace(run, events=run.events[:lost] + run.events[lost + 1 :])

    assert [row[0] for row in rows_of(classic.text(run))] == [10, 20]


def test_a_run_without_a_whole_step_has_a_header_alone() -> None:
    run = bigdir_run(("50", "10"), {ONE: ([], [])})

    assert classic.text(run) == bigdir.HEADER + "\n"
    assert classic.stderr_notes(run) == "No step was completed by every client.\n"
    assert classic.figures(run) == ()


def test_figures_show_fastest_mean_and_slowest_client_by_entries() -> None:
    slow, fast = ([2_000_000] * 12, [240_000] * 12), ([1_000_000] * 12, [120_000] * 12)
    run = bigdir_run(("120", "10", "--clients", "2"), {ONE: slow, TWO: fast})

    create, listing = classic.figures(run)

    assert create.table.rows[0] == ("10", "100 µs", "150 µs", "200 µs")
    assert listing.table.rows[-1] == ("120", "1.00 µs", "1.50 µs", "2.00 µs")
    for figure in (create, listing):
        vega.check(figure)


def test_a_figure_of_many_steps_stays_small_and_keeps_the_extremes() -> None:
    making = [1000] * 5000
    making[4321] = 50_000
    run = bigdir_run(("5000", "1"), {ONE: (making, [1000 * at for at in range(1, 5001)])})

    create = classic.figures(run)[0]

    assert len(create.table.rows) <= 500
    assert [row[0] for row in create.table.rows if row[3] == "50.0 µs"] == ["4330"]
