"""What lies in a directory before a run, or in Assay's own folder, and is not Assay's: it stays as it is."""

import os
import sys
from pathlib import Path

import pytest

from e2e.command import Assay

LOAD = """
name = "small"
[[file_set]]
name = "data"
files = 2
size = "64KiB"
{keep}
[[phase]]
name = "read"
seconds = "0.2s"
[[phase.job]]
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""


def load_file(folder: Path, keep: str = "") -> Path:
    """A load of one small set."""
    path = folder / f"small{keep[:4]}.toml"
    path.write_text(LOAD.format(keep=keep))
    return path


@pytest.mark.parametrize("holds", [(), (".lock",), ("thesis.txt", "data.bak")])
def test_a_folder_and_files_of_the_users_own_stay(
    holds: tuple[str, ...], assay: Assay, directory: Path, tmp_path: Path
) -> None:
    folder = directory / "assay-data"
    folder.mkdir()
    for name in holds:
        (folder / name).write_text("mine")

    for words in (("run", load_file(tmp_path), directory, "--no-report"), ("clean", directory), ("doctor", directory)):
        assay(*words)

    assert sorted(path.name for path in folder.iterdir()) == sorted(holds)
    assert {(folder / name).read_text() for name in holds} <= {"mine"}


def test_quick_does_not_take_away_a_set_that_was_to_be_kept(assay: Assay, directory: Path, tmp_path: Path) -> None:
    assay.measured("run", load_file(tmp_path, "keep = true"), directory, "--no-report")
    kept = sorted((path, path.stat().st_ino) for path in (directory / "assay-data" / "data").iterdir())

    refused = [
        assay("run", load_file(tmp_path), directory, "--no-report", check=3).stderr,
        assay("quick", directory, "--size", "16MiB", "--time", "8s", "--no-report").stderr,
    ]

    sys.stdout.write("".join(refused))
    assert "was asked to keep" in refused[0]
    assert "assay clean" in refused[0]
    assert sorted((path, path.stat().st_ino) for path in (directory / "assay-data" / "data").iterdir()) == kept
    assay("clean", directory, check=0)
    assert not (directory / "assay-data").exists()


@pytest.mark.parametrize(
    "words", [("clean", ""), ("quick", ""), ("doctor", ""), ("bonnie", "-d", ""), ("bigdir", "9", "9", "--dir", "")]
)
def test_an_empty_name_is_no_directory(words: tuple[str, ...], assay: Assay, directory: Path) -> None:
    user = ("-u", "root") if words[0] == "bonnie" and os.geteuid() == 0 else ()

    done = assay(*words, *user, cwd=directory, check=2)

    sys.stdout.write(f"{words}: {done.stderr}")
    assert "empty" in done.stderr
    assert list(directory.iterdir()) == []


def test_an_empty_name_is_no_directory_for_a_load(assay: Assay, directory: Path, tmp_path: Path) -> None:
    assert "empty" in assay("run", load_file(tmp_path), "", cwd=directory, check=2).stderr
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("plant", ["fifo", "link", "device", "large", "folder"])
def test_what_stands_in_the_place_of_a_mark_is_neither_waited_for_nor_read(
    plant: str, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    mark = directory / "assay-data" / "data" / ".assay-set.json"
    mark.parent.mkdir(parents=True)
    (mark.parent / "thesis.txt").write_text("mine")
    if plant == "fifo":
        os.mkfifo(mark)
    elif plant == "folder":
        mark.mkdir()
    elif plant == "large":
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY))
        os.truncate(mark, 20 * 10**9)
    else:
        mark.symlink_to("/dev/zero" if plant == "device" else "/etc/passwd")

    cleaned = assay("clean", directory, check=3)
    ran = assay("run", load_file(tmp_path), directory, "--no-report", check=3)
    assay("doctor", directory)

    sys.stdout.write(f"{plant}: {cleaned.stdout}{ran.stderr}")
    assert "cannot be read" in cleaned.stdout
    assert "cannot be read" in ran.stderr
    assert (mark.parent / "thesis.txt").read_text() == "mine"
    assert os.path.lexists(mark)
