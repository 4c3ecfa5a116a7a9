"""Identify a device, and check that it is still the same medium.

A path and a number (major:minor) are given anew when a device goes and another comes. So a device is known by its number,
its size, what it calls itself, and the sequence number of its medium (BLKGETDISKSEQ, Linux 5.15), which the kernel gives to
no other until it starts anew. A loop device calls itself by its file: device, inode and offset.
"""

import fcntl
import os
import stat
import struct
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from assay.errors import InputError, RunError
from assay.host.block import BLOCK, name_of_number, whole_disk
from assay.host.reading import SystemTree

SERIALS: Final = ("wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid")
"""Files of a device in sysfs, any of which may have what it calls itself."""
_BLKGETSIZE64: Final = 0x80081272
_BLKGETDISKSEQ: Final = 0x80081280
_LOOP_GET_STATUS64: Final = 0x4C05
_STATUS: Final = struct.Struct("=QQQQQ192x")
"""struct loop_info64 (linux/loop.h): device, inode, the device that a node behind it is of, offset and limit of size."""
_NUMBER: Final = struct.Struct("=Q")


class DeviceIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By which a device is known again."""

    size_bytes: int
    serial: str
    """What it calls itself (wwid, serial, UUID of a mapping, file of a loop device); empty: it has nothing."""
    number: str
    """`major:minor`."""
    start_bytes: int = 0
    """Of a partition."""
    diskseq: int | None = None
    """Of its medium; None: the kernel is too old."""
    boot_id: str = ""
    """Of the kernel that gave numbers."""

    def is_medium_of(self, other: "DeviceIdentity") -> bool:
        """Whether both are of one medium, whatever it is called, also after the machine started anew."""
        if (self.size_bytes, self.start_bytes) != (other.size_bytes, other.start_bytes):
            return False
        if self.serial or other.serial:
            return self.serial == other.serial
        is_seen_by_one_kernel = self.boot_id == other.boot_id
        return self.number == other.number and (not is_seen_by_one_kernel or self.diskseq == other.diskseq)


class BlockNode(msgspec.Struct, frozen=True, kw_only=True):
    """A block device that the user named."""

    path: str
    """Of its node: the one that the kernel made for it, if there is one."""
    name: str
    """In /sys/class/block."""
    identity: DeviceIdentity

    @property
    def disk(self) -> str:
        """Name of the disk whose queue it has: that of a partition is the whole one's."""
        return whole_disk(SystemTree(), self.name)


class LoopStatus(NamedTuple):
    """What is behind a loop device."""

    device: int
    """Of the file's file system, as in `st_dev`."""
    inode: int
    behind: int
    """Number of the block device that the file is a node of, as in `st_rdev`; 0: it is a file with data."""
    offset_bytes: int
    limit_bytes: int
    """0: there is none."""


def block_node(path: str, *, is_read: bool = False) -> BlockNode:
    """Look at the device that a path names; raises InputError where it is none that can be written to, or `is_read`."""
    if "\0" in path or path == "":
        raise InputError(f"'{path}' is no device")
    try:
        resolved = os.path.realpath(path, strict=True)
        if not stat.S_ISBLK(os.stat(resolved).st_mode):  # noqa: PTH116 - bytes of a name may be anything
            raise InputError(f"{path} is no block device; name one, such as /dev/nvme0n1")
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError as error:
        raise InputError(f"{path}: {error.strerror}: run as root, or as a member of the device's group") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a block device, such as /dev/nvme0n1") from None
    try:
        return node_of_open(descriptor, resolved, is_read=is_read)
    finally:
        os.close(descriptor)


def logical_block_bytes(node: BlockNode) -> int | None:
    """Return what offsets and sizes of direct I/O are multiples of; None: unknown."""
    text = SystemTree().read(f"{BLOCK}/{node.disk}/queue/logical_block_size").text
    return int(text) if text and text.isdecimal() else None


def measured_node(path: str) -> BlockNode:
    """Look at a device that is to be measured; raises InputError where it is none that can be."""
    node = block_node(path, is_read=True)
    if (zoned := SystemTree().read(f"{BLOCK}/{node.disk}/queue/zoned").text) not in {None, "none"}:
        raise InputError(
            f"{path} is a zoned device ({zoned}), which takes writes in order only: Assay does not measure these"
        )
    return node


def node_of_open(descriptor: int, path: str, *, is_read: bool = False) -> BlockNode:
    """Look at an open block device; raises as `block_node` does."""
    number = number_of(os.fstat(descriptor).st_rdev)
    tree = SystemTree()
    name = name_of_number(tree, number)
    if name is None:
        raise RunError(f"{path}: /sys/dev/block/{number} is not there, so its users are unknown")
    size = _asked(descriptor, _BLKGETSIZE64)
    if not size:
        raise InputError(f"{path} has no size: there is no medium")
    if not is_read and tree.read(f"{BLOCK}/{name}/ro").text == "1":
        raise InputError(f"{path} is read-only")
    identity = DeviceIdentity(
        size_bytes=size,
        serial=_serial(tree, descriptor, name),
        number=number,
        start_bytes=int(tree.read(f"{BLOCK}/{name}/start").text or 0) * 512,
        diskseq=_asked(descriptor, _BLKGETDISKSEQ),
        boot_id=boot_id(),
    )
    # The kernel's own node, where it is there: what another path leads to can change.
    own = Path(node_path(name))
    return BlockNode(path=str(own) if same_name(own, descriptor) else path, name=name, identity=identity)


def node_of(identity: DeviceIdentity) -> BlockNode | None:
    """Find the device of an identity; None where it is not there, or where several are alike."""
    found = []
    for name in SystemTree().names(BLOCK):
        try:
            node = block_node(node_path(name))
        except (InputError, RunError):  # such as a reader without a card
            continue
        if node.identity.is_medium_of(identity):
            found.append(node)
    return found[0] if len(found) == 1 else None


def loop_status(descriptor: int) -> LoopStatus | None:
    """Ask an open loop device what is behind it; None: nothing, or it is none."""
    try:
        text = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_STATUS.size))
    except OSError:
        return None
    # The kernel's encoding of a device number is that of the C library (new_encode_dev).
    return LoopStatus(*_STATUS.unpack(text))


def loop_status_of(name: str) -> LoopStatus | None:
    """Ask a loop device by its name in /sys/class/block; None: nothing is behind it.

    Raises:
        RunError: something is, and it cannot be asked.
    """
    if not SystemTree().is_directory(f"{BLOCK}/{name}/loop"):
        return None
    try:
        descriptor = os.open(node_path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RunError(f"{node_path(name)}: {error.strerror}; its backing file is unknown") from error
    try:
        is_it = number_of(os.fstat(descriptor).st_rdev) == SystemTree().read(f"{BLOCK}/{name}/dev").text
        status = loop_status(descriptor) if is_it else None
    finally:
        os.close(descriptor)
    if status is None and SystemTree().is_directory(f"{BLOCK}/{name}/loop"):
        raise RunError(f"{node_path(name)} is not the loop device {name}; its backing file is unknown")
    return status


def node_path(name: str) -> str:
    """Path of the node that the kernel makes for a device: `cciss!c0d0` of sysfs is /dev/cciss/c0d0."""
    return f"/dev/{name.replace('!', '/')}"


def number_of(device: int) -> str:
    """Write a device's number as sysfs does."""
    return f"{os.major(device)}:{os.minor(device)}"


def boot_id() -> str:
    """Name this start of the kernel; empty if unknown."""
    return SystemTree().read("/proc/sys/kernel/random/boot_id").text or ""


def same_name(path: Path, descriptor: int) -> bool:
    """Whether a path still names the device that is open."""
    try:
        there = path.lstat()
    except OSError:
        return False
    return stat.S_ISBLK(there.st_mode) and there.st_rdev == os.fstat(descriptor).st_rdev


def _serial(tree: SystemTree, descriptor: int, name: str) -> str:
    if (loop := loop_status(descriptor)) is not None:
        return f"loop {number_of(loop.device)} {loop.inode} {number_of(loop.behind)} {loop.offset_bytes}"
    disk = whole_disk(tree, name)
    text = tree.first(*(f"{BLOCK}/{name}/{each}" for each in SERIALS)).text
    text = text or tree.first(*(f"{BLOCK}/{disk}/{each}" for each in SERIALS)).text
    return f"{text}#{tree.read(f'{BLOCK}/{name}/partition').text or ''}" if text else ""


def _asked(descriptor: int, request: int) -> int | None:
    try:
        number: int = _NUMBER.unpack(fcntl.ioctl(descriptor, request, bytes(_NUMBER.size)))[0]
    except OSError:
        return None
    return number
