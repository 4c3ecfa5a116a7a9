"""A file that a campaign makes and measures as a device: made, attached, and taken away again.

Whose file and loop device it is, is told by the file's device and inode, which the journal has: names and numbers may have
been given to others since (loop(4), LOOP_GET_STATUS64).
"""

import contextlib
import fcntl
import os
import secrets
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assay.campaign.campaign_file import LoopFile
from assay.campaign.journal import ImageMade, ImageNamed, Journal
from assay.campaign.system_commands import carry_out
from assay.errors import RunError, reason_of
from assay.host.reading import SystemTree
from assay.targets import check_directory, room
from assay.units import MIB

RESERVE_BYTES: Final = 256 * MIB
"""Stays free beside the file."""
_LOOP_GET_STATUS64: Final = 0x4C05
_STATUS: Final = struct.Struct("=QQ216x")
"""struct loop_info64 (linux/loop.h): device and inode of the file, then what is not needed here."""
_PATIENCE_S, _PAUSE_S = 30.0, 0.05


def make_image(loop: LoopFile, name: str, journal: Journal) -> ImageMade:
    """Make the file, with all its blocks; raises RunError where there is no room."""
    folder = check_directory(loop.folder)
    free = room(folder, reserve_bytes=RESERVE_BYTES)
    free.require(needed_bytes=loop.size_bytes, cure="name a smaller size in [loop]")
    path = folder / f"assay-{name}-{secrets.token_hex(8)}.img"
    journal.append(ImageNamed(path=str(path)))
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            status = os.fstat(descriptor)
            made = ImageMade(path=str(path), device=status.st_dev, inode=status.st_ino)
            journal.append(made)
            os.posix_fallocate(descriptor, 0, loop.size_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RunError(f"{path}: {reason_of(error)}") from error
    return made


def fill_holes(image: ImageMade, loop: LoopFile) -> None:
    """Give the file all its blocks again, where a file system gave some back; raises RunError."""
    try:
        descriptor = os.open(image.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _check_same(os.fstat(descriptor), image)
            os.posix_fallocate(descriptor, 0, loop.size_bytes)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RunError(f"{image.path}: {reason_of(error)}") from error


def attach(image: ImageMade, *, direct_io: bool) -> str:
    """Attach the file to a free loop device; gives its path.

    Raises:
        RunError: it cannot be, or the device has another file.
    """
    words = ["losetup", "--find", "--show", f"--direct-io={'on' if direct_io else 'off'}", image.path]
    device = carry_out(words).strip()
    if _behind(device) != (image.device, image.inode):
        carry_out(["losetup", "--detach", device])
        raise RunError(f"{image.path} was replaced by another file while it was attached")
    return device


def loops_of(image: ImageMade) -> Iterator[str]:
    """Name the loop devices of a file."""
    tree = SystemTree()
    for name in tree.names("/sys/block"):
        if name.startswith("loop") and tree.is_directory(f"/sys/block/{name}/loop"):
            device = f"/dev/{name}"
            if _behind(device) == (image.device, image.inode):
                yield device


def detach(image: ImageMade) -> None:
    """Detach all loop devices of a file, and wait until they are gone; raises RunError."""
    deadline_s = time.monotonic() + _PATIENCE_S
    for device in list(loops_of(image)):
        carry_out(["losetup", "--detach", device])
    # Detaching is lazy: a device goes when its last opener closes it.
    while left := list(loops_of(image)):
        if time.monotonic() > deadline_s:
            raise RunError(f"{left[0]} is still in use by somebody; 'losetup --detach {left[0]}' when it is not")
        time.sleep(_PAUSE_S)


def remove_image(image: ImageMade) -> bool:
    """Remove the file, if it still is the one that was made; says whether it did."""
    path = Path(image.path)
    try:
        there = path.lstat()
        if (there.st_dev, there.st_ino) != (image.device, image.inode) or not stat.S_ISREG(there.st_mode):
            return False
        path.unlink()
    except OSError:
        return False
    return True


def remove_named(named: ImageNamed) -> None:
    """Remove an empty file that was made, and killed before its inode was noted."""
    path = Path(named.path)
    with contextlib.suppress(OSError):
        there = path.lstat()
        if stat.S_ISREG(there.st_mode) and there.st_size == 0 and there.st_uid == os.geteuid() and there.st_nlink == 1:
            path.unlink()


def _behind(device: str) -> tuple[int, int] | None:
    """Device and inode of the file behind a loop device; None: there is none."""
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        told = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_STATUS.size))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    number, inode = _STATUS.unpack(told)
    # The kernel's encoding of a device number is that of the C library (new_encode_dev).
    return number, inode


def _check_same(status: os.stat_result, image: ImageMade) -> None:
    if (status.st_dev, status.st_ino) != (image.device, image.inode):
        raise RunError(f"{image.path} was replaced by another file; nothing was written to it")
