"""Limits of the programs themselves: memory, open files, sizes of files, and words that nobody takes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.faults.fault import Fault, Moment, Place, Scene
from e2e.faults.load import SHORT
from e2e.faults.space import nothing
from e2e.faults.storage import plain
from testbed.devices import MIB
from testbed.host import need_root, wait_until
from testbed.leaks import made

OOM_FIRST = "1000"
GROUP_BYTES = 1024 * MIB
MANY_WORKERS = {"job": 'workers = 20\nop = { op = "read", set = "data", access = "random", size = "4KiB" }', **SHORT}


@contextmanager
def in_memory_group(folder: Path) -> Iterator[Place]:
    """Folders; what is started from here may have so much memory together."""
    need_root()
    root = Path("/sys/fs/cgroup/memory")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    if not root.is_dir():
        root, names = Path("/sys/fs/cgroup"), ("memory.max", "memory.current")
    group = root / f"assay-test-memory-{os.getpid()}"
    group.mkdir()
    made.cgroups.add(group)
    try:
        if not (group / names[0]).exists():
            pytest.skip("needs control groups that limit memory")
        (group / names[0]).write_text(str(GROUP_BYTES))
        (folder / "group").symlink_to(group)
        with plain(folder) as place:
            yield place
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip(), f"{group} empty")
        group.rmdir()


EAT = """
import pathlib, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text("0")
pathlib.Path("/proc/self/oom_score_adj").write_text("0")
eaten = []
try:
    while pathlib.Path(sys.argv[2]).exists():
        eaten.append(b"x" * (16 << 20))
finally:
    pass
"""


def take_memory_from(scene: Scene, victim: int) -> None:
    """Take what memory there is, until the kernel kills the victim."""
    Path(f"/proc/{victim}/oom_score_adj").write_text(OOM_FIRST)
    eater = subprocess.Popen([sys.executable, "-c", EAT, scene.scratch / "group", f"/proc/{victim}/io"])
    scene.mending.callback(eater.wait)
    scene.mending.callback(eater.kill)


def kill_engine_for_memory(scene: Scene) -> None:
    """The kernel chooses the engine."""
    take_memory_from(scene, scene.engine)


FAULTS = (
    Fault(
        name="memory runs out, and the kernel kills the engine",
        moment=Moment.IN_PHASE,
        provoke=kill_engine_for_memory,
        storage=in_memory_group,
        started_by='echo $$ > "$GROUP/cgroup.procs"; exec "$@"',
        env={"GROUP": "{folder}/group"},
        lost="nobody was left to remove it",
    ),
    Fault(
        name="too little memory (`ulimit -v`)",
        moment=Moment.START,
        is_rare=True,
        provoke=nothing,
        storage=plain,
        started_by='ulimit -v 500000; exec "$@"',
        load=SHORT,
    ),
    Fault(
        name="too few open files (`ulimit -n`)",
        moment=Moment.START,
        is_rare=True,
        provoke=nothing,
        storage=plain,
        started_by='ulimit -n 16; exec "$@"',
        load=MANY_WORKERS,
    ),
    Fault(
        name="too large a file (`ulimit -f`)",
        moment=Moment.START,
        is_rare=True,
        provoke=nothing,
        storage=plain,
        started_by='ulimit -f 1024; exec "$@"',
        load=SHORT,
    ),
    Fault(
        name="standard error is on a full disk",
        moment=Moment.START,
        is_rare=True,
        provoke=nothing,
        storage=plain,
        started_by='exec "$@" 2> /dev/full',
        load=SHORT,
        unharmed="words beside the answer change nothing",
    ),
    Fault(
        name="standard output is on a full disk",
        moment=Moment.START,
        provoke=nothing,
        storage=plain,
        started_by='exec "$@" > /dev/full',
        load=SHORT,
        unharmed="the run was sealed before",
    ),
)
