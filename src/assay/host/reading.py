"""Read the kernel's small text files, with the reason if that fails.

Every function that looks at the machine takes a `SystemTree`: the real one at `/`, or one that a test has laid out. Sources
name the path as the user wrote it, without the root of the tree.
"""

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.host.facts import Fact, FactValue

_NO_DIRECTORY = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors about the path; others are from storage that does not answer."""


_NAMED_SECRET = re.compile(r"^([^=]*(?:pass|pwd|secret|token|key|auth)[^=]*)=.*$", re.IGNORECASE)
_BEFORE_HOST = re.compile(r"(^|=)[^@=]*:(?!/[^/]).*@")
"""User and password in front of a host: `netroot=iscsi:me:secret@10.0.0.1`, `cifs://me:secret@server/share`; no path."""


class Reading(NamedTuple):
    """A text and its source; without a text the source is the reason."""

    text: str | None
    source: str


class SystemTree(msgspec.Struct, frozen=True):
    """The file tree that holds /proc, /sys and /dev."""

    root: Path = Path("/")

    def at(self, path: str) -> Path:
        """Where `path`, absolute on the machine, lies in this tree."""
        return self.root / path.lstrip("/")

    def read(self, path: str, at_most_bytes: int = -1) -> Reading:
        """Read a file of text, stripped; never raises for a file that cannot be read.

        `at_most_bytes` spares the kernel from printing long files to the end.
        """
        try:
            # Unbuffered: buffering would ask for more than `at_most_bytes`.
            with self.at(path).open("rb", buffering=0) as file:
                text = (file.read(at_most_bytes) or b"").decode(errors="replace").strip("\0 \t\n")
        except FileNotFoundError:
            return Reading(None, f"n/a: {path} is not there")
        except PermissionError:
            return Reading(None, f"n/a: {path} may not be read by this user")
        except OSError as error:
            return Reading(None, f"n/a: {path}: {error.strerror}")
        return Reading(text, path) if text else Reading(None, f"n/a: {path} is empty")

    def names(self, path: str) -> list[str]:
        """Sorted names in a directory; none where there is no such directory."""
        try:
            return sorted(entry.name for entry in self.at(path).iterdir())
        except OSError:
            return []

    def is_directory(self, path: str) -> bool:
        """Whether a path is a directory; one that this user may not look at is none.

        Raises:
            OSError: The file system does not answer.
        """
        while True:
            try:
                return stat.S_ISDIR(self.at(path).stat().st_mode)
            except InterruptedError:  # of a path Python does not ask again by itself
                continue
            except OSError as error:
                if error.errno in _NO_DIRECTORY:
                    return False
                raise

    def is_file(self, path: str) -> bool:
        """Whether a path is a file; one that this user may not look at is none."""
        return os.path.isfile(self.at(path))  # noqa: PTH113 - as above

    def space(self, path: str) -> os.statvfs_result:
        """Numbers of the file system that a path is on; raises OSError."""
        while True:
            try:
                return os.statvfs(self.at(path))
            except InterruptedError:  # of a path Python does not ask again by itself
                continue

    def first(self, *paths: str) -> Reading:
        """The first of several files that can be read; with none, the reason of the first."""
        readings = [self.read(path) for path in paths]
        return next((reading for reading in readings if reading.text is not None), readings[0])


def known(key: str, value: str | float | bool | tuple[str, ...], source: str) -> Fact:
    """A fact that has a value."""
    return Fact(key=key, value=value, source=source)


def absent(key: str, reason: str) -> Fact:
    """A fact that could not be had."""
    return Fact(key=key, value=None, source=reason if reason.startswith("n/a: ") else f"n/a: {reason}")


def valued(key: str, value: FactValue, source: str, reason: str) -> Fact:
    """A fact of a value that may be None, with the reason for that."""
    return absent(key, reason) if value is None else known(key, value, source)


def fact(key: str, reading: Reading, convert: Callable[[str], FactValue] = str) -> Fact:
    """Make a fact of a reading; a text that `convert` refuses with ValueError is absent and quoted."""
    if reading.text is None:
        return absent(key, reading.source)
    try:
        value = convert(reading.text)
    except ValueError:
        return absent(key, f"{reading.source} has '{reading.text[:80]}'")
    return Fact(key=key, value=value, source=reading.source)


def kib_to_bytes(text: str) -> int:
    """`4096` or `4096 kB` to bytes."""
    return int(text.removesuffix("kB")) * 1024


def sectors_to_bytes(text: str) -> int:
    """Sectors of 512 bytes, as all of /sys/block counts, to bytes."""
    return int(text) * 512


def flag(text: str) -> bool:
    """`1`, `Y`, `on` to True; `0`, `N`, `off` to False."""
    lowered = text.lower()
    if lowered in {"1", "y", "on"}:
        return True
    if lowered in {"0", "n", "off"}:
        return False
    raise ValueError(text)


def chosen(text: str) -> str:
    """The bracketed one of `none [mq-deadline] kyber`; a single word is the value."""
    if "[" in text:
        return text[text.index("[") + 1 : text.index("]")]
    if " " in text:
        raise ValueError(text)
    return text


def words(text: str) -> tuple[str, ...]:
    """Text split at white space."""
    return tuple(text.split())


def without_secrets(word: str) -> str:
    """Take the value out of a boot parameter, mount option or address that may be a secret: iSCSI passwords, keys."""
    return _BEFORE_HOST.sub(r"\1(not kept)@", _NAMED_SECRET.sub(r"\1=(not kept)", word))


def colon_table(text: str) -> dict[str, str]:
    """`name : value` lines; of several blocks, as in /proc/cpuinfo, the first."""
    table: dict[str, str] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        name, colon, value = line.partition(":")
        if colon:
            table.setdefault(name.strip(), value.strip())
    return table


def cpu_list(text: str) -> int:
    """How many CPUs or nodes a list such as `0-3,8` names."""
    count = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count
