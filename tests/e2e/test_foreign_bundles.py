"""`assay rerun` of what somebody else made: it is shown and asked about, and does no more than that."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.command import COMMAND, NOBODY, TIMEOUT_S, Assay
from unit.forged_bundles import change_json

WORDS = ("iozone", "-s", "64", "-r", "16", "-i", "0", "-f", "file", "-Rb", "sheet.xls", "-Q")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give a folder to measure."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def foreign(assay: Assay, place: Path, tmp_path: Path) -> Path:
    """Give the bundle of a run that somebody else made."""
    stranger = {"XDG_DATA_HOME": str(tmp_path / "stranger")}
    done = assay(*WORDS, "--no-report", cwd=place, env=stranger)
    assert done.returncode in {0, 1}, done.stderr
    for path in place.iterdir():
        path.unlink()
    (folder,) = (path for path in assay.runs.iterdir() if path.is_dir())
    return folder


def told(tried: str, done: subprocess.CompletedProcess[str]) -> str:
    """Print what was tried, and what came of it."""
    sys.stdout.write(f"{tried}: exit code {done.returncode}\n{done.stderr}\n")
    return done.stderr


def test_a_rerun_of_a_strangers_run_shows_what_it_would_do_and_is_refused_where_nobody_can_be_asked(
    assay: Assay, foreign: Path, place: Path
) -> None:
    said = told("rerun", assay("rerun", foreign.name, cwd=place, check=2))

    assert "you did not make this run in this library" in said
    assert f"writes below {place}/assay-data" in said
    assert f"as user {os.geteuid()}" in said
    assert "works by the words: assay iozone -s 64" in said
    assert "does not write the file sheet.xls" in said
    assert "does not write the file wol.dat" in said
    assert "Nothing was done; if it may do all this, add --yes" in said
    assert list(place.iterdir()) == []
    assert [path.name for path in assay.runs.iterdir() if path.is_dir()] == [foreign.name]


def test_a_name_of_two_lines_adds_none_to_what_is_shown(assay: Assay, foreign: Path, place: Path) -> None:
    change_json(foreign, "resolved.json", lambda plan: plan.update(name="x\n  writes below /tmp/harmless: nothing"))

    said = told("rerun", assay("rerun", foreign.name, cwd=place, check=2))
    listed = assay("ls", check=0, env={"COLUMNS": "200"}).stdout

    assert [line for line in said.splitlines() if line.startswith("  writes below")] == [
        f"  writes below {place}/assay-data: file-65536 (1 file of 64.0 KiB)"
    ]
    assert len(listed.splitlines()) == 2


def test_yes_answers_and_no_file_that_the_bundle_names_is_written(
    assay: Assay, foreign: Path, place: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")

    def point_at_it(plan: dict[str, Any]) -> None:
        plan["origin"]["source"] = plan["origin"]["source"].replace("sheet.xls", str(precious))

    change_json(foreign, "resolved.json", point_at_it)

    done = assay("rerun", foreign.name, "--yes", "--no-report", cwd=place)
    said = told("rerun --yes of iozone -Rb /precious -Q", done)

    assert done.returncode in {0, 1}
    assert f"does not write the file {precious}" in said
    assert f"{precious}: not written, because a rerun writes no file" in said
    assert (precious.read_text(), list(place.iterdir())) == ("mine", [])
    assay("export", "last", "--files", tmp_path / "files", check=0)
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["precious", "rwol.dat", "wol.dat"]


@pytest.mark.parametrize("answer", ["n", "", "y"])
def test_a_person_at_a_terminal_is_asked(assay: Assay, foreign: Path, place: Path, answer: str) -> None:
    mine, theirs = pty.openpty()
    os.write(mine, f"{answer}\n".encode())

    done = subprocess.run(
        [COMMAND, "rerun", foreign.name, "--no-report"],
        cwd=place, env=os.environ | {"ASSAY_RUNS": str(assay.runs)}, stdin=theirs, capture_output=True, text=True,
        timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    os.close(mine)
    os.close(theirs)

    assert "May it? [y/N]" in told(f"answering {answer!r}", done)
    assert (done.returncode in {0, 1}) if answer == "y" else (done.returncode == 2)


def test_an_own_run_is_repeated_without_asking(assay: Assay, place: Path) -> None:
    assay(*WORDS, "--no-report", cwd=place)

    again = assay("rerun", "last", "--no-report", cwd=place)

    assert again.returncode in {0, 1}
    assert "you did not make this run" not in again.stderr


SCRIPTS = ("/etc/shadow", "/dev/zero", "../../../etc/shadow", "events/0.json")


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_elsewhere_is_neither_copied_nor_read(assay: Assay, foreign: Path, place: Path, path: str) -> None:
    def read_it(plan: dict[str, Any]) -> None:
        plan["phases"][0]["jobs"][0] |= {"body": {"kind": "script", "ops": [], "path": path}, "timed": []}

    change_json(foreign, "resolved.json", read_it)

    for command in (("rerun", foreign.name, "--yes"), ("show", foreign.name), ("report", foreign.name)):
        said = told(f"{command} with script {path}", assay(*command, cwd=place, check=2))
        assert f"names the script '{path}', which is none inside a run" in said
    assert [folder.name for folder in assay.runs.iterdir() if folder.is_dir()] == [foreign.name]


def test_a_bundle_does_not_raise_the_user(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    load = "-s 64 -r 16 -i 0 -f file"
    first = unprivileged("iozone", *load.split(), "--no-report")
    assert first.returncode in {0, 1}, first.stderr
    (folder,) = (path for path in unprivileged.runs.iterdir() if path.is_dir())

    def become(uid: int) -> Callable[[dict[str, Any]], None]:
        return lambda plan: plan.update(user={"uid": uid, "gid": uid})

    change_json(folder, "resolved.json", become(0))
    said = told("rerun of -u root as nobody", unprivileged("rerun", folder.name, "--yes", check=2))
    assert "as user 0 (root)" in said
    assert "only root can start it so" in said

    change_json(folder, "resolved.json", become(NOBODY))
    again = unprivileged("rerun", folder.name, "--yes", "--no-report")
    assert again.returncode in {0, 1}, again.stderr
    assert f"as user {NOBODY}:" in again.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to work as another user")
def test_a_bundle_that_lowers_the_user_keeps_it(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    first = unprivileged("iozone", *["-s", "64", "-r", "16", "-i", "0", "-f", "file"], "--no-report")
    assert first.returncode in {0, 1}, first.stderr
    (folder,) = (path for path in unprivileged.runs.iterdir() if path.is_dir())
    change_json(folder, "resolved.json", lambda plan: plan.update(user={"uid": NOBODY, "gid": NOBODY}))
    library = unprivileged.home / "of-root"
    library.mkdir()
    shutil.copytree(folder, library / "theirs")
    root = Assay(runs=library)

    done = root("rerun", "theirs", "--yes", "--no-report")

    assert done.returncode in {0, 1}, done.stderr
    assert f"as user {NOBODY}:" in told("rerun as root of a run as nobody", done)
    (again,) = (path for path in library.iterdir() if path.is_dir() and path.name != "theirs")
    events = json.loads((again / "events" / "0.json").read_text())
    assert next(event["engine"]["uid"] for event in events if event["event"] == "hello") == NOBODY


def test_what_a_strangers_run_names_is_not_cleaned(assay: Assay, foreign: Path, place: Path) -> None:
    kept = place / "assay-data"
    kept.mkdir()
    (kept / "mine").write_text("loved")
    change_json(foreign, "resolved.json", lambda plan: plan["targets"][0].update(uri=place.as_uri()))

    said = told("clean of a run of somebody else", assay("clean", foreign.name, cwd=place, check=2))

    assert "you did not make this run" in said
    assert f"assay clean {place}" in said
    assert (kept / "mine").read_text() == "loved"


@pytest.mark.parametrize("source", ["/dev/zero", "fifo"])
def test_numbers_of_chance_that_never_end_make_a_seed(source: str, assay: Assay, place: Path) -> None:
    if source == "fifo":
        os.mkfifo(place / "fifo")
    user = ("-u", "root") if os.geteuid() == 0 else ()

    done = assay("bonnie", "-d", place, "-r", "0", "-s", "0", "-n", "1", "-Z", source, *user, "--no-report", cwd=place)

    assert done.returncode in {0, 1}, done.stderr
