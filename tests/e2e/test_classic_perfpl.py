"""`assay perfpl` on a real directory: counts against the kernel's own, and whatever ends it early."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.command import Assay
from e2e.processes import running
from testbed.host import command, need_root, need_tools
from testbed.leaks import unmount


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """What is measured."""
    path = tmp_path / "measured"
    path.mkdir()
    return path


def rows_of(text: str) -> list[list[str]]:
    lines = text.splitlines()
    return [line.split(" | ") for line in lines[lines.index("") + 2 :]]


def test_a_run_prints_parameters_and_a_row_an_iteration_and_leaves_nothing(assay: Assay, directory: Path) -> None:
    done = assay("perfpl", "35840", "1", "100", "50", "3", cwd=directory, check=0)

    lines = done.stdout.splitlines()
    assert lines[:8] == [
        "Running Parameters:",
        f"basedir = {directory}",
        "dd blocksize = 35840",
        "dd blocksperfile = 1",
        "total files = 100",
        "files per directory = 50",
        "loop iterations = 3",
        "mode = native",
    ]
    rows = rows_of(done.stdout)
    assert [row[:4] for row in rows[:3]] == [["35840", "100", "3.41796875", str(at)] for at in (1, 2, 3)]
    assert rows[3][0] == "Average"
    assert "Total work by total time" in done.stderr
    assert list(directory.iterdir()) == []
    assert assay("show", "last", "--classic", check=0).stdout == done.stdout


def test_each_iteration_writes_all_its_bytes_to_new_files(assay: Assay, directory: Path) -> None:
    asked = ("perfpl", "4096", "3", "200", "30", "2", "--fsync", "--dir", directory, "--json")
    document = json.loads(assay(*asked, check=0).stdout)

    for repeat in (0, 1):
        of_it = {result["operation"]: result for result in document["results"] if result["repeat"] == repeat}
        assert {name: result["ops"] for name, result in of_it.items()} == {
            "file": 200, "create": 200, "write": 600, "fsync": 200, "close": 200,
        }  # fmt: skip
        assert of_it["write"]["bytes"] == of_it["file"]["bytes"] == 200 * 3 * 4096
        assert sum(result["errors"] for result in of_it.values()) == 0


def test_the_kernel_sees_the_files_where_they_belong(assay: Assay, directory: Path, tmp_path: Path) -> None:
    need_tools("strace")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    strace = ("strace", "-ff", "-qq", "-o", str(tmp_path / "trace"), "-e", "trace=openat,pwrite64,fsync,close")

    assay("perfpl", "4096", "3", "25", "10", "2", "--dir", directory, "--no-report", check=0, prefix=strace)

    calls = "\n".join(file.read_text(errors="replace") for file in tmp_path.glob("trace.*"))
    made = re.findall(r'^openat\(AT_FDCWD, ".*/perfpl/(d\d+/file\d+)", O_RDWR\|O_CREAT\|O_EXCL', calls, re.MULTILINE)
    assert sorted(made) == sorted(2 * [f"d{at // 10:08}/file{at:08}" for at in range(25)])
    assert len(re.findall(r"^pwrite64\(.*, 4096, (?:0|4096|8192)\) += 4096$", calls, re.MULTILINE)) == 2 * 75


@pytest.mark.usefixtures("assay")
def test_a_stop_prints_the_whole_iterations_and_removes_the_files(directory: Path, tmp_path: Path) -> None:
    with running("perfpl", "4096", "1", "3000", "1000", "1000", "--dir", directory, folder=tmp_path) as run:
        run.wait_for("[4/1000]")
        run.stop(signal.SIGINT)

        assert run.exit_code() == 130

    rows = rows_of((tmp_path / "stdout").read_text())
    assert [row[3] for row in rows[:-1]] == [str(at) for at in range(1, len(rows))]
    assert len(rows) >= 4
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("1048576", "400", "1", "1", "1"), "400 MiB do not fit"),
        (("1", "1", "500", "50", "1"), "510 files and directories"),
    ],
)
def test_more_than_fits_is_refused_before_a_byte_is_written(
    words: tuple[str, ...], part: str, assay: Assay, tmp_path: Path
) -> None:
    """The script sends the errors of dd to /dev/null, and counts bytes that nobody wrote."""
    need_root()
    place = tmp_path / "small"
    place.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=600m,nr_inodes=300", "none", place)
    try:
        done = assay("perfpl", *words, "--dir", place, check=2)

        assert part in done.stderr
        assert list(place.iterdir()) == []
    finally:
        unmount(place)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("4096", "1", "10", "10"), "required: ITERATIONS"),
        (("4k", "1", "10", "10", "1"), "without a unit"),
        (("4096", "1", "10", "10", "1", "--mode", "fork"), "Use --mode native"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_touched(
    words: tuple[str, ...], part: str, assay: Assay, directory: Path
) -> None:
    done = assay("perfpl", *words, cwd=directory, check=2)

    assert part in done.stderr
    assert done.stdout == ""
    assert list(directory.iterdir()) == []
