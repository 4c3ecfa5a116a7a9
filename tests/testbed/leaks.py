"""Is anything of this test session left on the machine?

Everything that the testbed makes is noted here as it is made; at the end the kernel is asked whether it still exists.
Other programs, and other test sessions, use loops and mounts too: what this session did not make is not its business.
Processes are told by an environment variable that every child inherits. Zombies are ignored: pid 1 may reap them late.
"""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from testbed.host import command

SESSION_VARIABLE = "ASSAY_TEST_SESSION"
ENDING_S = 60.0
"""Patience with a process that was told to end, on a machine of any speed."""


@dataclass
class Made:
    """What this session has made so far."""

    loops: dict[str, Path] = field(default_factory=dict)
    """Device to backing file: a number alone may have been given to somebody else since."""
    mounts: set[Path] = field(default_factory=set)
    cgroups: set[Path] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    interfaces: set[str] = field(default_factory=set)
    """Of the network."""


made = Made()


def loops_of_machine() -> dict[str, Path]:
    """Every attached loop device and its backing file."""
    return {
        f"/dev/{sysfs.parent.parent.name}": Path(_read(sysfs).strip())
        for sysfs in Path("/sys/block").glob("loop*/loop/backing_file")
    }


def mounts_of_machine() -> set[Path]:
    """Every mount point of this mount namespace."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {Path(line.split()[4].encode().decode("unicode_escape")) for line in lines}


def processes_of(session: str) -> list[str]:
    """Processes other than this one that carry the session's mark, as `pid command`."""
    mark = f"{SESSION_VARIABLE}={session}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        try:
            # The environment of a zombie reads as empty.
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(f"{folder.name} {_read(folder / 'comm').strip()}")
        except OSError:
            continue
    return found


def left_over(session: str, ending_s: float = 0) -> list[str]:
    """List what is left, one line each; wait for processes that are still ending, for `ending_s` at most."""
    end_s = time.monotonic() + ending_s
    while (processes := processes_of(session)) and time.monotonic() < end_s:
        time.sleep(0.1)
    attached = loops_of_machine()
    mounted = mounts_of_machine()
    return [
        *(f"loop {device} on {file}" for device, file in made.loops.items() if attached.get(device) == file),
        *(f"mount {path}" for path in sorted(made.mounts & mounted)),
        *(f"cgroup {path}" for path in sorted(made.cgroups) if path.exists()),
        *(f"namespace {name}" for name in sorted(made.namespaces) if Path("/run/netns", name).exists()),
        *(f"interface {name}" for name in sorted(made.interfaces) if Path("/sys/class/net", name).exists()),
        *(f"process {process}" for process in processes),
    ]


def unmount(path: Path) -> None:
    """Unmount, with patience for what is ending; when something still uses it, detach it from the tree and say so."""
    deadline_s = time.monotonic() + ENDING_S
    while True:
        try:
            command("umount", path)
        except RuntimeError as error:
            if "busy" in str(error) and time.monotonic() < deadline_s:
                time.sleep(0.1)
                continue
            command("umount", "--lazy", path)
            raise
        return


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
