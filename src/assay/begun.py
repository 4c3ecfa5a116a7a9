"""Estimate when this program was started. `start` looks first: what else the program is made of takes long to load.

The kernel keeps when a process was made, and not when it became another program: a shell that has `assay mark` for its last
command becomes it, and may have waited, or worked, for long before. Until its first line the process ran or waited for a CPU
(/proc/self/schedstat) for as long as the interpreter takes to load, and a shell that did more did it before.

Limits: waits of a shell for a CPU are not separated from those of the program. Where all CPUs are busy, that of a
shell's last command is some 0.1 s early.
"""

import functools
import os
import time
from pathlib import Path
from typing import Final, NamedTuple

_START_FIELD: Final = 19
"""Of /proc/PID/stat, counted from the state of the process: when it was made (proc(5))."""
_MOST_LOADING_NS: Final = 100_000_000
"""CPU time that the interpreter takes to load, at most, busy machines too. A process that took more was a shell before."""
_LOADING_NS: Final = 20_000_000
"""What is taken for it then, with as much of the time that it waited for a CPU: 10 to 30 ms measured."""
_NS_PER_S: Final = 1_000_000_000


class FirstLine(NamedTuple):
    """The moment at which the program looked first; times in nanoseconds."""

    at_ns: int
    """By CLOCK_MONOTONIC."""
    made_ago_ns: int = 0
    """Since the process was made."""
    ran_ns: int = 0
    waited_ns: int = 0
    """For a CPU."""

    @property
    def started_ns(self) -> int:
        """When the program was started, by CLOCK_MONOTONIC."""
        is_shell = self.ran_ns > _MOST_LOADING_NS
        waited_ns = self.waited_ns * _LOADING_NS // self.ran_ns if is_shell else self.waited_ns
        loaded_ns = (_LOADING_NS if is_shell else self.ran_ns) + waited_ns
        return self.at_ns - max(0, min(self.made_ago_ns, loaded_ns))


@functools.cache
def first_line() -> FirstLine:
    """Read when the process was made and how long it has run, at the first call; later calls return the same."""
    at_ns, since_boot_ns = time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        made_ns = int(fields[_START_FIELD]) * _NS_PER_S // os.sysconf("SC_CLK_TCK")
        ran_ns, waited_ns, *_ = map(int, Path("/proc/self/schedstat").read_text().split())
    except (OSError, ValueError, IndexError):
        return FirstLine(at_ns)
    return FirstLine(at_ns, since_boot_ns - made_ns, ran_ns, waited_ns)
