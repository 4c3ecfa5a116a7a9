"""What a session does when it is told to end, and what the next one clears of a session that was killed.

A killed session leaves its devices. Most harm nobody; one whose file a dead server showed makes every `mkfs.btrfs` and
`losetup` of the machine fail that looks at all loop devices, so those are taken away: they have a name of the testbed, and
nobody can read or write them any more.
"""

import errno
import os
import re
import signal
import sys
from pathlib import Path
from types import FrameType

from testbed.host import command
from testbed.leaks import loops_of_machine

_SHOWN = re.compile(r".*/assay-(nbd|truth)-[^/]+/disk\.img$")
_MOUNTED = re.compile(r".*/assay-mount-[^/]+$")


def unwind_when_ended() -> None:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that devices and mounts are undone."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(f"signal {number}")

    signal.signal(signal.SIGTERM, interrupt)
    # Who runs this by nohup has programs deaf to it, and a deaf Assay is as its user wants it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


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
