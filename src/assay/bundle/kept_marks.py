"""Keep the marks of a run: moments that a user marks during the run, or afterwards.

They are in `marks.json` in the run's folder, next to the record as `remarks.json` is: the record
still matches its hashes if a mark is added later. A mark that was set while the run went on is of the clock
that the engine's times are of, read when the command was started. Who unpacks a stranger's run gets the stranger's marks
with it: they are held to limits, a file beyond them is ignored, and only a folder that nobody but this
user can write is written to.
"""

import contextlib
import enum
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle.inside import read_inside
from assay.bundle.sidecar import alone, replace_sidecar, to_change
from assay.bundle.strict_json import decode
from assay.errors import BundleError, InputError, RunError, reason_of
from assay.ownership import is_own_folder

MARKS = "marks.json"
SCHEMA = "assay.marks/1"
MOST_MARKS: Final = 50
LONGEST_LABEL: Final = 200
_MOST_NS: Final = 10**18
"""Thirty years."""


class MarkGiven(enum.Enum):
    """When a mark was set."""

    WHILE_IT_RAN = "user"
    AFTERWARDS = "afterwards"


class KeptMark(msgspec.Struct, frozen=True, kw_only=True):
    """One mark. Raises ValueError for what is beyond the limits."""

    t_ns: int
    """CLOCK_MONOTONIC since the engine's hello."""
    label: str
    given: MarkGiven

    def __post_init__(self) -> None:
        """Hold to the limits what anybody may have written."""
        if not 0 <= self.t_ns < _MOST_NS:
            raise ValueError(f"a mark at {self.t_ns} ns is at no time of a run")
        if not self.label.strip():
            raise ValueError("a mark needs some words")
        if len(self.label) > LONGEST_LABEL:
            raise ValueError(f"the words of a mark have {len(self.label)} characters; {LONGEST_LABEL} are the most")
        if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in self.label):
            raise ValueError("the words of a mark are one line, without control characters")


class _Marks(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    schema: str = SCHEMA
    marks: tuple[KeptMark, ...] = ()

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"the schema is {self.schema[:LONGEST_LABEL]!r}, and this Assay reads {SCHEMA}")
        if len(self.marks) > MOST_MARKS:
            raise ValueError(f"these are {len(self.marks)} marks; a run has at most {MOST_MARKS}")


def kept_mark(t_ns: int, label: str, given: MarkGiven) -> KeptMark:
    """Take a user's words; raises InputError."""
    try:
        return KeptMark(t_ns=t_ns, label=label, given=given)
    except ValueError as error:
        raise InputError(str(error)) from error


def read_marks(folder: Path) -> tuple[KeptMark, ...]:
    """Read the marks of a run in the order of time; none where nobody set any.

    Raises:
        BundleError: the file is none that a user's marks make, or cannot be read.
    """
    path = folder / MARKS
    try:
        found = decode(read_inside(folder, MARKS), _Marks)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}. Check its permissions") from error
    except ValueError as error:
        raise BundleError(f"{path}: is not what 'assay mark' writes: {error}. Remove that file") from error
    return tuple(sorted(found.marks, key=lambda mark: mark.t_ns))


def marks_of(folder: Path) -> tuple[KeptMark, ...]:
    """Read the marks of a run; none where they cannot be read: they are no part of what was measured."""
    if not os.path.lexists(folder / MARKS):
        return ()
    try:
        return read_marks(folder)
    except BundleError:
        return ()


def add_mark(folder: Path, mark: KeptMark) -> None:
    """Add a mark to a run of this user's; of two at once, one waits for the other.

    Raises:
        BundleError: what is there cannot be read.
        InputError: the run is not this user's alone to write, or has as many marks as it may.
        RunError: it cannot be written.
    """
    with _held(folder) as held, alone(held):
        before = read_marks(held)
        try:
            after = _Marks(marks=(*before, mark))
        except ValueError as error:
            raise InputError(f"{folder.name}: {error}") from error
        try:
            replace_sidecar(held, MARKS, msgspec.json.format(msgspec.json.encode(after), indent=2))
        except OSError as error:
            raise RunError(
                f"{folder / MARKS}: could not be written: {reason_of(error)}. The marks of the run are as they were before"
            ) from error


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[Path]:
    """Give a way into a folder that leads nowhere else, whoever renames what meanwhile, if it is this user's alone to write.

    Raises:
        BundleError: it cannot be opened.
        InputError: it is a link, or somebody else can write to it.
    """
    with to_change(folder) as opened:
        if not is_own_folder(opened.facts, opened.place):
            raise InputError(f"{folder}: is not yours alone to write; marks go into runs of your own only")
        yield opened.place
