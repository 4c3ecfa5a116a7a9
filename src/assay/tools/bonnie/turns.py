"""Bonnie++'s `-p` and `-y`: several runs on one machine begin each test together.

`-p N` makes a set of twelve System V semaphores, one a test, each N high. Before a test each run takes one of its semaphore
and waits until it is at zero: until all N have come. What a run took is given back by the kernel when it ends, so the
set serves again. Key, number and use are bonnie++'s own: its processes and Assay's wait for each other.
"""

import ctypes
import errno
import os
import select
import sys
from collections.abc import Callable, Sequence

import typer

from assay.errors import RunError

KEY = 4711
_LOOK_S = 0.2
"""How often a wait looks up whether the user wants to stop."""

_CREATE, _NO_WAIT, _UNDO = 0o1000, 0o4000, 0x1000
_REMOVE_SET, _SET_VALUE = 0, 16

_libc = ctypes.CDLL(None, use_errno=True)


class _Change(ctypes.Structure):
    """`struct sembuf` of semop(2)."""

    _fields_ = (("number", ctypes.c_ushort), ("amount", ctypes.c_short), ("flags", ctypes.c_short))


class _Time(ctypes.Structure):
    """`struct timespec`."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def make(processes: int, tests: int) -> None:
    """Make the semaphores for so many processes; raises RunError if the kernel does not give them."""
    found = _checked("made", _libc.semget(KEY, tests, _CREATE | 0o666))
    for number in range(tests):
        _checked("set", _libc.semctl(found, number, _SET_VALUE, ctypes.c_int(processes)))


def remove(tests: int) -> None:
    """Remove the semaphores; raises RunError if there are none, or they are another user's."""
    found = _checked("found", _libc.semget(KEY, tests, 0))
    _checked("removed", _libc.semctl(found, 0, _REMOVE_SET, ctypes.c_int(0)))


def wait_for_others(test: int, tests: int, is_stopped: Callable[[], bool]) -> None:
    """Take one of a test's semaphore, and wait until the other processes have; raises RunError if there is no set."""
    found = _checked("found", _libc.semget(KEY, tests, 0), cure=": make them with -p")
    _checked(
        "taken", _change(found, _Change(test, -1, _NO_WAIT | _UNDO)), cure=": more processes wait than -p was told"
    )
    while not is_stopped():
        if _change(found, _Change(test, 0, _UNDO)) == 0:
            return
        if ctypes.get_errno() not in {errno.EAGAIN, errno.EINTR}:
            _checked("waited for", -1)


def wait_for_line(test: int, is_stopped: Callable[[], bool]) -> None:
    """Print the number of a test on standard output, and wait for a line of input or its end."""
    typer.echo(f"\n{test}:")
    sys.stdout.flush()
    while not is_stopped():
        if select.select([0], [], [], _LOOK_S)[0]:
            _read_line()
            return


def _read_line() -> None:
    # Byte by byte from the descriptor: a buffer would swallow the lines of later tests, and select would not see them.
    while os.read(0, 1) not in {b"\n", b""}:
        pass


def _change(found: int, *changes: _Change) -> int:
    wanted = (_Change * len(changes))(*changes)
    limit = _Time(0, int(_LOOK_S * 1e9))
    result: int = _libc.semtimedop(found, wanted, len(changes), ctypes.byref(limit))
    return result


def _checked(done: str, result: int, cure: str = "") -> int:
    if result < 0:
        raise RunError(
            f"bonnie: the semaphores of key {KEY} could not be {done}: {os.strerror(ctypes.get_errno())}{cure}"
        )
    return result


__all__: Sequence[str] = ("KEY", "make", "remove", "wait_for_line", "wait_for_others")
