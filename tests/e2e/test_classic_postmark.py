"""`assay postmark` on real directories, held against what Debian's postmark 1.53 printed and, where it is there, prints."""

import collections
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.errors import INTERRUPTED
from e2e.command import COMMAND, MEASURED, TIMEOUT_S, Assay
from e2e.processes import running
from testbed.devices import MIB, tmpfs
from testbed.host import command

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "postmark"
RECORDED = sorted(GOLDEN.glob("*.pm"))


def masked(text: str) -> str:
    """A text without what was measured: seconds, and all that was divided by them."""
    text = re.sub(r"\t[0-9]+ seconds", "\t# seconds", text)
    text = re.sub(r"\([0-9.]+ (\w+ )?per second\)", "(# per second)", text)
    return re.sub(r"(?m)^[0-9]+ [0-9]+( [0-9]+\.[0-9]{2}){11}$", "# terse", text)


def commands(folder: Path, text: str) -> Path:
    path = folder / "asked.pm"
    path.write_text(text)
    return path


def postmark(assay: Assay, directory: Path, *args: str | Path, check: int) -> subprocess.CompletedProcess[str]:
    return assay("postmark", "--no-report", *args, cwd=directory, check=check)


def measured(assay: Assay, directory: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return assay.measured("postmark", "--no-report", *args, cwd=directory)


def runs(assay: Assay) -> list[dict[str, Any]]:
    """Result documents of all runs, in order."""
    folders = sorted(path for path in assay.runs.iterdir() if path.is_dir())
    return [json.loads(assay("show", path, "--json", check=0).stdout) for path in folders]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_output_is_that_of_the_original_but_for_what_was_measured(
    path: Path, assay: Assay, directory: Path
) -> None:
    shutil.copy(path, directory)

    done = measured(assay, directory, path.name)

    expected = path.with_suffix(".txt").read_text().replace("DIRECTORY", str(directory))
    assert masked(done.stdout) == masked(expected)
    assert [entry.name for entry in directory.iterdir()] == [path.name]


def test_the_bundle_has_each_operation_as_a_whole_with_its_bytes(assay: Assay, directory: Path) -> None:
    measured(assay, directory, commands(directory, "run\nquit\n"))

    (document,) = runs(assay)

    counted = {
        (r["phase"], r["operation"]): (r["ops"], r["errors"]) for r in document["results"] if r["operation"] != "*"
    }
    assert counted == {
        ("create", "create"): (500, 0),
        ("transactions", "create"): (264, 0),
        ("transactions", "read"): (243, 0),
        ("transactions", "append"): (257, 0),
        ("transactions", "delete"): (236, 0),
        ("delete", "delete"): (528, 0),
    }
    moved = collections.Counter[str]()
    for result in document["results"]:
        moved[result["operation"]] += result["bytes"]
    assert (moved["read"], moved["create"] + moved["append"]) == (1_430_770, 4_662_068)
    assert all(result["latency_ns"]["mean"] > 0 for result in document["results"])


def test_the_true_rates_stand_beside_the_text(assay: Assay, directory: Path) -> None:
    begun_s = time.monotonic()
    done = measured(assay, directory, commands(directory, "run\nquit\n"))
    wall_s = time.monotonic() - begun_s

    heads, row = done.stderr[done.stderr.index("config ") :].splitlines()[:2]
    assert heads.split()[:4] == ["config", "Time", "IOPS", "Creation"]
    seconds, iops = (float(word) for word in row.split()[1:3])
    assert 0 < seconds < wall_s
    assert "by nanosecond clocks" in row
    assert iops > 500 / wall_s
    assert "(500 per second)" in done.stdout or seconds > 1


def test_a_report_goes_to_the_end_of_its_file(assay: Assay, directory: Path) -> None:
    report = directory / "report"
    report.write_text("before\n")
    asked = commands(directory, f"set number 5\nset transactions 10\nshow {report}\nrun {report}\nquit\n")

    done = measured(assay, directory, asked)

    assert done.stdout.endswith("Deleting files...Done\n")
    text = report.read_text()
    assert text.startswith("before\nCurrent configuration is:\nThe base number of files is 5\n")
    assert "Time:\n\t" in text
    assert text.count("8 created") == 1


def test_a_rerun_and_a_second_look_print_the_same_counts(assay: Assay, directory: Path) -> None:
    first = measured(assay, directory, commands(directory, "set number 20\nrun\nquit\n"))

    again = assay.measured("rerun", "last", "--no-report")
    shown = assay("show", "last", "--classic", check=0)

    said = first.stdout[first.stdout.index("Creating files") :]
    assert masked(again.stdout) == masked(said)
    assert shown.stdout == again.stdout


def test_json_is_one_document_and_nothing_else(assay: Assay, directory: Path) -> None:
    done = measured(assay, directory, commands(directory, "show\nrun\nquit\n"), "--json")

    assert json.loads(done.stdout)["results"][0]["operation"] == "create"


def test_files_go_to_their_locations_and_directories(assay: Assay, directory: Path) -> None:
    for name in ("one", "two words"):
        (directory / name).mkdir()
    asked = (
        f"set location {directory}/one 2\nset location +{directory}/two words\nset subdirectories 3\nset number 30\n"
    )

    done = measured(assay, directory, commands(directory, f"{asked}show\nrun\nquit\n"))

    assert f"Working directories: \n\t{directory}/one (weight=2)\n\t{directory}/two words (weight=1)\n" in done.stdout
    (document,) = runs(assay)
    created = sum(r["ops"] for r in document["results"] if r["operation"] == "create")
    assert f"\t{created} created" in done.stdout
    assert {r["target"] for r in document["results"]} == {"location1, location2"}
    assert sorted(path.name for path in directory.rglob("*") if path.is_dir()) == ["one", "two words"]


def test_own_commands_are_read_and_what_is_piped_is_answered_at_prompts(assay: Assay, directory: Path) -> None:
    (directory / ".pmrc").write_text("set number 7\n")

    done = subprocess.run(
        [COMMAND, "postmark"],
        cwd=directory,
        env={**os.environ, "ASSAY_RUNS": str(assay.runs)},
        input="set transactions 12\nshow\n?\nexit\n",
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("PostMark v1.51 : 8/14/01\nReading configuration from file '.pmrc'\npm>pm>Current")
    assert "base number of files is 7\nTransactions: 12\n" in done.stdout
    assert done.stdout.endswith("\npm>")
    assert not assay.runs.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set number 10x\nrun\n", "asked.pm:1: Error: invalid number of files ('10x' is not a whole number above 0)"),
        ("\n# a note\nset tranactions 5\nrun\n", "asked.pm:3: 'set tranactions 5' is not a command"),
        ("load /not/there\nrun\n", "Error: cannot read configuration file '/not/there'"),
        ("load /dev/zero\nrun\n", "'/dev/zero' is a device; a file of commands is a regular file"),
        ("load asked.pm\n", "do they load themselves?"),
        ("!touch made\nrun\n", "asked.pm:1: '!touch made': programs are started at the interactive prompt only"),
        ("run /not/there/report\n", "Error: Cannot direct output to file '/not/there/report'"),
        ("set location /not/there\nrun\n", "/not/there does not exist"),
        ("set size 1 2000000000\nrun\n", "at most 1 GiB"),
    ],
)
def test_what_a_file_gets_wrong_is_said_with_its_line_and_nothing_is_run(
    text: str, said: str, assay: Assay, directory: Path
) -> None:
    commands(directory, text)

    done = postmark(assay, directory, "asked.pm", check=2)

    assert said in done.stderr
    assert not assay.runs.exists()
    assert [entry.name for entry in directory.iterdir()] == ["asked.pm"]


@pytest.mark.parametrize(
    ("args", "said"), [(["a", "b"], "give one file"), (["missing"], "cannot read"), (["--runs"], "--runs")]
)
def test_wrong_arguments_are_refused(args: Sequence[str], said: str, assay: Assay, directory: Path) -> None:
    assert said in postmark(assay, directory, *args, check=2).stderr


def test_programs_are_started_for_a_person_at_a_terminal(assay: Assay, directory: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"set number 10x\n!echo started > made\nexit\n")
    try:
        done = subprocess.run(
            [COMMAND, "postmark"],
            cwd=directory,
            env={**os.environ, "ASSAY_RUNS": str(assay.runs)},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)

    assert (directory / "made").read_text() == "started\n"
    assert done.stdout == "PostMark v1.51 : 8/14/01\npm>pm>pm>"
    assert done.stderr == "Error: invalid number of files ('10x' is not a whole number above 0)\n"


def test_what_does_not_fit_is_refused_before_a_file_is_made(assay: Assay, directory: Path) -> None:
    with tmpfs(300 * MIB) as memory:
        asked = commands(directory, f"set location {memory}\nset size 1000000 1000000\nset number 200\nrun\nquit\n")

        done = postmark(assay, directory, asked, check=3)

        assert "above the reserve of 256 MiB" in done.stderr
        assert "set number" in done.stderr
        assert not any(memory.iterdir())


def test_a_full_file_system_ends_the_run_with_what_was_measured(assay: Assay, directory: Path) -> None:
    with tmpfs(400 * MIB) as memory:
        command("mount", "-o", "remount,nr_inodes=120", memory)
        asked = commands(directory, f"set location {memory}\nset number 200\nrun\nquit\n")

        done = postmark(assay, directory, asked, check=3)

        assert "no space left on the device" in done.stderr
        assert "create: open" in done.stderr
        assert re.search(r"Creating files\.\.\.\nTime:\n", done.stdout)
        assert not any(memory.iterdir())
    (document,) = runs(assay)
    (created,) = (r for r in document["results"] if r["phase"] == "create")
    assert 80 < created["ops"] < 120
    assert created["errors"] == 1


def test_an_interrupted_run_prints_how_far_it_came(directory: Path, tmp_path: Path) -> None:
    text = f"set location {directory}\nset number 2000\nset transactions 300000\nrun\nquit\n"
    asked = commands(tmp_path, text)

    with running("postmark", asked, "--no-report", folder=tmp_path) as started:
        started.wait_for("Transactions")
        started.stop(signal.SIGINT)
        code = started.exit_code()

    assert code == INTERRUPTED
    said = (tmp_path / "stdout").read_text()
    assert "Creating files...Done\nPerforming transactions" in said
    assert re.search(r"\t[0-9]+ created", said)
    assert not (directory / "assay-data").exists()


# -- beside the original -----------------------------------------------------------------------------------------------

CALLS = (
    "openat",
    "openat2",
    "close",
    "read",
    "write",
    "lseek",
    "unlink",
    "unlinkat",
    "newfstatat",
    "pread64",
    "pwrite64",
)
KINDS = {"openat2": "openat", "unlinkat": "unlink"}
"""Calls that are another with more rules for the way to the file."""


def calls_of(directory: Path, argv: Sequence[str | Path], env: dict[str, str]) -> collections.Counter[str]:
    """System calls on the load's files: those on a name that is a number, and on the descriptor that it was opened as."""
    log = directory / "strace"
    log.mkdir()
    names = ",".join(CALLS)
    done = subprocess.run(
        ["strace", "-ff", "-qq", "-s", "0", "-e", f"trace={names}", "-o", log / "of", *argv],
        cwd=directory,
        env=env,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode in MEASURED, done.stderr
    found: collections.Counter[str] = collections.Counter()
    # A file for each thread: its lines are whole.
    for lines in log.iterdir():
        opened: set[str] = set()
        for line in lines.read_text().splitlines():
            match = re.match(r"(\w+)\((?:AT_FDCWD, )?(.*?)[,)](.*)", line)
            if match is None:
                continue
            name, first, rest = match.groups()
            name = KINDS.get(name, name)
            # The original gives the whole path, the engine the name in the folder that it works in.
            if re.fullmatch(rf'"(?:{re.escape(str(directory))}/)?[0-9]+"', first):
                found[name] += 1
                if name == "openat":
                    opened.add(rest.rpartition(" = ")[2])
            elif first in opened:
                found[name] += 1
                if name == "close":
                    opened.discard(first)
    shutil.rmtree(log)
    return found


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory with a short name: the original keeps at most 80 characters of a path (MAX_FILENAME of postmark.c)."""
    with tempfile.TemporaryDirectory(prefix="assay-") as name:
        yield Path(name)


@pytest.mark.parametrize("buffering", ["true", "false"])
def test_the_system_calls_are_those_of_the_original(buffering: str, assay: Assay, short: Path, tmp_path: Path) -> None:
    for tool in ("postmark", "strace"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs the Debian package {tool}")
    text = f"set buffering {buffering}\nset number 50\nset transactions 200\nset location {short}\nrun\nquit\n"
    asked = commands(tmp_path, text)
    env = {**os.environ, "ASSAY_RUNS": str(assay.runs)}

    theirs = calls_of(short, ["postmark", asked], env)
    ours = calls_of(short, [COMMAND, "postmark", asked, "--no-report"], env)

    if buffering == "false":
        # Positioned calls here; and there an empty one where a size divides by the block.
        ours = collections.Counter({name.removeprefix("p").removesuffix("64"): count for name, count in ours.items()})
    assert set(ours) == set(theirs)
    for name, count in theirs.items():
        assert ours[name] == pytest.approx(count, rel=0.02), name
