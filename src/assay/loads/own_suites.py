"""Which suites has the user made: load files in the folder `suites` of Assay's configuration folder?

`NAME.toml` there is found by `NAME`, as are those that come with Assay. Who may write there decides what the user runs, so
folder and file must be the user's own or root's and writable to nobody else, and no link is followed, neither to the folder
nor to a file. A file elsewhere is run by its path.
"""

import os
import stat
from pathlib import Path

from assay import xdg
from assay.errors import InputError
from assay.input_text import read_text

ENDING = ".toml"
FOLDER = "suites"
MOST_NAMES = 1000
"""Entries of the folder that are listed."""

_WHAT = "load file"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def folder() -> Path | None:
    """Say where they lie; None for a user without a home."""
    try:
        return xdg.folder("XDG_CONFIG_HOME", "~/.config") / FOLDER
    except InputError:
        return None


def names() -> tuple[str, ...]:
    """Names of the files in the folder, sorted; none where it is not there or may not be trusted."""
    at = folder()
    if at is None or refusal(at, is_folder=True):
        return ()
    try:
        found = sorted(entry.name for entry in os.scandir(at) if entry.name.endswith(ENDING))
    except OSError:
        return ()
    return tuple(name.removesuffix(ENDING) for name in found[:MOST_NAMES] if _is_name(name.removesuffix(ENDING)))


def text(name: str) -> tuple[str, str] | None:
    """Give the text of one and its path; None where there is none of that name.

    Raises:
        InputError: it is there, and is not taken; the text says why.
    """
    at = folder()
    if at is None or not _is_name(name):
        return None
    path = at / (name + ENDING)
    if not os.path.lexists(path):
        return None
    if why := refusal(at, is_folder=True) or refusal(path, is_folder=False):
        raise InputError(f"'{path}' is not taken as a suite: {why}")
    return read_text(str(path), _WHAT), str(path)


def refusal(path: Path, *, is_folder: bool) -> str:
    """Say why a folder or file is not taken, and the cure; empty: it is, or it is not there."""
    try:
        facts = path.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(facts.st_mode):
        cure = "make a folder there" if is_folder else "put the file itself there, or run it by its path"
        return f"'{path}' is a link, and links are not followed; {cure}"
    if stat.S_ISDIR(facts.st_mode) != is_folder:
        return f"'{path}' is {'no folder' if is_folder else 'a folder'}"
    if facts.st_uid not in {os.geteuid(), 0}:
        return f"'{path}' belongs to user {facts.st_uid}, who is neither you nor root; make it your own"
    if facts.st_mode & _OTHERS_WRITE:
        return f"others may write to '{path}'; chmod go-w it"
    return ""


def _is_name(name: str) -> bool:
    """Whether a name is one file's and can be printed."""
    return bool(name) and not name.startswith(".") and "/" not in name and "\0" not in name and name.isprintable()
