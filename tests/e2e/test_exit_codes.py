"""One rule for every command: 2 is what the user can mend in words or files, 3 what the machine refuses, 130 a signal."""

import itertools
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.command import COMMAND, TIMEOUT_S, Assay, need_command
from e2e.processes import load_file
from testbed.devices import read_only_mount
from unit.bundle_streams import begun

MEASURING = {
    "quick": "{dir}",
    "run": "{load} {dir}",
    "measure": "{dir} --size 1m --time 0.2s",
    "iozone": "-s 64 -r 4 -i 0 -f {dir}/file",
    "bonnie": "-d {dir} -u root -r 0 -s 1 -n 0",
    "postmark": "{asked}",
    "vxbench": "-w write -i iosize=4k,iocount=4 {dir}/file",
    "perfpl": "4096 2 2 1 1 --dir {dir}",
    "bigdir": "10 2 --dir {dir}",
}
"""Words of each command that measures a directory."""
OF_A_RUN = {
    "show": "{run}",
    "report": "{run} -o {out}/report.html",
    "export": "{run} -o {out}/run.tar.gz",
    "rerun": "{run}",
    "tag": "{run} --tag x",
    "diff": "{run} {run}",
    "clean": "{run}",
}
NOT_CLEAN = [command for command in OF_A_RUN if command != "clean"]
"""Those that take no directory."""
WRITING = {
    "report": "-o {out}/report.html",
    "export": "-o {out}/run.tar.gz",
    "export --charts": "{out}/charts",
    "shims": "{out}/bin",
    "run --runs": "{out}/runs {load} {dir}",
    "iozone": "-s 64 -r 4 -i 0 -f {dir}/file -b {out}/sheet.xls",
}
"""Words of each command that writes somewhere else."""
PRINTING = (
    "--help",
    "suites",
    "ls",
    "ls --json",
    "tag",
    "show",
    "show --json",
    "diff last last",
    "doctor",
    "bonnie --help",
    "measure . --as-toml",
)


def words_of(command: str, words: str, **places: Path | str) -> list[str]:
    """Give the words of a command line."""
    return [*command.split(), *(word.format(**places) for word in words.split())]


def places(tmp_path: Path, directory: Path) -> dict[str, Path | str]:
    """Give what the words above name; all but the directory is there."""
    asked, own = tmp_path / "asked.pm", tmp_path / "own"
    own.mkdir(exist_ok=True)
    asked.write_text(f"set location {directory}\nset size 100 100\nset number 2\nset transactions 2\nrun\nquit\n")
    return {"dir": directory, "load": load_file(tmp_path, seconds="0.2s"), "asked": asked, "out": own}


# Of a session: the tests of a file with fixtures of its own would all run on one worker.
@pytest.fixture(scope="session")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in `runs` and, empty again, the directory that it measured."""
    need_command()
    place = tmp_path_factory.mktemp("once")
    (place / "measured").mkdir()
    Assay(runs=place / "runs")("run", load_file(place, seconds="0.2s"), place / "measured", "--no-report")
    return place


@pytest.fixture
def run(measured_once: Path, assay: Assay, tmp_path: Path) -> Iterator[str]:
    """The name of the only run, beside an empty directory to measure; what that run measured stays empty."""
    shutil.copytree(measured_once / "runs", assay.runs)
    (tmp_path / "measured").mkdir()
    (folder,) = (path for path in assay.runs.iterdir() if path.is_dir())
    yield folder.name
    assert list((measured_once / "measured").iterdir()) == []


@pytest.mark.parametrize("command", [*MEASURING, *OF_A_RUN, "suites", "ls", "doctor", "shims"])
def test_a_word_that_nobody_knows_is_bad_input(command: str, assay: Assay) -> None:
    done = assay(command, "--no-such-word", check=2)

    assert "Traceback" not in done.stderr
    assert command == "postmark" or done.stdout == ""  # PostMark says what it is before it reads a word


@pytest.mark.parametrize("command", [*MEASURING, "doctor", "clean", "shims"])
def test_a_directory_that_is_not_there_is_bad_input(command: str, assay: Assay, tmp_path: Path) -> None:
    words = {**MEASURING, "doctor": "{dir}", "clean": "{dir}", "shims": "{dir}/bin"}[command]
    absent = tmp_path / "absent"

    done = assay(*words_of(command, words, **places(tmp_path, absent)), check=2)

    assert str(absent) in done.stdout + done.stderr
    assert not absent.exists()


@pytest.mark.parametrize(
    ("command", "reference"), [*itertools.product(OF_A_RUN, ["nothing"]), *itertools.product(NOT_CLEAN, ["{out}"])]
)
def test_a_run_that_is_not_there_is_bad_input(command: str, reference: str, assay: Assay, tmp_path: Path) -> None:
    own = places(tmp_path, tmp_path)

    assay(*words_of(command, OF_A_RUN[command], **own, run=reference.format(**own)), check=2)


def test_what_may_not_be_read_is_bad_input(unprivileged: Assay) -> None:
    home = unprivileged.home
    assert home is not None
    closed, unreadable = home / "closed", home / "unreadable.toml"
    closed.mkdir(mode=0o700)
    unreadable.write_text("")
    unreadable.chmod(0o600)
    directory = home / "open"
    directory.mkdir()
    directory.chmod(0o777)

    for words in (
        ("run", unreadable, directory),
        ("postmark", unreadable),
        ("quick", closed),
        ("run", "quick", closed / "below"),
        ("doctor", closed),
        ("clean", closed),
        ("ls", "--runs", closed),
        ("show", "--runs", closed),
        ("show", closed / "run"),
        ("report", closed / "run" / "below"),
    ):
        done = unprivileged(*words)

        assert done.returncode == 2, (words, done.stderr)
        assert "Traceback" not in done.stderr
        assert "no such run" not in done.stderr  # nobody can say that


def test_a_run_whose_events_may_not_be_read_is_bad_input(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    folder = begun(unprivileged.home).path
    (folder / "events").chmod(0)

    done = unprivileged("show", folder, check=2)

    assert "its events cannot be read: Permission denied" in done.stderr


@pytest.mark.testbed
@pytest.mark.parametrize("command", MEASURING)
def test_a_directory_that_cannot_be_written_is_the_machines_no(command: str, assay: Assay, tmp_path: Path) -> None:
    with read_only_mount() as mount_point:
        done = assay(*words_of(command, MEASURING[command], **places(tmp_path, mount_point)), check=3)

    assert f"{mount_point} is on a read-only file system" in done.stdout + done.stderr
    assert "free" not in done.stderr


@pytest.mark.testbed
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("command", WRITING)
def test_a_place_for_files_that_cannot_be_written_is_the_machines_no(
    command: str, assay: Assay, tmp_path: Path
) -> None:
    with read_only_mount() as mount_point:
        own = places(tmp_path, tmp_path / "measured") | {"out": mount_point}
        done = assay(*words_of(command, WRITING[command], **own), check=3)

    assert "Read-only file system" in done.stderr
    assert list((tmp_path / "measured").iterdir()) == []


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("command", PRINTING)
def test_an_answer_that_a_full_disk_refuses_is_the_machines_no(command: str, assay: Assay) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, *command.split()],
            env={**os.environ, "ASSAY_RUNS": str(assay.runs)},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    assert (done.returncode, done.stderr) == (3, "assay: standard output: No space left on device\n")


SIGNALLED = dict(zip([*MEASURING, "rerun", "clean"], itertools.cycle(["INT", "TERM", "HUP"]), strict=False))
"""A signal for each command that starts an engine."""


@pytest.mark.parametrize(("command", "number"), SIGNALLED.items())
def test_a_signal_ends_every_command_that_runs_an_engine_alike(
    command: str, number: str, assay: Assay, run: str, tmp_path: Path
) -> None:
    directory = tmp_path / "measured"
    (directory / "assay-data").mkdir()
    engine = tmp_path / "engine"
    # The signal comes as the engine begins; what it is asked then goes on for longer than that.
    engine.write_text(f"#!/bin/sh\nkill -{number} $PPID\nexec '{COMMAND.with_name('assay-engine')}'\n")
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    words = {**MEASURING, "rerun": "{run}", "clean": "{dir}"}[command]

    done = assay(
        *words_of(command, words, **places(tmp_path, directory), run=run), env={"ASSAY_ENGINE": str(engine)}, check=130
    )

    assert "Traceback" not in done.stderr
    assert len([path for path in assay.runs.iterdir() if path.is_dir()]) == 1


@pytest.mark.parametrize("command", [*MEASURING, "rerun"])
@pytest.mark.parametrize("words", ["--name last", "--name a/b", "--tag x,y", "--name {run}"])
def test_a_name_that_no_run_can_have_is_bad_input_before_anything_is_done(
    command: str, words: str, assay: Assay, run: str, tmp_path: Path
) -> None:
    own = places(tmp_path, tmp_path / "measured")

    done = assay(*words_of(command, f"{ {**MEASURING, **OF_A_RUN}[command] } {words}", **own, run=run), check=2)

    assert "Traceback" not in done.stderr
    assert len([path for path in assay.runs.iterdir() if path.is_dir()]) == 1
    assert list((tmp_path / "measured").iterdir()) == []


@pytest.mark.parametrize("command", ["measure", "bigdir"])
def test_a_number_that_is_trusted_less_than_required_ends_with_one(command: str, assay: Assay, tmp_path: Path) -> None:
    """What is so short is weak at best, whatever the machine."""
    words = (command, *MEASURING[command].format(dir=tmp_path).split())

    told = assay(*words, "--require-trust", "yes", check=1).stderr

    assert re.search(r"^--require-trust yes: ([1-9]) of \1 results are trusted less$", told, re.MULTILINE)
    assert "--require-trust" in assay(*words, "--require-trust", "much", check=2).stderr
