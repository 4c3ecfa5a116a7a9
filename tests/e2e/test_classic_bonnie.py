"""`assay bonnie` on a real directory: counts against what was asked for, against bonnie++ itself, and its bad days."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bonnie_lines import parse_line
from e2e.command import COMMAND, Assay
from e2e.processes import WAIT_S, events_of
from testbed.host import wait_until

AS_ROOT = ("-u", "root") if os.geteuid() == 0 else ()
SMALL = (*AS_ROOT, "-r", "0", "-s", "4", "-n", "1", "-f", "-m", "box", "--no-report")
"""4 MiB in 512 chunks, 8192 seeks, 1024 files, nothing byte by byte."""

LOAD_CALLS = (
    "read,write,pread64,pwrite64,lseek,unlink,unlinkat,newfstatat,stat,getdents64,fsync,open,openat,openat2,creat"
)

MASKED = """\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
box              4M           RRRRR CCC RRRRR CCC           RRRRR CCC RRRRR CCC
Latency             LLLLLLLLL LLLLLLLLL LLLLLLLLL LLLLLLLLL LLLLLLLLL LLLLLLLLL
Version 2.00a       ------Sequential Create------ --------Random Create--------
box                 -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                  1 RRRRR CCC RRRRR CCC RRRRR CCC RRRRR CCC RRRRR CCC RRRRR CCC
"""


def bonnie(assay: Assay, *words: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    """Run it; on a busy machine a number may be measured and not trusted (1)."""
    done = assay("bonnie", *words)
    assert done.returncode in {0, 1}, done.stderr
    return done


def tables(runs: Path) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Intervals of the only run, and its phases."""
    (bundle,) = (path for path in runs.iterdir() if path.is_dir())
    phases = json.loads((bundle / "resolved.json").read_text())["phases"]
    return pl.read_parquet(bundle / "intervals.parquet"), phases


def masked(line: str) -> str:
    """A row of rates with every measured cell masked, blank ones left."""
    cells = [line[at : at + 9] for at in range(20, 79, 10)]
    shown = [
        "RRRRR CCC" if re.fullmatch(r"(\+{5} \+{3}|[ \d.]{3,4}[\dkmg] [ \d]{2}\d)", cell) else cell for cell in cells
    ]
    return line[:20] + " ".join(shown)


def test_the_output_is_bonnie_s_and_the_counts_are_those_asked_for(assay: Assay, tmp_path: Path) -> None:
    done = bonnie(assay, "-d", tmp_path, *SMALL)

    *table, line = done.stdout.splitlines()
    expected = MASKED.splitlines()
    assert [masked(table[3]), masked(table[8])] == [expected[3], expected[8]]
    assert [table[at] for at in (0, 1, 2, 5, 6, 7)] == [expected[at] for at in (0, 1, 2, 5, 6, 7)]
    assert table[4].startswith("Latency   ")
    assert len(table) == 10
    read = parse_line(line)
    assert (read.format_version, read.machine, read.size, read.files) == ("1.98", "box", "4M", "1")
    assert set(read.cells) == {
        *("block_write", "rewrite", "block_read", "random_seeks"),
        *("seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete"),
    }

    intervals, phases = tables(assay.runs)
    counted = {
        (phases[index]["name"], operation): (ops, moved)
        for index, operation, ops, moved in intervals.group_by("phase_index", "operation")
        .agg(pl.col("ops").sum(), pl.col("bytes").sum())
        .iter_rows()
    }
    assert counted["block_write", "write"] == (512, 4 << 20)
    assert counted["rewrite", "chunk"] == (512, 8 << 20)
    assert counted["block_read", "read"] == (512, 4 << 20)
    assert counted["random_seeks", "seek"][0] == 8192
    files = [(part, test) for part in ("seq", "ran") for test in ("create", "stat", "delete")]
    assert [counted[f"{part}_{test}", test][0] for part, test in files] == [1024] * 6
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("version", ["1.03", "1.96", "2.00"])
def test_every_version_prints_a_line_that_can_be_read(assay: Assay, tmp_path: Path, version: str) -> None:
    done = bonnie(assay, "--format", version, "-d", tmp_path, *SMALL, "-q")

    assert len(done.stdout.splitlines()) == 1
    assert len(parse_line(done.stdout).cells) == 10
    assert "Sequential Create" in done.stderr
    again = assay("show", "last", "--classic", check=0)
    assert again.stdout == done.stdout


@pytest.mark.skipif(shutil.which("bon_csv2html") is None, reason="needs bonnie++'s own readers")
def test_bonnie_s_own_readers_take_the_line(assay: Assay, tmp_path: Path) -> None:
    line = bonnie(assay, "-d", tmp_path, *SMALL, "-q", "-n", "1:0:0:4").stdout

    for reader in ("bon_csv2html", "bon_csv2txt"):
        read = subprocess.run([reader], input=line, capture_output=True, text=True, check=True)
        assert read.stderr == ""
        assert "box" in read.stdout
    # The last reader's: files and directories are where it looks for them.
    assert "1:0:0/4" in read.stdout or "1/4" in read.stdout


def load_calls(command: list[str], directory: Path, trace: Path) -> Counter[str]:
    """Calls that a program made on what lies in a directory, by kind."""
    strace = ["strace", "-f", "-y", "-qq", "-s", "4", "-e", f"trace={LOAD_CALLS}", "-o", str(trace), *command]
    done = subprocess.run(strace, capture_output=True, text=True, check=False, timeout=WAIT_S, stdin=subprocess.DEVNULL)
    assert done.returncode in {0, 1}, done.stderr
    kinds = {"unlinkat": "unlink", "newfstatat": "stat", "open": "openat", "openat2": "openat", "creat": "openat"}
    # unlink(2) names no directory that strace could add; nothing else in either program removes many files.
    place = re.escape(str(directory))
    found: Counter[str] = Counter()
    for line in trace.read_text().splitlines():
        call = re.match(rf"\d+ +(?:(\w+)\(.*{place}[/>\"]|(unlink)\()", line)
        # A directory that is opened for its listing is looked at by opendir(3).
        if call and not re.match(rf"\d+ +newfstatat\(\d+<{place}", line):
            name = call[1] or call[2]
            found[kinds.get(name, name)] += 1
    return found


@pytest.mark.skipif(not (shutil.which("bonnie++") and shutil.which("strace")), reason="needs bonnie++ and strace")
def test_the_load_makes_the_calls_of_the_original_in_kind_and_number(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs_in, ours_in = tmp_path / "theirs", tmp_path / "ours"
    theirs_in.mkdir()
    ours_in.mkdir()
    options = [option for option in SMALL if option != "--no-report"]
    monkeypatch.setenv("ASSAY_RUNS", str(assay.runs))

    theirs = load_calls(["bonnie++", "-d", str(theirs_in), *options, "-q"], theirs_in, tmp_path / "theirs.trace")
    ours = load_calls([str(COMMAND), "bonnie", "-d", str(ours_in), *SMALL], ours_in, tmp_path / "ours.trace")

    assert theirs["unlink"] > 2048
    assert not ours["pread64"]
    assert not ours["pwrite64"]
    for kind in ("read", "write", "lseek", "unlink", "stat"):
        # Writes: one seek in ten is an update by chance, 819 of 8192 with a deviation of 27.
        room = 0.08 if kind == "write" else 0.02
        assert ours[kind] == pytest.approx(theirs[kind], rel=room), (kind, theirs, ours)


def _phases_ended(runs: Path) -> int:
    return sum(event["event"] == "phase_finished" for event in events_of(runs))


def test_an_interrupted_run_leaves_nothing_and_prints_what_it_had(assay: Assay, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    command = [COMMAND, "bonnie", "-d", place, *SMALL[:-1], "-x", "50", "--no-report"]
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    # A pass has ten phases.
    wait_until(lambda: _phases_ended(assay.runs) > 10 or running.poll() is not None, "a whole pass")

    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=WAIT_S)

    assert running.returncode == 130, errors
    assert list(place.iterdir()) == []
    head, *lines = output.splitlines()
    assert head.startswith("format_version,")
    assert 1 <= len(lines) < 50
    assert parse_line(lines[0]).cells


def test_a_size_that_would_fill_the_file_system_is_refused_before_anything_is_written(
    assay: Assay, tmp_path: Path
) -> None:
    free_gib = shutil.disk_usage(tmp_path).free >> 30

    done = assay("bonnie", "-d", tmp_path, *AS_ROOT, "-r", "0", "-s", f"{free_gib + 1}g", "-n", "0", check=3)

    assert "above the reserve of 256 MiB" in done.stderr
    assert "use a smaller -s or -n" in done.stderr
    assert not (tmp_path / "assay-data").exists()


def test_a_file_system_without_names_left_ends_the_run_and_keeps_what_was_measured(
    assay: Assay, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a file system")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m,nr_inodes=300", "none", place], check=True)
    try:
        done = assay("bonnie", "-d", place, *SMALL, check=3)

        assert "no space left" in done.stderr.lower()
        line = done.stdout.splitlines()[-1]
        assert set(parse_line(line).cells) == {"block_write", "rewrite", "block_read", "random_seeks"}
        assert list(place.iterdir()) == []
    finally:
        subprocess.run(["umount", place], check=True)


def test_wrong_arguments_end_with_2_and_words(assay: Assay) -> None:
    for words, part in [
        (("-s", "12x"), "whole number"),
        (("-d", "/no/such/place"), "does not exist"),
        (("-u", "no-such-user"), "no user of that name"),
    ]:
        done = assay("bonnie", *AS_ROOT, "-r", "0", *words, check=2)
        assert part in done.stderr


def test_root_says_who_works_and_a_directory_of_another_user_is_not_written_to(
    assay: Assay, tmp_path: Path, unprivileged: Assay
) -> None:
    home = unprivileged.home
    assert home is not None
    refused = assay("bonnie", "-d", tmp_path, "-r", "0", "-s", "4", check=2)
    as_nobody = bonnie(assay, "-d", home, *SMALL[2:], "-u", "nobody", "-s", "0")
    closed = assay("bonnie", "-d", tmp_path, *SMALL[2:], "-u", "nobody", "-s", "0", check=3)

    assert '"-u" switch' in refused.stderr
    assert len(as_nobody.stdout.splitlines()) > 1
    assert str(tmp_path) in closed.stderr
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "runs"] == []


def test_with_json_the_tests_that_wait_for_a_line_are_named_on_standard_error(assay: Assay, tmp_path: Path) -> None:
    asked = [
        assay.measured("bonnie", "-d", tmp_path, *SMALL, "-s", "0", "-y", "p", *json_) for json_ in ((), ("--json",))
    ]

    numbers = [re.findall(r"^([0-9]+):$", text, re.MULTILINE) for done in asked for text in (done.stdout, done.stderr)]
    assert numbers == [[*"6789", "10", "11"], [], [], [*"6789", "10", "11"]]
    assert json.loads(asked[1].stdout)["schema"] == "assay.results/1"


@pytest.mark.xdist_group("bonnie semaphore")
def test_runs_wait_for_each_other_and_for_the_original_s_processes(assay: Assay, tmp_path: Path) -> None:
    if shutil.which("bonnie++") is None:
        pytest.skip("needs bonnie++")
    theirs_in, ours_in = tmp_path / "theirs", tmp_path / "ours"
    theirs_in.mkdir()
    ours_in.mkdir()
    made = assay("bonnie", *AS_ROOT, "-p", "2", check=0)
    try:
        options = [option for option in SMALL if option != "--no-report"]
        theirs = subprocess.Popen(
            ["bonnie++", "-d", theirs_in, *options, "-s", "0", "-y", "s"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        time.sleep(3)
        waited = theirs.poll() is None
        ours = bonnie(assay, "-d", ours_in, *SMALL, "-s", "0", "-y", "s")
        theirs.communicate(timeout=WAIT_S)

        assert made.stdout == "Creating semaphore for 2 procs.\n"
        assert waited
        assert len(parse_line(ours.stdout.splitlines()[-1]).cells) == 6
        assert theirs.returncode == 0
    finally:
        assay("bonnie", *AS_ROOT, "-p", "-1")
