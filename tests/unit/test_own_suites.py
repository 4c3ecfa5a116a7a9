"""The user's own suites: found by name, and only where nobody else could have put them."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import InputError
from assay.loads import own_suites, suites

LOAD = """
name = "{name}"
description = "one read"
answers = "is it read?"
void_if = "it is not"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "read"
[[phase.job]]
op = {{ op = "read", set = "data", access = {{ kind = "sequential", wrap = false }}, size = "64KiB" }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user's suites, with one in it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = tmp_path / "config" / "assay" / "suites"
    made.mkdir(parents=True)
    made.chmod(0o755)
    write(made / "nightly.toml")
    return made


def write(path: Path) -> None:
    path.write_text(LOAD.format(name=path.stem))
    path.chmod(0o644)


def said(*words: str) -> str:
    return CliRunner().invoke(app, list(words), prog_name="assay").output


def test_a_suite_is_found_by_its_name_and_messages_have_its_path(folder: Path) -> None:
    assert suites.read("nightly") == (LOAD.format(name="nightly"), str(folder / "nightly.toml"))
    assert own_suites.names() == ("nightly",)


def test_it_is_listed_and_shown_with_its_question(folder: Path) -> None:
    listed, shown = said("suites"), said("suites", "show", "nightly")

    assert f"yours, in {folder}:\n  nightly " in listed
    assert "one read" in listed
    assert "answers:  is it read?\nvoid if:  it is not\n" in shown
    assert shown.endswith('size = "64KiB" }\n')


def test_a_name_that_comes_with_assay_is_assays_and_that_is_said(folder: Path) -> None:
    write(folder / "mail.toml")

    assert suites.read("mail") == (suites.text("mail"), "mail.toml")
    assert "[[phase]]" in suites.text("mail")
    assert suites.text("mail") != LOAD.format(name="mail")
    assert suites.choice("mail") == f"'mail' is the load that comes with Assay; for yours write {folder}/mail.toml"
    assert "run it by its path" in said("suites")


def test_no_link_is_followed_to_a_file_or_to_the_folder(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere.toml")
    (folder / "linked.toml").symlink_to(tmp_path / "elsewhere.toml")

    with pytest.raises(
        InputError, match=r"linked\.toml is a link, and links are not followed; put the file itself there"
    ):
        suites.read("linked")

    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(moved)
    assert own_suites.names() == ()
    with pytest.raises(InputError, match="is a link, and links are not followed; make a folder there"):
        suites.read("nightly")


@pytest.mark.parametrize("which", ["folder", "file"])
def test_what_others_may_write_is_not_taken(folder: Path, which: str) -> None:
    (folder if which == "folder" else folder / "nightly.toml").chmod(0o777)

    with pytest.raises(InputError, match=r"can be written by every user; .*chmod go-w"):
        suites.read("nightly")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("which", ["folder", "file"])
def test_what_belongs_to_others_is_not_taken(folder: Path, which: str) -> None:
    os.chown(folder if which == "folder" else folder / "nightly.toml", 12345, 12345)

    with pytest.raises(InputError, match="belongs to user 12345; make it your own"):
        suites.read("nightly")


def test_a_name_leads_nowhere_else(folder: Path) -> None:
    write(folder.parent / "outside.toml")

    for name in ("../outside", "..", ".", "", "a\0b"):
        assert own_suites.text(name) is None
    (folder / "pipe.toml").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        suites.read("pipe")


def test_one_that_cannot_be_read_does_not_hide_the_others(folder: Path) -> None:
    (folder / "broken.toml").write_text("name = \n")
    (folder / "broken.toml").chmod(0o644)

    listed = said("suites")

    assert "  broken" in listed
    assert "not taken: " in listed
    assert "broken.toml:1" in listed
    assert "one read" in listed


def test_where_there_is_no_folder_nothing_is_said_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert "yours" not in said("suites")
    with pytest.raises(InputError, match=r"no suite 'nightly'; .* or lies in .*/assay/suites"):
        suites.read("nightly")
