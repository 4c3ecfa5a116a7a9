"""Find folders with the key of a run that were left behind, because a leader or a worker's shell was killed (kill -9).

What is removed is Assay's by its name and by all that is in it, this user's alone, and of nobody who lives: a leader has a
lock on its folder, and the shell that holds a worker has written down who it is.
"""

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assay.bundle.strict_json import decode
from assay.closing import close
from assay.cluster.join_file import CERTIFICATE, FOLDER_FLAGS, JOIN, KEY, JoinFile
from assay.cluster.worker_shell import COPIED
from assay.errors import reason_of

LEADERS: Final = "assay-join-"
"""Begins the name of a folder that a leader makes where the user has named none."""
HOLDER: Final = "holder"
"""In a folder on a host: process and start time of the shell that removes it (`hold_worker.sh`)."""
LEAST_AGE_S: Final = 60.0
"""A younger folder may be about to be locked by its maker."""
_OF_LEADER = re.compile(rf"{LEADERS}[0-9a-f]{{16}}", re.ASCII)
_OF_HOST = re.compile(r"assay-[A-Za-z0-9]{10}", re.ASCII)
_OWN: Final = frozenset(
    {JOIN, CERTIFICATE, KEY, HOLDER, COPIED, *(f"{name}.part" for name in (JOIN, CERTIFICATE, KEY))}
)
_MOST_BYTES: Final = 64 << 10
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def remove_left(root: Path, only: str | None = None) -> Iterator[str]:
    """Remove such folders from a folder, and give a line on each that was removed, or could not be.

    Args:
        root: Where they lie.
        only: The name of one to look at, which the user may have chosen; then it is one if it has a join file.
    """
    try:
        names = sorted(path.name for path in root.iterdir()) if only is None else [only]
    except OSError:
        return
    for name in names:
        is_named_so = bool(_OF_LEADER.fullmatch(name) or _OF_HOST.fullmatch(name))
        if is_named_so or only is not None:
            try:
                place = os.open(root / name, FOLDER_FLAGS)
            except OSError:
                continue
            try:
                yield from _remove(place, root / name, is_named_so=is_named_so)
            finally:
                close(place)


def _remove(place: int, path: Path, *, is_named_so: bool) -> Iterator[str]:
    facts = os.fstat(place)
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) != stat.S_IRWXU:
        return
    if time.time() - facts.st_mtime < LEAST_AGE_S or _is_held(place, path):
        return
    names = set(os.listdir(place))
    is_of_leader = bool(_OF_LEADER.fullmatch(path.name))
    if not (_has_join(place) or (is_of_leader and not names) or (is_named_so and _read(place, HOLDER))):
        return
    if others := sorted(names - _OWN) if is_named_so else []:
        yield f"{path}: left, because Assay did not put '{others[0]}' there"
        return
    try:
        for name in sorted(names & _OWN):
            os.unlink(name, dir_fd=place)
        if is_named_so and _is_same(place, path):
            path.rmdir()
    except OSError as error:
        yield f"{path}: not removed: {reason_of(error)}"
    else:
        yield f"{path}: removed: the key of a run whose leader is gone"


def _is_held(place: int, path: Path) -> bool:
    """Return whether a living process will remove it, or may still need it."""
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # a leader has it, or the state is unknown
        return True
    holder = _read(place, HOLDER).split()
    if len(holder) == 2 and _start_time(holder[0].decode(errors="replace")) == holder[1]:
        return True
    return any(os.fsencode(path) + b"/" in words for words in _command_lines())


def _start_time(pid: str) -> bytes:
    """Give when a process began, in clock ticks since the machine did; nothing where there is none."""
    if not pid.isdecimal():
        return b""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return b""
    return fields[19] if len(fields) > 19 else b""


def _command_lines() -> Iterator[bytes]:
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):
                yield (process / "cmdline").read_bytes()


def _has_join(place: int) -> bool:
    try:
        decode(_read(place, JOIN), JoinFile)
    except ValueError:
        return False
    return True


def _read(place: int, name: str) -> bytes:
    """Read a small file of a folder; nothing where it is none."""
    try:
        descriptor = os.open(name, _READ, dir_fd=place)
    except OSError:
        return b""
    try:
        facts = os.fstat(descriptor)
        is_own = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid()
        return os.read(descriptor, _MOST_BYTES) if is_own else b""
    except OSError:
        return b""
    finally:
        close(descriptor)


def _is_same(place: int, path: Path) -> bool:
    """Return whether a path still leads to the folder that is open."""
    return os.path.samestat(os.fstat(place), path.lstat())
