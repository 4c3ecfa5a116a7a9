"""Wait before the start of a phase: for other runs, by a semaphore, or for a line of input.

Several runs on one machine begin a phase together by a set of System V semaphores, one a phase, each as high as there are
runs. Before the phase each run takes one of its semaphore and waits until it is at zero: until all have come. What a run
took is given back by the kernel when it ends, so the set serves again. Bonnie++ does the same with the same calls: its
processes and Assay's wait for each other.
"""

import ctypes
import errno
import os
import select
from typing import TextIO

from assay.errors import RunError
from assay.plan import InputLine, Phase, Semaphore
from assay.running.stopping import Stops

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


def make_semaphores(key: int, count: int, runs: int) -> None:
    """Make a set of semaphores for `runs` runs; raises RunError if the kernel does not give them."""
    found = _checked(key, "made", _libc.semget(key, count, _CREATE | 0o666))
    for number in range(count):
        _checked(key, "set", _libc.semctl(found, number, _SET_VALUE, ctypes.c_int(runs)))


def remove_semaphores(key: int, count: int) -> None:
    """Remove a set of semaphores; raises RunError if there is none, or it is another user's."""
    found = _checked(key, "found", _libc.semget(key, count, 0))
    _checked(key, "removed", _libc.semctl(found, 0, _REMOVE_SET, ctypes.c_int(0)))


def wait(phase: Phase, stops: Stops, prompts: TextIO) -> None:
    """Come back when the phase may start, or when a stop came in.

    Args:
        phase: About to start.
        stops: Those of the user.
        prompts: Stream for the prompt before a line of input.

    Raises:
        RunError: its gate cannot be waited for.
    """
    match phase.gate:
        case Semaphore() as one:
            _wait_for_others(one, stops)
        case InputLine(number=number):
            _wait_for_line(number, stops, prompts)


def _wait_for_others(one: Semaphore, stops: Stops) -> None:
    key = one.key
    found = _checked(key, "found", _libc.semget(key, one.of, 0), cure=": make them before")
    taken = _change(found, _Change(one.number, -1, _NO_WAIT | _UNDO))
    _checked(key, "taken", taken, cure=": more runs wait than they were made for")
    while not stops.count:
        if _change(found, _Change(one.number, 0, _UNDO)) == 0:
            return
        if ctypes.get_errno() not in {errno.EAGAIN, errno.EINTR}:
            _checked(key, "waited for", -1)


def _wait_for_line(number: int, stops: Stops, prompts: TextIO) -> None:
    prompts.write(f"\n{number}:\n")
    prompts.flush()
    while not stops.count:
        if select.select([0], [], [], _LOOK_S)[0]:
            _read_line()
            return


def _read_line() -> None:
    # Byte by byte from the descriptor: a buffer would swallow the lines of later phases, and select would not see them.
    while os.read(0, 1) not in {b"\n", b""}:
        pass


def _change(found: int, *changes: _Change) -> int:
    wanted = (_Change * len(changes))(*changes)
    limit = _Time(0, int(_LOOK_S * 1e9))
    result: int = _libc.semtimedop(found, wanted, len(changes), ctypes.byref(limit))
    return result


def _checked(key: int, done: str, result: int, cure: str = "") -> int:
    if result < 0:
        reason = os.strerror(ctypes.get_errno())
        raise RunError(f"the semaphores of key {key} could not be {done}: {reason}{cure}")
    return result
