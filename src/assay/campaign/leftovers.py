"""Find what a killed campaign left, and which of it is its own.

Its journal, which only this user's Assay can have written, names what it made outside of its folder, before it made it. Even
so the list is short: ended is the process that was recorded, unmounted what lies on its own mount point and is its own
device, detached a loop device whose file is the one that it made, removed that file from its own loop folder, and given back
to a queue of its own device a scheduler that it offers. Nothing else is touched.
"""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from assay.campaign import loop_image
from assay.campaign.journal import (
    FileSystemNamed,
    ImageMade,
    ImageNamed,
    Journal,
    MeasurementStarted,
    SchedulerFound,
    SlotFailed,
    SlotMeasured,
)
from assay.campaign.loop_image import LoopFolder
from assay.campaign.mounted_file_system import mounts_on, unmount
from assay.campaign.recorded_process import ProcessIdentity, found
from assay.campaign.schedulers import scheduler_file, scheduler_of, set_scheduler
from assay.devices.device_identity import BlockNode, block_node, boot_id, node_of, node_path
from assay.errors import InputError, RunError
from assay.host.block import name_of_number, name_of_path
from assay.host.mounts import Mount
from assay.host.reading import SystemTree

_TERM_S: Final = 120.0
"""So long may a run take to remove its data, before it is killed."""
_NO_DEVICE: Final = "0:"
"""Begins the number of a file system that has no block device of its own, such as btrfs."""


def take_away(journal: Journal, devices: Collection[str]) -> Iterator[str]:
    """Undo what an earlier start of the campaign left, yielding a line about each thing.

    Args:
        journal: Of the campaign, open, and so this user's own.
        devices: Names in /sys/class/block of the device that it overwrites; none: it has loop files.

    Raises:
        InputError: its loop folder is one in which other users can exchange files.
        RunError: something of its own is still in use.
    """
    with _loop_folder(journal) as folder:
        images = [line for line in journal.lines if isinstance(line, ImageMade)] if folder else []
        named = [line for line in journal.lines if isinstance(line, ImageNamed)] if folder else []
        if folder is not None:
            for name in (*(line.name for line in images), *(line.name for line in named)):
                folder.check_name(name)
        yield from _end(journal)
        loops = {Path(loop).name: image for image in images for loop in loop_image.loops_of(image)}
        own = {*loops, *devices}
        if mounts := mounts_on(journal.mount_point):
            for mount in mounts:
                if _device_of(mount) not in own:
                    raise RunError(
                        f"{journal.mount_point}: {mount.source} is mounted there, which this campaign did not make"
                    )
            unmount(journal.mount_point)
            yield f"{journal.mount_point}: unmounted, which an earlier start left"
        yield from restore_schedulers(journal, own)
        for loop, image in loops.items():
            loop_image.detach(image)
            yield f"{node_path(loop)}: detached, which an earlier start left"
        if folder is not None:
            yield from _remove(folder, images, named)


def _remove(folder: LoopFolder, images: Collection[ImageMade], named: Collection[ImageNamed]) -> Iterator[str]:
    for image in images:
        if loop_image.remove_image(folder, image):
            yield f"{folder.path / image.name}: removed, which an earlier start left"
    made = {image.name for image in images}
    for line in named:
        if line.name not in made:
            loop_image.remove_named(folder, line)


@contextlib.contextmanager
def _loop_folder(journal: Journal) -> Iterator[LoopFolder | None]:
    """Open the folder in which the campaign makes its files; None: it makes none, or the folder is gone with them."""
    begun = journal.begun
    loop = None if begun is None or begun.device is not None else begun.campaign.loop
    if begun is None or loop is None or not Path(loop.folder).exists():
        yield None
        return
    with loop_image.loop_folder(loop, begun.campaign.name) as folder:
        yield folder


def _device_of(mount: Mount) -> str | None:
    """Name the device of a mount, in /sys/class/block."""
    tree = SystemTree()
    if mount.device.startswith(_NO_DEVICE):
        return name_of_path(tree, mount.source)
    return name_of_number(tree, mount.device)


def put_back(journal: Journal) -> Iterator[str]:
    """Undo what a campaign left that nobody goes on with, yielding a line about each thing.

    Its device is recognised by the data in the journal, and is left with the last file system that was made on it.

    Raises:
        InputError: its device is not there, or cannot be distinguished from others.
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
    return frozenset({node.name, node.disk})


def scheduler_found(disk: str) -> SchedulerFound | None:
    """Note which scheduler a disk has; None: it has none."""
    scheduler = scheduler_of(disk)
    if scheduler is None:
        return None
    return SchedulerFound(disk=disk, scheduler=scheduler, diskseq=_diskseq(disk), boot_id=boot_id())


def restore_schedulers(journal: Journal, own: Collection[str]) -> list[str]:
    """Restore the I/O scheduler of the campaign's disks, and report each."""
    parts = []
    first = {
        (line.disk, line.diskseq, line.boot_id): line
        for line in reversed(journal.lines)
        if isinstance(line, SchedulerFound)
    }
    for line in first.values():
        # A device that is not the campaign's any more is somebody else's now; another start of the kernel has its own.
        if line.disk not in own or line.boot_id != boot_id() or line.diskseq != _diskseq(line.disk):
            continue
        if scheduler_of(line.disk) not in {None, line.scheduler}:
            set_scheduler(line.disk, line.scheduler)
            parts.append(f"{scheduler_file(line.disk)}: {line.scheduler} again, as it was before the campaign")
    return parts


def _diskseq(disk: str) -> int | None:
    try:
        return block_node(node_path(disk)).identity.diskseq
    except (InputError, RunError):
        return None


def _end(journal: Journal) -> Iterator[str]:
    """End the measurements that outlived the program that began them."""
    running: dict[int, MeasurementStarted] = {}
    for line in journal.lines:
        if isinstance(line, MeasurementStarted):
            running[line.slot] = line
        elif isinstance(line, SlotMeasured | SlotFailed):
            running.pop(line.slot, None)
    for started in running.values():
        with found(ProcessIdentity(started.process, started.started_ticks, started.boot_id)) as process:
            if process is not None:
                process.end(_TERM_S)
                yield f"process {process.number}: ended, a measurement that an earlier start left"
