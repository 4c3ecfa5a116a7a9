"""perf.pl: its command line, its table against the published ones, and what the table cannot show."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assay import plan
from assay.analysis.record import RunRecord
from assay.errors import InputError
from assay.tools.perfpl import FRONT_END
from assay.tools.perfpl import output as perfpl
from assay.tools.perfpl.output import warm_up
from goldens import Goldens
from unit import classic_runs as classic
from unit import vega
from unit.classic_runs import perfpl_plan, perfpl_run

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "perfpl"
EXAMPLE = ("35840", "1", "10000", "5000", "1")
FORKED = ("35840", "2", "100", "50", "2", "--mode", "fork", "--fsync")


def published(name: str) -> list[dict[str, str]]:
    lines = (GOLDEN / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def iterations(run: RunRecord) -> perfpl.Iterations:
    return perfpl.iterations(run, FRONT_END.settings_of(run.plan))


def command_of(row: dict[str, str], iterations: int) -> tuple[str, ...]:
    files = int(row["total_files"])
    per_file = int(row["block_count"]) // files
    return (row["block_size"], str(per_file), str(files), row["files_per_dir"], str(iterations))


def table_of(test: str) -> tuple[list[dict[str, str]], list[list[str]]]:
    """The published rows of a test, and ours for the same seconds."""
    rows = [row for row in published("iterations.csv") if row["test"] == test]
    settings = FRONT_END.parse(command_of(rows[0], len(rows)))
    lines = perfpl.table(
        settings, [perfpl.row_of(settings, int(row["iteration"]), int(row["total_seconds"])) for row in rows]
    )
    return rows, [line.split(" | ") for line in lines]


TESTS = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("test", TESTS)
def test_the_averages_are_the_published_ones_to_the_last_digit(test: str) -> None:
    expected = next(row for row in published("published_averages.csv") if row["test"] == test)

    _, ours = table_of(test)

    assert ours[-1] == ["Average", "", "", "", expected["avg_seconds"], expected["avg_mb_s"], expected["avg_mbit_s"]]


@pytest.mark.parametrize("test", TESTS)
def test_block_count_capacity_and_seconds_are_the_published_ones(test: str) -> None:
    rows, ours = table_of(test)

    columns = ("block_size", "block_count", "capacity_mib", "iteration", "total_seconds")
    assert [line[:5] for line in ours[1:-1]] == [[row[column] for column in columns] for row in rows]


def test_the_rates_of_the_first_test_are_the_published_ones_to_the_last_digit() -> None:
    _, ours = table_of("1")

    assert [line[5] for line in ours[1:-1]] == [row["mb_s"] for row in published("test1_published_rates.csv")]


def test_published_rows_are_printed_as_they_stand() -> None:
    assert table_of("1")[1][1] == ["35840", "100000", "3417.96875", "1", "73", "46.82148973", "374.5719178"]
    assert table_of("2")[1][1] == ["35840", "10000", "341.796875", "1", "131", "2.60913645", "20.8730916"]


@pytest.mark.parametrize(
    "argv",
    [
        ("4096", "3", "10", "4", "2", "--fsync", "--sync"),
        ("1", "1", "3", "100", "1", "--mode", "native"),
        FORKED,
    ],
    ids=["flushed", "one-directory", "forked"],
)
def test_a_command_line_becomes_the_plan_beside_it(
    argv: tuple[str, ...], goldens: Goldens, request: pytest.FixtureRequest
) -> None:
    made = perfpl_plan(argv)

    name = request.node.callspec.id
    goldens.check_plan(GOLDEN / f"{name}.plan.json", made)


def test_a_plan_holds_the_request_that_it_was_made_from() -> None:
    argv = ("4096", "3", "10", "4", "2", "--fsync", "--dir", "/mnt/a b")

    made = perfpl_plan(argv)

    assert FRONT_END.settings_of(plan.Plan.from_json(made.to_json())) == FRONT_END.parse(argv)
    assert FRONT_END.parse(argv).directory == "/mnt/a b"


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        ((), "required: BLOCKSIZE"),
        (EXAMPLE[:4], "required: ITERATIONS"),
        ((*EXAMPLE, "6"), "unrecognized arguments: 6"),
        (("0", "1", "1", "1", "1"), "BLOCKSIZE (bytes) is '0'"),
        (("4k", "1", "1", "1", "1"), "BLOCKSIZE (bytes) is '4k'"),
        (("4096", "1", "1", "-1", "1"), "FILESPERDIR is '-1'"),
        (("4096", "1", "1.5", "1", "1"), "TOTALFILES is '1.5'"),
        (("4096", "1", "1", "1", "²"), "ITERATIONS is '²'"),
        (("2147483648", "1", "1", "1", "1"), "more blocks per file"),
        (("4096", "1", "1", "1", "1001"), "at most 1000"),
        ((*EXAMPLE, "--mode", "vfork"), "invalid choice: 'vfork'"),
        ((*EXAMPLE, "--fs"), "unrecognized arguments: --fs"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_with_words(argv: Sequence[str], part: str) -> None:
    with pytest.raises(InputError) as refused:
        FRONT_END.parse(argv)

    assert part in str(refused.value)


def test_the_output_of_a_run_is_the_one_beside_it(goldens: Goldens) -> None:
    run = perfpl_run(("35840", "1", "10000", "5000", "3"), [130.7, 131.9, 130.0], begin_s=0.5)

    goldens.check(GOLDEN / "output.txt", classic.text(run))
    goldens.check(GOLDEN / "beside.txt", classic.stderr_notes(run))


def test_the_clock_counts_whole_seconds_as_two_readings_of_time_do() -> None:
    # 0.9 s from 0.5 to 1.4 of the clock is a second; from 0.05 to 0.95 it is none.
    over = iterations(perfpl_run(EXAMPLE, [0.9], begin_s=0.5)).whole[0]
    within = iterations(perfpl_run(EXAMPLE, [0.9], begin_s=0.05)).whole[0]

    assert (over.clock_seconds, within.clock_seconds) == (1, 0)
    assert over.seconds == within.seconds == pytest.approx(0.9)


def test_an_iteration_within_a_second_has_no_rate_and_the_table_no_average() -> None:
    run = perfpl_run((*EXAMPLE[:4], "2"), [0.2, 2.0], begin_s=0.1)

    lines = classic.text(run).splitlines()
    said = classic.stderr_notes(run)

    assert lines[-3].split(" | ")[3:] == ["1", "0", "n/a", "n/a"]
    assert lines[-1] == "Average |  |  |  | 1 | n/a | n/a"
    assert "1 of 2 iterations began and ended in one second of the script's clock" in said
    assert "0.200000" in said


def test_total_work_by_total_time_stands_beside_the_mean_of_the_rates() -> None:
    rows, _ = table_of("1")
    run = perfpl_run(command_of(rows[0], 10), [float(row["total_seconds"]) for row in rows])

    said = classic.stderr_notes(run)

    # 3417.96875 MiB * 10 / 581 s; the script's mean of rates is 60.06.
    assert "Total work by total time: 58.8 MiB/s. Mean of the rates: 60.1 MiB/s." in said
    assert "Iterations 1 to 4 differ (a warm-up): mean 68.2 s, then 51.3 s. Without them 66.6 MiB/s" in said
    (told,) = classic.brief(run).splitlines()
    rates, _, how = told.partition(" Each iteration: ")
    assert rates in " ".join(said.splitlines())
    assert how == f"'assay show {run.run_id} --classic'."


@pytest.mark.parametrize(("test", "count"), [("1", 4), ("2", 0), ("3", 0), ("4", 0), ("5", 0)])
def test_the_warm_up_of_the_published_tests_is_found_and_no_other(test: str, count: int) -> None:
    rows, _ = table_of(test)

    assert warm_up(np.array([float(row["total_seconds"]) for row in rows])) == count


def test_a_change_that_comes_last_is_no_warm_up_but_unsettled() -> None:
    run = perfpl_run((*EXAMPLE[:4], "10"), [50.0] * 8 + [90.0] * 2)

    assert "The times did not settle" in classic.stderr_notes(run)


def test_a_fast_beginning_is_not_called_a_warm_up() -> None:
    run = perfpl_run((*EXAMPLE[:4], "10"), [20.0] * 4 + [50.0] * 6)

    assert "Iterations 1 to 4 differ (faster, so a cache that filled" in classic.stderr_notes(run)


def test_the_final_flush_is_in_the_time() -> None:
    run = perfpl_run((*EXAMPLE, "--sync"), [2.0], sync_s=1.5)

    found = iterations(run)

    assert found.whole[0].seconds == pytest.approx(3.5)
    assert found.whole[0].clock_seconds == 3
    assert "the final sync is." in classic.stderr_notes(run)


def test_a_flush_that_is_missing_makes_the_iteration_no_number() -> None:
    run = perfpl_run((*EXAMPLE, "--sync"), [2.0])

    assert iterations(run).cut == (1,)


def test_an_iteration_that_was_cut_is_in_no_number() -> None:
    run = perfpl_run((*EXAMPLE[:4], "2"), [10.0, 4.0], files=[10000, 3999])

    lines = classic.text(run).splitlines()

    assert [line.split(" | ")[3] for line in lines if line.startswith("35840")] == ["1"]
    assert "Iteration 2 did not write all its files and is not counted." in classic.stderr_notes(run)


def test_the_mode_and_its_dd_are_printed_with_the_numbers() -> None:
    run = perfpl_run(FORKED, [2.0, 2.0], part_ns={"dd": 20_000_000})

    lines, said = classic.text(run).splitlines(), classic.stderr_notes(run)

    assert lines[7:9] == [
        "mode = fork, fsync in the time",
        "dd command: dd if=/dev/zero of=FILE bs=35840 count=2 conv=fsync",
    ]
    # 2 blocks of 35840 bytes a file, 100 files: 6.8359375 MiB in 2 s.
    assert lines[-3] == "35840 | 200 | 6.8359375 | 1 | 2 | 3.41796875 | 27.34375"
    assert "20.0 ms" in said
    assert "Each file is a process of dd" in said
    assert "Each file is a process of dd" not in classic.stderr_notes(perfpl_run(EXAMPLE, [2.0]))


def test_a_run_without_a_whole_iteration_has_a_table_without_rows() -> None:
    run = perfpl_run(EXAMPLE, [4.0], files=[17])

    assert classic.text(run).splitlines()[-1] == " | ".join(perfpl.COLUMNS)
    assert classic.stderr_notes(run) == "No iteration wrote all its files.\n"
    assert classic.figures(run) == ()


def test_figures_show_each_iteration_and_the_parts_of_a_file() -> None:
    parts = {"create": 10_000, "write": 20_000, "close": 5_000}
    run = perfpl_run(("4096", "4", "100", "100", "6"), [1.0, 1.0, 0.5, 0.5, 0.5, 0.5], part_ns=parts)

    rates, of_file = classic.figures(run)

    assert [row[0] for row in rates.table.rows] == ["1", "2", "3", "4", "5", "6"]
    assert [row[1] for row in rates.table.rows] == ["1.56", "1.56", "3.12", "3.12", "3.12", "3.12"]
    assert [row[2] for row in rates.table.rows] == ["yes", "yes", "no", "no", "no", "no"]
    # Four writes of 20 µs each.
    assert of_file.table.rows[0] == ("1", "10.0 µs", "80.0 µs", "5.00 µs")
    for figure in (rates, of_file):
        vega.check(figure)
