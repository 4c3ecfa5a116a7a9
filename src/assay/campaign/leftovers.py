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
from assay.campaign.free_device import BlockNode, node_of
from assay.campaign.journal import FileSystemNamed, ImageMade, ImageNamed, Journal, SchedulerFound
from assay.campaign.mounted_file_system import mounts_on, scheduler_of, set_scheduler, unmount
from assay.errors import InputError, RunError
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
    yield from restore_schedulers(journal, own)
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


def put_back(journal: Journal) -> Iterator[str]:
    """Undo what a campaign left that nobody goes on with, yielding a line about each thing.

    Its device is known again by what the journal says of it, and is left with the last file system that was made on it.

    Raises:
        InputError: its device is not there, or cannot be told from others.
        RunError: something of its own is still in use.
    """
    begun = journal.begun
    if begun is None or begun.device is None:
        yield from take_away(journal, ())
        return
    node = node_of(begun.device)
    if node is None:
        raise InputError(
            f"{journal.folder}: the device of this campaign ({begun.device.size_bytes} bytes,"
            f" {begun.device.serial or begun.device.number}) is not there; attach it, so that it can be put back"
        )
    yield from take_away(journal, names_of(node))
    if any(isinstance(line, FileSystemNamed) for line in journal.lines):
        yield f"{node.path}: carries what the campaign made on it last; 'wipefs --all {node.path}' takes it off"


def names_of(node: BlockNode) -> frozenset[str]:
    """Name a device, and the disk whose queue it has, as in /sys/class/block."""
    return frozenset({node.name, Path(node.queue).parent.name})


def restore_schedulers(journal: Journal, own: Collection[str]) -> list[str]:
    """Give the queues of own devices the scheduler that the campaign found there, and say so of each."""
    told = []
    found = {line.queue: line.scheduler for line in reversed(journal.lines) if isinstance(line, SchedulerFound)}
    for queue, scheduler in found.items():
        # A device that is not the campaign's any more is somebody else's now, or nobody's.
        if Path(queue).parent.name in own and scheduler_of(queue) not in {None, scheduler}:
            set_scheduler(queue, scheduler)
            told.append(f"{queue}/scheduler: {scheduler} again, as it was before the campaign")
    return told


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
