"""Create, attach and remove a file that a campaign measures as a device.

It is made in a folder in which no other user can exchange it, under a name of the campaign's own. Whose loop device it
is, is identified by the file's device and inode, which the journal has, and by that name: numbers may have been given to
others since (loop(4), LOOP_GET_STATUS64).
"""

import contextlib
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from assay.campaign.campaign_file import LoopFile
from assay.campaign.journal import ImageMade, ImageNamed, Journal
from assay.devices.device_identity import loop_status, node_path
from assay.devices.system_commands import carry_out
from assay.errors import InputError, RunError, reason_of
from assay.host.reading import SystemTree
from assay.own_files import open_safe_folder
from assay.targets import check_directory, room
from assay.units import MIB

RESERVE_BYTES: Final = 256 * MIB
"""Space that stays free in addition to the file."""
_LOOP_CLR_FD: Final = 0x4C01
_PATIENCE_S, _PAUSE_S = 30.0, 0.05
_DELETED: Final = " (deleted)"
"""Behind the name of a file that has none any more, as the kernel shows it."""


class LoopFolder(NamedTuple):
    """The folder of a campaign's files, open."""

    path: Path
    descriptor: int
    campaign: str

    def check_name(self, name: str) -> None:
        """Raise InputError for a name that this campaign gives to no file."""
        if not re.fullmatch(rf"assay-{re.escape(self.campaign)}-[0-9a-f]{{16}}\.img", name, re.ASCII):
            raise InputError(
                f"'{name[:80]}' is no file that the campaign '{self.campaign}' makes; nothing is done to it"
            )


@contextlib.contextmanager
def loop_folder(loop: LoopFile, campaign: str) -> Iterator[LoopFolder]:
    """Open the folder of a campaign's files; raises InputError where other users can exchange what lies there."""
    path = check_directory(loop.folder)
    cure = "name another in [loop], such as a folder of your own or /var/tmp"
    try:
        descriptor = open_safe_folder(path, cure=cure)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; {cure}") from error
    try:
        yield LoopFolder(path, descriptor, campaign)
    finally:
        os.close(descriptor)


def make_image(folder: LoopFolder, loop: LoopFile, journal: Journal) -> ImageMade:
    """Make the file, with all its blocks; raises RunError where there is no room."""
    free = room(folder.path, reserve_bytes=RESERVE_BYTES)
    free.require(needed_bytes=loop.size_bytes, cure="name a smaller size in [loop]")
    name = f"assay-{folder.campaign}-{secrets.token_hex(8)}.img"
    journal.append(ImageNamed(name=name))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, 0o600, dir_fd=folder.descriptor)
        try:
            status = os.fstat(descriptor)
            made = ImageMade(name=name, device=status.st_dev, inode=status.st_ino)
            journal.append(made)
            os.posix_fallocate(descriptor, 0, loop.size_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RunError(f"{folder.path / name}: {reason_of(error)}") from error
    return made


def fill_holes(folder: LoopFolder, image: ImageMade, loop: LoopFile) -> None:
    """Give the file all its blocks again, where a file system gave some back; raises RunError."""
    path = folder.path / image.name
    try:
        descriptor = os.open(image.name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.descriptor)
        try:
            if not _is_image(os.fstat(descriptor), image):
                raise RunError(f"{path} was replaced by another file; nothing was written to it")
            os.posix_fallocate(descriptor, 0, loop.size_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RunError(f"{path}: {reason_of(error)}") from error


def attach(folder: LoopFolder, image: ImageMade, *, direct_io: bool) -> str:
    """Attach the file to a free loop device; gives its path.

    Raises:
        RunError: it cannot be, or the device has another file.
    """
    path = folder.path / image.name
    words = ["losetup", "--find", "--show", f"--direct-io={'on' if direct_io else 'off'}", str(path)]
    device = carry_out(words).strip()
    if not _has(device, image):
        raise RunError(f"{path} was replaced by another file while it was attached; {device} has that one")
    return device


def loops_of(image: ImageMade) -> Iterator[str]:
    """Name the loop devices of a file."""
    tree = SystemTree()
    for name in tree.names("/sys/block"):
        if name.startswith("loop") and tree.is_directory(f"/sys/block/{name}/loop") and _has(node_path(name), image):
            yield node_path(name)


def detach(image: ImageMade) -> None:
    """Detach all loop devices of a file, and wait until they are gone; raises RunError."""
    deadline_s = time.monotonic() + _PATIENCE_S
    for device in list(loops_of(image)):
        _detach(device, image)
    # Detaching is lazy: a device goes when its last opener closes it.
    while left := list(loops_of(image)):
        if time.monotonic() > deadline_s:
            raise RunError(f"{left[0]} is still in use by somebody; 'losetup --detach {left[0]}' when it is not")
        time.sleep(_PAUSE_S)


def remove_image(folder: LoopFolder, image: ImageMade) -> bool:
    """Remove the file, if it still is the one that was made; returns whether it did."""
    with contextlib.suppress(OSError):
        there = os.stat(image.name, dir_fd=folder.descriptor, follow_symlinks=False)
        if _is_image(there, image):
            os.unlink(image.name, dir_fd=folder.descriptor)
            return True
    return False


def remove_named(folder: LoopFolder, named: ImageNamed) -> None:
    """Remove an empty file that was made, and killed before its inode was noted."""
    with contextlib.suppress(OSError):
        there = os.stat(named.name, dir_fd=folder.descriptor, follow_symlinks=False)
        if _is_own(there) and there.st_size == 0:
            os.unlink(named.name, dir_fd=folder.descriptor)


def _is_own(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1


def _is_image(status: os.stat_result, image: ImageMade) -> bool:
    return _is_own(status) and (status.st_dev, status.st_ino) == (image.device, image.inode)


def _has(device: str, image: ImageMade) -> bool:
    """Whether an image is behind a loop device: by its inode, and by its name, which the inode's next file has not."""
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _has_open(descriptor, device, image)
    finally:
        os.close(descriptor)


def _has_open(descriptor: int, device: str, image: ImageMade) -> bool:
    status = loop_status(descriptor)
    if status is None or status.behind or (status.device, status.inode) != (image.device, image.inode):
        return False
    shown = SystemTree().read(f"/sys/block/{Path(device).name}/loop/backing_file").text or ""
    return PurePosixPath(shown.removesuffix(_DELETED)).name == image.name


def _detach(device: str, image: ImageMade) -> None:
    """Detach a loop device by the descriptor that named its file; raises RunError."""
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if _has_open(descriptor, device, image):
                fcntl.ioctl(descriptor, _LOOP_CLR_FD)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RunError(f"{device} could not be detached: {error.strerror}") from error
