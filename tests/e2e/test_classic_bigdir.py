"""`assay bigdir` on a real directory: counts against the kernel's own, and whatever ends it early."""

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.command import COMMAND, MOST_LINES, TIMEOUT_S, Assay, lines_after
from e2e.processes import events_of, running
from testbed.host import command, need_root, need_tools
from testbed.leaks import unmount

HEADER = "Iterations, MkDirOpTime(ms), EnumerationTimeDOS(ms), EnumerationOpTimeDOS(ms)"


def rows_of(text: str) -> list[list[float]]:
    lines = text.splitlines()
    assert lines[0] == HEADER
    return [[float(cell) for cell in line.split(", ")] for line in lines[1:]]


@pytest.mark.parametrize("kind", ["dir", "file"])
def test_a_run_prints_a_row_a_step_and_leaves_nothing(kind: str, assay: Assay, directory: Path) -> None:
    done = assay.measured("bigdir", "3000", "500", "--type", kind, cwd=directory)

    rows = rows_of(done.stdout)
    assert [row[0] for row in rows] == [500, 1000, 1500, 2000, 2500, 3000]
    for entries, create_ms, enumeration_ms, per_entry_ms in rows:
        assert create_ms > 0
        assert per_entry_ms == pytest.approx(enumeration_ms / entries, rel=1e-12)
    assert len(lines_after("in the first step", done.stderr)) <= MOST_LINES
    assert list(directory.iterdir()) == []
    assert assay("show", "last", "--classic", check=0).stdout == done.stdout


def test_the_rows_and_the_histogram_tell_the_same_total(assay: Assay, directory: Path) -> None:
    document = json.loads(assay.measured("bigdir", "2000", "100", "--dir", directory, "--json").stdout)
    rows = rows_of(assay("show", "last", "--classic", check=0).stdout)

    by_name = {result["operation"]: result for result in document["results"]}
    assert set(by_name) == {"*", "mkdir", "readdir_stat"}
    assert by_name["*"]["ops"] == 2020
    assert (by_name["mkdir"]["ops"], by_name["readdir_stat"]["ops"]) == (2000, 20)
    assert rows[-1][1] == pytest.approx(by_name["mkdir"]["latency_ns"]["mean"] / 1e6, rel=1e-9)
    assert sum(row[2] for row in rows) / 20 == pytest.approx(by_name["readdir_stat"]["latency_ns"]["mean"] / 1e6)


@pytest.mark.parametrize(("options", "looked_at"), [((), 1500), (("--readdir-only",), 0)])
def test_the_kernel_sees_each_entry_made_once_and_each_listing_once(
    options: tuple[str, ...], looked_at: int, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    need_tools("strace")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    trace = tmp_path / "trace"
    strace = ("strace", "-ff", "-y", "-qq", "-o", str(trace), "-e", "trace=mkdirat,openat2,newfstatat,close")

    assay.measured("bigdir", "1050", "500", *options, "--dir", directory, "--no-report", prefix=strace)

    calls = "\n".join(file.read_text(errors="replace") for file in tmp_path.glob("trace.*"))
    made = re.findall(r'^mkdirat\(AT_FDCWD<.*/bigdir-client0001>, "(d\d{8})", \S+\) += 0$', calls, re.MULTILINE)
    assert (len(made), len(set(made))) == (1050, 1050)
    assert len(re.findall(r'^newfstatat\(\d+<.*/bigdir-client0001>, "d\d{8}".* = 0$', calls, re.MULTILINE)) == looked_at
    worker = next(text for text in calls_by_thread(tmp_path) if text.count("\nmkdirat(") > 1000)
    listings = re.findall(r'^openat2\(AT_FDCWD<.*/bigdir-client0001>, "\.", .*O_DIRECTORY', worker, re.MULTILINE)
    assert len(listings) == 2


def calls_by_thread(folder: Path) -> list[str]:
    return [file.read_text(errors="replace") for file in folder.glob("trace.*")]


def test_clients_work_side_by_side_and_the_table_is_their_mean(assay: Assay, directory: Path) -> None:
    done = assay("bigdir", "600", "200", "--clients", "4", "--dir", directory, "--no-report")

    # Clients that do not overlap enough make their sum invalid; the rows stay what they are.
    assert done.returncode in {0, 1}
    assert [row[0] for row in rows_of(done.stdout)] == [200, 400, 600]
    assert "The CSV is the mean over 4 clients" in done.stderr
    assert list(directory.iterdir()) == []


def test_a_step_of_one_lists_after_every_entry(assay: Assay, directory: Path) -> None:
    done = assay.measured("bigdir", "300", "--dir", directory, "--no-report")

    assert [row[0] for row in rows_of(done.stdout)] == list(range(1, 301))


@pytest.mark.usefixtures("assay")
def test_a_stop_keeps_the_whole_steps_and_removes_the_entries(directory: Path, tmp_path: Path) -> None:
    # A step of 1 makes every listing longer than the one before: the run would take hours.
    with running("bigdir", "200000", "1", "--dir", directory, folder=tmp_path) as run:
        run.wait_for("[1/1]")
        run.wait_for_file(lambda: any(directory.glob("assay-data/*/d00001000")), "a thousand entries")
        run.stop(signal.SIGINT)

        assert run.exit_code() == 130

    rows = rows_of((tmp_path / "stdout").read_text())
    assert len(rows) >= 1000
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert f"the CSV ends at {len(rows)} entries" in run.said()
    assert list(directory.iterdir()) == []


def test_a_killed_engine_leaves_its_steps_in_the_bundle_and_its_data_to_clean(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    with running("bigdir", "200000", "1", "--dir", directory, folder=tmp_path) as run:
        run.wait_for("[1/1]")
        run.wait_for_file(lambda: _steps(tmp_path) > 100, "a hundred steps in the record")
        os.kill(run.engine(), signal.SIGKILL)

        assert run.exit_code() == 3

    assert len(rows_of((tmp_path / "stdout").read_text())) > 100
    assay("clean", directory, check=0)
    assert list(directory.iterdir()) == []


def _steps(folder: Path) -> int:
    return sum(len(event["number"]) for event in events_of(folder / "runs") if event["event"] == "laps")


@pytest.mark.usefixtures("assay")
def test_a_file_system_that_others_fill_ends_the_run_with_the_steps_until_then(tmp_path: Path) -> None:
    need_root()
    place = tmp_path / "small"
    place.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=600m,nr_inodes=20000", "none", place)
    try:
        with running("bigdir", "15000", "1", "--dir", place, folder=tmp_path) as run:
            run.wait_for_file(lambda: any(place.glob("assay-data/*/d00000500")), "five hundred entries")
            with contextlib.suppress(OSError):
                for number in range(20_000):
                    (place / f"other{number}").touch()

            assert run.exit_code() == 3

        rows = rows_of((tmp_path / "stdout").read_text())
        assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
        assert 500 <= len(rows) < 15_000
        assert "ENOSPC" in run.said() or "No space left" in run.said()
        assert {path.name[:5] for path in place.iterdir()} == {"other"}
    finally:
        unmount(place)


def test_more_entries_than_the_file_system_has_are_refused(assay: Assay, tmp_path: Path) -> None:
    need_root()
    place = tmp_path / "small"
    place.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=600m,nr_inodes=1500", "none", place)
    try:
        done = assay("bigdir", "1000", "500", "--clients", "2", "--dir", place, check=3)

        assert "2000 files and directories are needed" in done.stderr
        assert list(place.iterdir()) == []
    finally:
        unmount(place)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "required: COUNT"),
        (("10", "20"), "nothing would be listed"),
        (("10", "--dir", "/no/such"), "does not exist"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_touched(
    words: tuple[str, ...], part: str, assay: Assay, directory: Path
) -> None:
    done = assay("bigdir", *words, cwd=directory, check=2)

    assert part in done.stderr
    assert done.stdout == ""
    assert list(directory.iterdir()) == []
    assert not assay.runs.exists() or not list(assay.runs.iterdir())


def test_an_output_that_takes_nothing_is_said(assay: Assay, directory: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        # Python holds its output back, as users have it: it then tries once more at its end.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        environment["ASSAY_RUNS"] = str(tmp_path / "runs")
        done = subprocess.run(
            [COMMAND, "bigdir", "200", "100", "--dir", directory],
            stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False, timeout=TIMEOUT_S,
        )  # fmt: skip

    assert done.returncode == 3
    assert "No space left" in done.stderr
    assert rows_of(assay("show", "last", "--classic", check=0).stdout)[-1][0] == 200
