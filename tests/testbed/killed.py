"""Undo everything when a session gets a signal, and clear what a killed session left in the way.

A killed session leaves its devices. Most harm nobody; one whose file a dead server showed makes every `mkfs.btrfs` and
`losetup` of the machine fail that looks at all loop devices, so those are taken away: they have a name of the testbed, and
nobody can read or write them any more.
"""

import errno
import os
import re
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from testbed.host import command
from testbed.leaks import loops_of_machine

_ENDING = (signal.SIGTERM, signal.SIGINT)
_ended_by: list[int] = []
_SHOWN = re.compile(r".*/assay-(nbd|truth)-[^/]+/disk\.img$")
_MOUNTED = re.compile(r".*/assay-mount-[^/]+$")


def unwind_when_ended() -> None:
    """Let the first SIGTERM or SIGINT unwind the stack, so that devices and mounts are undone; ignore later ones.

    A shell starts a job in the background with SIGINT ignored, and nohup does the same with SIGHUP. Both end a session, and
    the programs that it starts, all the same.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        _ended_by.append(number)
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(f"signal {number}")

    for number in _ENDING:
        signal.signal(number, interrupt)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def is_ended() -> bool:
    """Whether a signal has ended this session."""
    return bool(_ended_by)


def end_workers(wait_s: float) -> None:
    """End the workers of a parallel session, which this process started, and wait until they have undone everything."""
    children = [int(pid) for own in Path("/proc/self/task").glob("*/children") for pid in own.read_text().split()]
    for pid in children:
        os.kill(pid, signal.SIGTERM)
    end_s = time.monotonic() + wait_s
    while any(_runs(pid) for pid in children) and time.monotonic() < end_s:
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def clear_dead_devices() -> None:
    """Take away the testbed's loop devices whose file nobody serves any more, and say so."""
    if os.geteuid() != 0:
        return
    for device, file in loops_of_machine().items():
        if not _SHOWN.match(str(file)) or not _is_dead(file):
            continue
        mounts = [at for source, at in _mounts() if source == device]
        if any(not _MOUNTED.match(at) for at in mounts):
            continue
        for at in mounts:
            command("umount", "--lazy", at)
        command("losetup", "--detach", device)
        command("umount", "--lazy", file)
        sys.stderr.write(f"cleared {device}, which a killed session left on {file}\n")


def _is_dead(file: Path) -> bool:
    try:
        file.stat()
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def _mounts() -> list[tuple[str, str]]:
    """Source and place of every mount."""
    fields = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [(source, at) for source, at, *_ in fields]
