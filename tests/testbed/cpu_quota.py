"""A known share of a CPU: the kernel stops a control group for the rest of each period when it has had its time.

Both generations serve: cpu.cfs_quota_us of the first, cpu.max of the second.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from testbed.control_group import ControlGroup, control_group

PERIOD_US = 100_000


@contextmanager
def cpu_limit(cpus: float) -> Iterator[ControlGroup]:
    """Let the processes of a new control group have so many CPUs together, in periods of 0.1 s."""
    quota_us = round(cpus * PERIOD_US)
    with control_group("cpu", "cpu", "cpu.cfs_quota_us") as group:
        if group.is_v2:
            (group.folder / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (group.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group.folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        yield group


def times_stopped(group: ControlGroup) -> int:
    """How often the kernel stopped the group."""
    lines = (group.folder / "cpu.stat").read_text().splitlines()
    return int(dict(line.split() for line in lines)["nr_throttled"])
