"""What did a campaign that was killed leave behind, and what of it is really its own?

Its journal names what it made outside of its folder, before it made it. Ended is a process that has a mark of its own
among its words; unmounted what lies on its own mount point and is its own device; detached a loop device whose file
is the one that it made, by device and inode; removed that file. Nothing else is touched.
"""

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from assay.campaign import loop_image
from assay.campaign.journal import ImageMade, ImageNamed, Journal, SchedulerFound
from assay.campaign.mounted_file_system import mounts_on, scheduler_of, set_scheduler, unmount
from assay.errors import RunError
from assay.host.block import name_of_path
from assay.host.reading import SystemTree

_TERM_S: Final = 120.0
"""So long may a run take to remove its data, before it is killed."""
_PAUSE_S = 0.1


def take_away(journal: Journal, devices: Collection[str]) -> Iterator[str]:
    """Undo what an earlier start of the campaign left, yielding a line about each thing.

    Args:
        journal: Of the campaign.
        devices: Names in /sys/class/block of the device that it overwrites; none: it has loop files.

    Raises:
        RunError: something of its own is still in use.
    """
    yield from _end(journal.open_marks())
    images = [line for line in journal.lines if isinstance(line, ImageMade)]
    loops = {Path(loop).name: image for image in images for loop in loop_image.loops_of(image)}
    own = {*loops, *devices}
    for mount in mounts_on(journal.mount_point):
        source = name_of_path(SystemTree(), mount.source)
        if source not in own:
            raise RunError(f"{journal.mount_point}: {mount.source} is mounted there, which this campaign did not make")
        unmount(journal.mount_point)
        yield f"{journal.mount_point}: unmounted, which an earlier start left"
        break
    restore_schedulers(journal, own)
    for loop, image in loops.items():
        loop_image.detach(image)
        yield f"/dev/{loop}: detached, which an earlier start left"
    for image in images:
        if loop_image.remove_image(image):
            yield f"{image.path}: removed, which an earlier start left"
    made = {image.path for image in images}
    for line in journal.lines:
        if isinstance(line, ImageNamed) and line.path not in made:
            loop_image.remove_named(line)


def restore_schedulers(journal: Journal, own: Collection[str]) -> None:
    """Give the queues of own devices the scheduler that the campaign found there."""
    found = {line.queue: line.scheduler for line in reversed(journal.lines) if isinstance(line, SchedulerFound)}
    for queue, scheduler in found.items():
        # A loop device that is not the campaign's any more is somebody else's now, or nobody's.
        if (Path(queue).parent.name in own or not Path(queue).parent.name.startswith("loop")) and scheduler_of(
            queue
        ) not in {None, scheduler}:
            set_scheduler(queue, scheduler)


def _end(marks: Collection[str]) -> Iterator[str]:
    """End the measurements that outlived the program that began them."""
    deadline_s = time.monotonic() + _TERM_S
    told: set[int] = set()
    while running := processes_with(marks):
        is_late = time.monotonic() > deadline_s
        for process in running:
            if process not in told or is_late:
                told.add(process)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL if is_late else signal.SIGTERM)
        time.sleep(_PAUSE_S)
    if told:
        yield f"process {', '.join(map(str, sorted(told)))}: ended, a measurement that an earlier start left"


def processes_with(marks: Collection[str]) -> list[int]:
    """Find measurements with one of these marks on their command line; a dead process has none."""
    wanted = {mark.encode() for mark in marks}
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = set((process / "cmdline").read_bytes().split(b"\0"))
            if wanted & words and b"--no-report" in words:
                found.append(int(process.name))
    return sorted(found)
