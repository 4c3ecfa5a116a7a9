"""Going first: what is started meanwhile gets a CPU before all other programs of the machine.

A priority (nice) counts inside a session alone, where the kernel groups processes by session (sched_autogroup), and
programs that begin one of their own are not in it. A control group with a large share of the CPUs counts everywhere.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.control_group import ControlGroup, control_group

_MOST = {True: ("cpu.weight", "10000"), False: ("cpu.shares", "262144")}


@contextmanager
def going_first() -> Iterator[None]:
    """Let this process, and what it starts, go first; it is back where it was at the end."""
    with control_group("cpu", "cpu", "cpu.shares") as group:
        go_first(group)
        before = _own_group(group.folder.parent, is_v2=group.is_v2)
        (group.folder / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (before / "cgroup.procs").write_text(str(os.getpid()))


def go_first(group: ControlGroup) -> None:
    """Let what runs in a control group with the controller of CPUs go first."""
    name, value = _MOST[group.is_v2]
    (group.folder / name).write_text(value)


def _own_group(root: Path, *, is_v2: bool) -> Path:
    """Folder of the group that this process is in."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (is_v2 and not controllers) or (not is_v2 and root.name in controllers.split(",")):
            return root / path.lstrip("/")
    return root
