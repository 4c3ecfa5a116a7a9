"""A program whose CLOCK_MONOTONIC is ahead of this machine's by an offset that is known to the nanosecond.

A time namespace (time_namespaces(7)) shifts CLOCK_MONOTONIC and CLOCK_BOOTTIME for the processes in it. It does not change
their rate, nor CLOCK_REALTIME. unshare(1) takes seconds only; offsets in nanoseconds are written before the first process
enters.
"""

import sys
from pathlib import Path

import pytest

from testbed.host import need_root

SECOND_NS = 10**9
_ENTER = """
import ctypes, os, sys
CLONE_NEWTIME = 0x80
seconds, nanoseconds, *words = sys.argv[1:]
if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWTIME) != 0:
    raise OSError(ctypes.get_errno(), "no time namespace could be made")
with open("/proc/self/timens_offsets", "w") as offsets:
    offsets.write(f"monotonic {seconds} {nanoseconds}\\n")
child = os.fork()  # the first process in it
if child == 0:
    os.execvp(words[0], words)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def ahead_by(offset_ns: int) -> tuple[str, ...]:
    """Give the words to put in front of a command, whose streams stay its own; skips the test where that cannot be."""
    need_root()
    if not Path("/proc/self/timens_offsets").exists():
        pytest.skip("needs time namespaces, which this kernel has not (/proc/self/timens_offsets)")
    return (sys.executable, "-c", _ENTER, str(offset_ns // SECOND_NS), str(offset_ns % SECOND_NS))
