"""Keep the remarks on a run: name, tags and note, which may change after the run was sealed.

They are in `remarks.json` in the run's folder, which no manifest covers: the record still matches its hashes.
Who unpacks a stranger's run gets the stranger's remarks with it, so they are held to the same limits as a user's words,
and a file beyond them is ignored. It is read without following links, replaced as a whole, and no more
trusted than any other file of a bundle.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle.inside import read_inside
from assay.bundle.sidecar import alone, replace_sidecar, to_change
from assay.bundle.strict_json import decode
from assay.errors import BundleError, InputError, RunError, reason_of

REMARKS = "remarks.json"
SCHEMA = "assay.remarks/1"
MOST_TAGS: Final = 32
LONGEST_WORD: Final = 64
LONGEST_NOTE: Final = 1000

_WORD = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_WORD - 1}}}", re.ASCII)
_RULE = f"up to {LONGEST_WORD} letters, digits, '.', '_' and '-', beginning with a letter or digit"


class Remarks(msgspec.Struct, frozen=True, kw_only=True):
    """Remarks on a run. Raises ValueError beyond the limits."""

    schema: str = SCHEMA
    name: str | None = None
    """No other run of the folder has it, unless somebody put one there."""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        """Hold to the limits what anybody may have written."""
        if self.schema != SCHEMA:
            raise ValueError(f"the schema is {self.schema[:LONGEST_WORD]!r}, and this Assay reads {SCHEMA}")
        if self.name is not None and not is_name(self.name):
            raise ValueError(f"'{self.name[:LONGEST_WORD]}' is no name: {_RULE}, and not 'last'")
        for tag in self.tags:
            if not _WORD.fullmatch(tag):
                raise ValueError(f"'{tag[:LONGEST_WORD]}' is no tag: {_RULE}")
        if len(self.tags) > MOST_TAGS:
            raise ValueError(f"these are {len(self.tags)} tags; a run has at most {MOST_TAGS}")
        if len(self.tags) != len(set(self.tags)):
            raise ValueError("a tag is there twice")
        if len(self.note) > LONGEST_NOTE:
            raise ValueError(f"the note has {len(self.note)} characters; {LONGEST_NOTE} are the most")


NOTHING = Remarks()


def is_name(text: str) -> bool:
    """Whether a text can be the name of a run; `last` is the newest of all."""
    return bool(_WORD.fullmatch(text)) and text != "last"


def remarks(name: str | None, tags: list[str] | None, note: str | None) -> Remarks:
    """Take a user's words; raises InputError."""
    try:
        return Remarks(name=name, tags=tuple(dict.fromkeys(tags or ())), note=note or "")
    except ValueError as error:
        raise InputError(str(error)) from error


def changed(before: Remarks, name: str | None, tags: Iterable[str], untag: Iterable[str], note: str | None) -> Remarks:
    """Update remarks; None keeps a value, an empty name or note removes it.

    Raises:
        InputError: a tag that it has not is to be taken off.
        ValueError: they are beyond the limits.
    """
    if lacking := [tag for tag in untag if tag not in before.tags]:
        raise InputError(f"--untag {lacking[0]}: the run has no such tag; it has: {', '.join(before.tags) or 'none'}")
    kept = [tag for tag in before.tags if tag not in set(untag)]
    return Remarks(
        name=before.name if name is None else name or None,
        tags=tuple(dict.fromkeys([*kept, *tags])),
        note=before.note if note is None else note,
    )


def read_remarks(folder: Path) -> Remarks:
    """Read the remarks on a run; empty if there are none.

    Raises:
        BundleError: the file is none that a user's words make, or cannot be read.
    """
    path = folder / REMARKS
    try:
        return decode(read_inside(folder, REMARKS), Remarks)
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}. Check its permissions") from error
    except ValueError as error:
        raise BundleError(f"{path}: is not what 'assay tag' writes: {error}. Remove that file") from error


def remarks_of(folder: Path) -> Remarks:
    """Read the remarks on a run; empty if unreadable: they are not part of the results."""
    # Most runs have none: asking costs less than opening.
    if not os.path.lexists(folder / REMARKS):
        return NOTHING
    try:
        return read_remarks(folder)
    except BundleError:
        return NOTHING


def write_remarks(folder: Path, notes: Remarks) -> None:
    """Replace the remarks on a run, durably; raises RunError if that fails, and then the old ones remain."""
    try:
        replace_sidecar(folder, REMARKS, msgspec.json.format(msgspec.json.encode(notes), indent=2))
    except OSError as error:
        raise RunError(
            f"{folder / REMARKS}: could not be written: {reason_of(error)}. The remarks did not change"
        ) from error


def change_remarks(folder: Path, change: Callable[[Remarks], Remarks]) -> Remarks:
    """Change the remarks on a run, and return them; concurrent changes wait for each other.

    Args:
        folder: The run.
        change: Makes the new from the old; InputError where the user asks for what cannot be.

    Raises:
        BundleError: what is there cannot be read.
        InputError: of `change`, or the new is beyond the limits.
        RunError: it cannot be written.
    """
    with to_change(folder) as opened, alone(opened.place):
        before = read_remarks(opened.place)
        try:
            after = change(before)
        except ValueError as error:
            raise InputError(str(error)) from error
        if after != before:
            write_remarks(opened.place, after)
    return after
