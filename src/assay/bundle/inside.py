"""Open the files of an untrusted bundle: a bundle is data, and names no file but its own.

A name is plain (letters, digits, `.`, `_`, `-`, in at most one folder), is looked up from the bundle's folder without
following any link, and is opened only where it is a regular file below its limit: no device, FIFO or `..` is ever reached.
"""

import io
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from assay.bundle.durable import OnlyRead
from assay.closing import close
from assay.errors import BundleError
from assay.units import KIB, MIB, format_bytes

_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_PLAIN = re.compile(_PART, re.ASCII)
_INSIDE = re.compile(rf"(?:{_PART}/)?{_PART}", re.ASCII)

LIMITS_BYTES = (
    (re.compile(r"manifest\.sha256|maker\.hmac"), 4 * KIB),
    (re.compile(r"(?:re)?marks\.json"), 64 * KIB),
    (re.compile(r"manifest\.json|run\.json|plan\.toml"), 16 * MIB),
    (re.compile(r"foreign\.json"), 64 * KIB),
    (re.compile(r"original\.txt"), 32 * MIB),
    (re.compile(r"resolved\.json"), 64 * MIB),
    (re.compile(r"events/.*\.json|clients\.json|.*\.parquet"), 512 * MIB),
    (re.compile(r"events/.*\.ndjson(?:\.part)?"), 16 * 1024 * MIB),
    (re.compile(r".*"), 2048 * MIB),
)
"""Most bytes that a file of a bundle may have, by its name: what is read as a whole has to fit into memory."""

_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ENTER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_plain(name: str) -> bool:
    """Whether a name can be that of a file or client of a bundle: no path, nothing hidden, nothing that a terminal obeys."""
    return bool(_PLAIN.fullmatch(name))


def is_inside(name: str) -> bool:
    """Whether a name can be that of a file of a bundle, in its folder or in one below it."""
    return bool(_INSIDE.fullmatch(name))


def limit_bytes(name: str) -> int:
    """Most bytes that a file of this name may have."""
    return next(limit for pattern, limit in LIMITS_BYTES if pattern.fullmatch(name))


def open_inside(folder: Path, name: str) -> BinaryIO:
    """Open a file of a bundle to read.

    Raises:
        FileNotFoundError: there is none of that name.
        OSError: it cannot be opened.
        BundleError: its name leads out of the bundle, it is no regular file, or it is larger than any that Assay makes.
    """
    if not is_inside(name):
        raise BundleError(f"{folder}: names the file {name!r}, which is none inside a run. {DAMAGED_CURE}")
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        file = open_below(place, name)
    except NotRegularError as error:
        raise BundleError(f"{folder / name}: is {error}, not a file. {DAMAGED_CURE}") from error
    finally:
        close(place)
    size_bytes = os.fstat(file.fileno()).st_size
    if size_bytes > limit_bytes(name):
        file.close()
        raise BundleError(
            f"{folder / name}: has {format_bytes(size_bytes)}; a run has at most {format_bytes(limit_bytes(name))} there."
            f" {DAMAGED_CURE}"
        )
    return file


def read_inside(folder: Path, name: str) -> bytes:
    """Read a file of a bundle as a whole; raises as `open_inside` does."""
    with open_inside(folder, name) as file:
        # One byte more than it may have: it may grow meanwhile.
        data = file.read(limit_bytes(name) + 1)
    if len(data) > limit_bytes(name):
        raise BundleError(f"{folder / name}: grows while it is read. {DAMAGED_CURE}")
    return data


class NotRegularError(Exception):
    """The path is not a regular file; the message names what it is."""


def open_below(folder: int, path: str) -> BinaryIO:
    """Open a regular file by its way down from a folder's descriptor, following no link at any step.

    Raises:
        OSError: it cannot be opened.
        NotRegularError: it is none, or a folder on the way is a link.
    """
    *folders, last = path.split("/")
    place = os.dup(folder)
    try:
        for step in folders:
            _refuse_link(step, place)
            inner = os.open(step, _ENTER, dir_fd=place)
            close(place)
            place = inner
        # Looked at first: opening a device can already do something.
        _refuse_irregular(os.stat(last, dir_fd=place, follow_symlinks=False).st_mode)
        file = OnlyRead(io.FileIO(os.open(last, _READ, dir_fd=place)))
    finally:
        close(place)
    try:
        _refuse_irregular(os.fstat(file.fileno()).st_mode)
    except NotRegularError:
        file.close()
        raise
    return file


def _refuse_link(name: str, place: int) -> None:
    if stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
        raise NotRegularError(f"behind the link '{name}'")


def _refuse_irregular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegularError(next((words for is_kind, words in _KINDS if is_kind(mode)), "of an unknown kind"))


DAMAGED_CURE = "This run is damaged: restore it from a copy, or measure again"
