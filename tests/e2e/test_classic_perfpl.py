"""`assay perfpl` on a real directory: counts against the kernel's own, and whatever ends it early."""

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.command import MOST_LINES, Assay, lines_after
from e2e.processes import WAIT_S, events_of, is_alive, running
from testbed.host import command, need_root, need_tools, wait_until
from testbed.leaks import unmount


def rows_of(text: str) -> list[list[str]]:
    lines = text.splitlines()
    return [line.split(" | ") for line in lines[lines.index("") + 2 :]]


def test_a_run_prints_parameters_and_a_row_an_iteration_and_leaves_nothing(assay: Assay, directory: Path) -> None:
    done = assay.measured("perfpl", "35840", "1", "100", "50", "3", cwd=directory)

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
    assert len(lines_after("Total work by total time", done.stderr)) <= MOST_LINES
    assert list(directory.iterdir()) == []
    assert assay("show", "last", "--classic", check=0).stdout == done.stdout


def test_each_iteration_writes_all_its_bytes_to_new_files(assay: Assay, directory: Path) -> None:
    asked = ("perfpl", "4096", "3", "200", "30", "2", "--fsync", "--dir", directory, "--json")
    document = json.loads(assay.measured(*asked).stdout)

    for repeat in (0, 1):
        of_it = {result["operation"]: result for result in document["results"] if result["repeat"] == repeat}
        of_it.pop("*", None)
        assert {name: result["ops"] for name, result in of_it.items()} == {
            "file": 200, "create": 200, "write": 600, "fsync": 200, "close": 200,
        }  # fmt: skip
        assert of_it["write"]["bytes"] == of_it["file"]["bytes"] == 200 * 3 * 4096
        assert sum(result["errors"] for result in of_it.values()) == 0


def test_the_kernel_sees_the_files_where_they_belong(assay: Assay, directory: Path, tmp_path: Path) -> None:
    need_tools("strace")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    strace = ("strace", "-ff", "-y", "-qq", "-o", str(tmp_path / "trace"), "-e", "trace=openat2,pwrite64,fsync,close")

    assay.measured("perfpl", "4096", "3", "25", "10", "2", "--dir", directory, "--no-report", prefix=strace)

    calls = "\n".join(file.read_text(errors="replace") for file in tmp_path.glob("trace.*"))
    in_place = r'^openat2\(AT_FDCWD<.*/perfpl>, "(d\d+/file\d+)", \{flags=O_RDWR\|O_CREAT\|O_EXCL'
    made = re.findall(in_place, calls, re.MULTILINE)
    assert sorted(made) == sorted(2 * [f"d{at // 10:08}/file{at:08}" for at in range(25)])
    assert (
        len(re.findall(r"^pwrite64\(.*/assay-data/.*, 4096, (?:0|4096|8192)\) += 4096$", calls, re.MULTILINE)) == 2 * 75
    )


def test_a_forked_iteration_is_a_dd_for_each_file(assay: Assay, directory: Path, tmp_path: Path) -> None:
    need_tools("strace", "dd")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    # A file for each process: in one for all, a call is cut in two where another process's comes between.
    strace = ("strace", "-ff", "-qq", "-s", "400", "-o", str(tmp_path / "trace"), "-e", "trace=execve,fsync,write")
    asked = ("perfpl", "4096", "3", "20", "10", "2", "--mode", "fork", "--fsync", "--dir", directory, "--json")

    document = json.loads(assay.measured(*asked, prefix=strace).stdout)

    calls = "".join(trace.read_text(errors="replace") for trace in tmp_path.glob("trace.*"))
    asked_of_dd = r'"if=/dev/zero", "of=.*/perfpl/(d\d+/file\d+)", "bs=4096", "count=3", "conv=fsync"\]'
    made = re.findall(rf'execve\("[^"]*/dd", \["dd", {asked_of_dd}', calls)
    assert sorted(made) == sorted(2 * [f"d{at // 10:08}/file{at:08}" for at in range(20)])
    assert len(re.findall(r'write\(1, "(?:\\0)+"\.*, 4096\) += 4096$', calls, re.MULTILINE)) == 2 * 60
    assert len(re.findall(r"fsync\(1\) += 0", calls)) == 2 * 20
    found = {
        tuple(result[key] for key in ("operation", "repeat", "ops", "bytes", "errors"))
        for result in document["results"]
    }
    assert found == {(name, repeat, 20, 20 * 3 * 4096, 0) for name in ("file", "dd") for repeat in (0, 1)}
    assert list(directory.iterdir()) == []


def test_without_a_dd_that_works_a_forked_run_is_refused_or_counts_what_failed(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    asked = ("perfpl", "4096", "1", "3", "3", "1", "--mode", "fork", "--dir", directory)

    missing = assay(*asked, check=3, env={"PATH": str(tools)})
    (tools / "dd").write_text("#!/bin/sh\necho 'dd: no luck' >&2\nexit 4\n")
    (tools / "dd").chmod(0o755)
    failing = assay(*asked, check=1, env={"PATH": str(tools)})

    assert "there is no program 'dd' that can be run in PATH" in missing.stderr
    assert "3 of 3 operations failed (exit status 4 3 times)" in " ".join(failing.stderr.split())
    assert "printed: dd: no luck" in " ".join(failing.stderr.split())
    assert rows_of(failing.stdout) == []
    assert list(directory.iterdir()) == []


MINUTES_OF_DD = ("perfpl", "1", "200000000", "1", "1", "1", "--mode", "fork")
"""A byte at a time."""


@pytest.mark.usefixtures("assay")
def test_a_stop_ends_a_dd_that_is_at_work(directory: Path, tmp_path: Path) -> None:
    with running(*MINUTES_OF_DD, "--dir", directory, folder=tmp_path) as run:
        run.wait_for_file(lambda: bool(dds_in(directory)), "a dd at work")
        (dd,) = dds_in(directory)
        run.stop(signal.SIGINT)

        assert run.exit_code() == 130

    assert not is_alive(dd)
    assert list(directory.iterdir()) == []


@pytest.mark.usefixtures("assay")
def test_a_dd_does_not_outlive_an_engine_that_is_killed(assay: Assay, directory: Path, tmp_path: Path) -> None:
    with running(*MINUTES_OF_DD, "--dir", directory, folder=tmp_path) as run:
        run.wait_for_file(lambda: bool(dds_in(directory)), "a dd at work")
        (dd,) = dds_in(directory)
        os.kill(run.engine(), signal.SIGKILL)

        assert run.exit_code() == 3
        wait_until(lambda: not is_alive(dd), "the dd ends", WAIT_S)

    assay("clean", directory, check=0)
    assert list(directory.iterdir()) == []


def dds_in(directory: Path) -> list[int]:
    """Processes of dd that write below a directory."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if words[0] == "dd" and any(word.startswith(f"of={directory}/") for word in words):
                found.append(int(folder.name))
    return found


@pytest.mark.usefixtures("assay")
def test_a_stop_prints_the_whole_iterations_and_removes_the_files(directory: Path, tmp_path: Path) -> None:
    with running("perfpl", "4096", "1", "3000", "1000", "1000", "--dir", directory, folder=tmp_path) as run:
        runs = tmp_path / "runs"
        run.wait_for_file(lambda: [e["event"] for e in events_of(runs)].count("phase_finished") >= 4, "4 iterations")
        run.stop(signal.SIGINT)

        assert run.exit_code() == 130

    rows = rows_of((tmp_path / "stdout").read_text())
    assert [row[3] for row in rows[:-1]] == [str(at) for at in range(1, len(rows))]
    assert len(rows) >= 4
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("1048576", "400", "1", "1", "1"), "400 MiB are needed"),
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
        done = assay("perfpl", *words, "--dir", place, check=3)

        assert part in done.stderr
        assert list(place.iterdir()) == []
    finally:
        unmount(place)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("4096", "1", "10", "10"), "required: ITERATIONS"),
        (("4k", "1", "10", "10", "1"), "without a unit"),
        (("4096", "1", "10", "10", "1", "--mode", "forks"), "invalid choice"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_touched(
    words: tuple[str, ...], part: str, assay: Assay, directory: Path
) -> None:
    done = assay("perfpl", *words, cwd=directory, check=2)

    assert part in done.stderr
    assert done.stdout == ""
    assert list(directory.iterdir()) == []
