"""Measure how busy the CPUs and some devices are: two readings of the kernel's counters.

CPUs       1 - idle and iowait by all time (/proc/stat, proc(5)), times their number
a device   time with a request in flight by the time between the looks (/proc/diskstats, field 10, in ms)
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.host.reading import SystemTree

_IDLE = slice(3, 5)
"""Of the times of a CPU: idle and iowait."""
_WITHOUT_GUESTS = 8
"""Times of a CPU that are in no other one of them."""
_NAME, _BUSY_MS = 2, 12
"""Places in a line of /proc/diskstats."""


@dataclass(frozen=True)
class Busy:
    """What a machine does."""

    cpus: int
    cpus_busy: float
    """So many of them, on average."""
    devices: Mapping[str, float]
    """Share of the time in which each had a request."""


def how_busy(
    devices: Sequence[str],
    seconds: float,
    tree: SystemTree | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Busy | None:
    """Read twice, this many seconds apart; None if the kernel has no CPU counters."""
    where = tree or SystemTree()
    begun_s, before, busy_before = clock(), _cpu_times(where), _busy_ms(where)
    sleep(seconds)
    passed_s, after, busy_after = clock() - begun_s, _cpu_times(where), _busy_ms(where)
    if not before or len(before) != len(after) or passed_s <= 0:
        return None
    grown = [[b - a for a, b in zip(one, other, strict=True)] for one, other in zip(before, after, strict=True)]
    every = sum(map(sum, grown))
    idle = sum(sum(times[_IDLE]) for times in grown)
    return Busy(
        cpus=len(after),
        cpus_busy=len(after) * (1 - idle / every) if every > 0 else 0.0,
        devices={
            name: min(1.0, (busy_after[name] - busy_before[name]) / (1000 * passed_s))
            for name in devices
            if name in busy_before and name in busy_after
        },
    )


def _cpu_times(tree: SystemTree) -> list[list[int]]:
    lines = (tree.read("/proc/stat").text or "").splitlines()
    of_cpus = [line.split() for line in lines if line.startswith("cpu") and line[3:4].isdigit()]
    return [[int(word) for word in words[1 : 1 + _WITHOUT_GUESTS]] for words in of_cpus]


def _busy_ms(tree: SystemTree) -> dict[str, int]:
    lines = [line.split() for line in (tree.read("/proc/diskstats").text or "").splitlines()]
    return {words[_NAME]: int(words[_BUSY_MS]) for words in lines if len(words) > _BUSY_MS}
