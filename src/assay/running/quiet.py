"""Check that the machine is idle before it measures: on a busy machine results are not usable.

It is idle if others leave a load what its results are assessed by: a tenth of the CPUs, and of the time of the devices.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from assay.errors import InputError
from assay.host.busy import Busy, how_busy
from assay.host.storage import storage_path

_REST = 0.10
"""Of the CPUs, and of the time of a device: `RUN_DELAY_SHARE` and `FOREIGN_SHARE_WEAK` of the analysis."""
_LOOK_S, _GLANCE_S = 1.0, 0.5
_QUIET_LOOKS = 2
"""Looks at rest, one after the other: what works in bursts has pauses."""

Look = Callable[[tuple[str, ...], float], Busy | None]


def devices_of(directories: Iterable[Path]) -> tuple[str, ...]:
    """Name the devices of directories that the kernel counts for."""
    names: dict[str, None] = {}
    for directory in directories:
        names |= dict.fromkeys(storage_path(directory).diskstats)
    return tuple(names)


def unrest(busy: Busy | None) -> str:
    """Write what is busy, as `1.8 of 2 CPUs, vda for 40 % of the time`; empty where the machine is at rest."""
    if busy is None:
        return ""
    cpus = [f"{busy.cpus_busy:.1f} of {busy.cpus} CPUs"] if busy.cpus_busy > _REST * busy.cpus else []
    return ", ".join(
        cpus + [f"{name} for {100 * share:.0f} % of the time" for name, share in busy.devices.items() if share > _REST]
    )


def busy_words(directory: Path, *, look: Look = how_busy) -> tuple[str, ...]:
    """Describe what is busy before a directory is measured; nothing where the machine is at rest."""
    words = unrest(look(devices_of([directory]), _GLANCE_S))
    return (f"machine busy ({words}): numbers may not be usable, --wait-quiet 5min waits for rest",) if words else ()


def wait_for_rest(
    directories: Iterable[Path],
    most_s: float,
    warn: Callable[[str], None],
    progress: Callable[[str], None],
    *,
    look: Look = how_busy,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait until the machine is at rest, or for `most_s` seconds; returns whether it is.

    Args:
        directories: Those that are measured: their devices are looked at.
        most_s: How long at most.
        warn: Prints a line that stays.
        progress: Prints how far it is.
        look: Looks at the machine for some seconds.
        clock: Gives the time in seconds.
    """
    devices, begun_s, at_rest = devices_of(directories), clock(), 0
    while True:
        words = unrest(look(devices, _LOOK_S))
        at_rest = 0 if words else at_rest + 1
        waited_s = clock() - begun_s
        if at_rest >= _QUIET_LOOKS:
            return True
        if waited_s >= most_s:
            warn(f"still busy after {waited_s:.0f} s: {words or 'it was a moment ago'}; it is measured all the same")
            return False
        progress(f"waiting for a machine at rest, {waited_s:.0f} of {most_s:.0f} s: busy {words or 'nothing now'}")


def check_alone(wait_s: float | None, *, has_clients: bool) -> None:
    """Refuse to wait for machines that this one cannot look at."""
    if wait_s is not None and has_clients:
        raise InputError("--wait-quiet looks at this machine alone: leave it out with clients")
