"""Find the user's own suites: load files in the folder `suites` of Assay's configuration folder.

`NAME.toml` there is found by `NAME`, as are those that come with Assay. Who may write there decides what the user runs, so
file, folder and all folders above must be the user's own or root's and writable to nobody else, and no link is followed,
neither to the folder nor to a file. Other files are run by their paths.
"""

import os
from pathlib import Path

from assay import own_files, xdg
from assay.errors import InputError
from assay.input_text import read_text

ENDING = ".toml"
FOLDER = "suites"
MOST_NAMES = 1000
"""Entries of the folder that are listed."""

_WHAT = "load file"


def folder() -> Path | None:
    """Return their directory; None for a user without a home."""
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
        InputError: it is there, and is not taken; the message explains why.
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
    """Return why a folder or file is not used, and the cure; empty: it is, or it does not exist."""
    try:
        facts = path.lstat()
    except OSError:
        return ""
    if why := own_files.refusal(facts, path, is_folder=is_folder):
        return "; ".join(why)
    try:
        own_files.safe_folder(path if is_folder else path.parent)
    except own_files.NotOwnError as error:
        return str(error)
    except OSError:
        return ""
    return ""


def _is_name(name: str) -> bool:
    """Whether a name is one file's and can be printed."""
    return bool(name) and not name.startswith(".") and "/" not in name and "\0" not in name and name.isprintable()
