"""What other programs did while a test ran: the CPU time that they used, and that the hypervisor withheld.

Programs are other ones when neither this process started them nor their environment has the mark of this test session.
Threads of the kernel count as nobody's: they work for whoever asks.
"""

import os
import time
from pathlib import Path

from testbed.leaks import SESSION_VARIABLE

DISTURBING_CPUS = 0.1
"""CPUs that others use, from which on a failed measurement is disturbed: the share at which `analysis` itself calls a
number weak."""

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD of linux/sched.h
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class OtherPrograms:
    """A look at the machine when a test begins, for a second one when it has failed."""

    def __init__(self) -> None:
        """Take the first look."""
        self._begin_s = time.monotonic()
        self._used_s = _used_by_others_s()
        self._stolen_s = _stolen_s()

    def disturbance(self) -> str:
        """Say what others did since, in one line; empty: not enough to disturb a measurement."""
        seconds = max(1e-3, time.monotonic() - self._begin_s)
        used = max(0.0, _used_by_others_s() - self._used_s) / seconds
        stolen = max(0.0, _stolen_s() - self._stolen_s) / seconds
        if used + stolen < DISTURBING_CPUS:
            return ""
        return f"other programs used {used:.2f} CPUs for {seconds:.0f} s, and the hypervisor withheld {stolen:.2f}"


def _used_by_others_s() -> float:
    """CPU time of all other programs, those included that they have waited for."""
    mark = f"{SESSION_VARIABLE}={os.environ.get(SESSION_VARIABLE, '')}".encode()
    parents: dict[int, int] = {}
    used_ticks: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # proc(5), from the third field on: 4 parent, 9 flags, 14 to 17 user and system time of its own and of the
        # children it waited for.
        parents[pid := int(folder.name)] = int(fields[1])
        if not int(fields[6]) & _KERNEL_THREAD:
            used_ticks[pid] = sum(int(field) for field in fields[11:15])
    return sum(ticks for pid, ticks in used_ticks.items() if not _is_ours(pid, parents, mark)) / _TICKS_PER_S


def _is_ours(pid: int, parents: dict[int, int], mark: bytes) -> bool:
    """Whether this process started it, or one that has the mark of its session did."""
    ancestor = pid
    while ancestor:
        if ancestor == os.getpid():
            return True
        ancestor = parents.get(ancestor, 0)
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _stolen_s() -> float:
    """What the hypervisor gave to other guests while a CPU of this one was ready: proc(5), /proc/stat, `steal`."""
    return int(Path("/proc/stat").read_text().split()[8]) / _TICKS_PER_S
