"""May a campaign overwrite this device? Only where nobody uses it and it carries nothing that the user did not name.

Used is what is mounted (also as a part of a btrfs), swapped to, held by device mapper, MD or another layer, behind a
loop device, or open in a process; the same of each of its partitions. In the end the kernel is asked: an exclusive
open of a block device fails where anybody holds it (open(2), O_EXCL). What it carries is what wipefs(8) sees: file
systems, RAID and LVM members, partition tables.
"""

import errno
import json
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from assay.campaign.system_commands import carry_out
from assay.errors import InputError, RunError
from assay.host.block import BLOCK, name_of_number, whole_disk
from assay.host.mounts import mounts_of
from assay.host.reading import SystemTree

_PATIENCE_S = 3.0
"""For openers that look at a device and go, such as udev."""
_PAUSE_S = 0.1
_SERIALS = ("wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid")


class DeviceIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """By which a device is known again, whatever it is called then."""

    size_bytes: int
    serial: str
    """What it calls itself (wwid, serial, UUID of a mapping); empty: it has none."""
    number: str
    """`major:minor`: counts where there is no serial."""


class BlockNode(msgspec.Struct, frozen=True, kw_only=True):
    """A block device that the user named."""

    path: str
    """Without symbolic links."""
    name: str
    """In /sys/class/block."""
    identity: DeviceIdentity

    @property
    def queue(self) -> str:
        """Folder of its queue: that of the whole disk of a partition."""
        return f"{BLOCK}/{whole_disk(SystemTree(), self.name)}/queue"


class Signature(msgspec.Struct, frozen=True):
    """Something that a device carries."""

    type: str
    uuid: str = ""


def block_node(path: str) -> BlockNode:
    """Look at the device that a path names; raises InputError where it is none."""
    if "\0" in path or path == "":
        raise InputError(f"'{path}' is no device")
    try:
        resolved = os.path.realpath(path, strict=True)
        status = os.stat(resolved)  # noqa: PTH116 - bytes of a name may be anything
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a block device, such as /dev/nvme0n1") from None
    if not stat.S_ISBLK(status.st_mode):
        raise InputError(f"{path} is no block device; name one, such as /dev/nvme0n1")
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    tree = SystemTree()
    name = name_of_number(tree, number)
    if name is None:
        raise RunError(f"{path}: /sys/dev/block/{number} is not there, so nobody can say who uses it")
    folder = f"{BLOCK}/{name}"
    size = tree.read(f"{folder}/size").text
    serial = tree.first(*(f"{folder}/{each}" for each in _SERIALS))
    if not size or int(size) == 0:
        raise InputError(f"{path} has no size: there is no medium")
    if tree.read(f"{folder}/ro").text == "1":
        raise InputError(f"{path} is read-only")
    part = tree.read(f"{folder}/partition").text or ""
    identity = DeviceIdentity(
        size_bytes=int(size) * 512, serial=f"{serial.text}#{part}" if serial.text else "", number=number
    )
    return BlockNode(path=resolved, name=name, identity=identity)


def node_of(identity: DeviceIdentity) -> BlockNode | None:
    """Find the device that was known by an identity: by its serial and size, or without a serial by its number and size.

    Returns:
        None where it is not there, or where several are alike.
    """
    found = []
    for name in SystemTree().names(BLOCK):
        try:
            node = block_node(f"/dev/{name}")
        except (InputError, RunError):  # such as a reader without a card
            continue
        known = node.identity
        if identity.serial:
            is_same = (known.serial, known.size_bytes) == (identity.serial, identity.size_bytes)
        else:
            is_same = known == identity
        if is_same:
            found.append(node)
    return found[0] if len(found) == 1 else None


def check_free(node: BlockNode, *, over: Collection[str], own: Collection[str]) -> None:
    """Refuse a device that is used, or that carries what was not named.

    Args:
        node: The device.
        over: Types of signatures that the user named.
        own: UUIDs of the campaign's own file systems.

    Raises:
        InputError: with who uses it, or what it carries.
    """
    if why := next(uses(SystemTree(), node), None):
        raise InputError(f"{node.path}: {why}. Nothing is written to it")
    _open_alone(node)
    others = [each for each in signatures(node) if each.uuid not in own or not each.uuid]
    unnamed = sorted({each.type for each in others if each.type not in over})
    if unnamed:
        raise InputError(
            f"{node.path} carries {', '.join(unnamed)}. Nothing is written to it. If all of that may be destroyed, say so: "
            f"--destroy-data {node.path} {' '.join(f'--over {each}' for each in unnamed)}"
        )
    absent = sorted(set(over) - {each.type for each in signatures(node)})
    if absent and not own:
        raise InputError(
            f"--over {absent[0]}: {node.path} does not carry that, so it may be another device than you mean. Nothing is "
            "written to it"
        )


def signatures(node: BlockNode) -> list[Signature]:
    """Name what a device and its partitions carry."""
    found = []
    for name in _parts(SystemTree(), node.name):
        path = node.path if name == node.name else f"/dev/{name}"
        printed = carry_out(["wipefs", "--no-act", "--json", "--output", "TYPE,UUID", path])
        listed = json.loads(printed)["signatures"] if printed.strip() else []
        found += [Signature(str(each["type"]), str(each.get("uuid") or "")) for each in listed]
    return found


def _parts(tree: SystemTree, name: str) -> list[str]:
    """A device and its partitions."""
    folder = f"{BLOCK}/{name}"
    return [name, *(each for each in tree.names(folder) if tree.at(f"{folder}/{each}/partition").exists())]


def uses(tree: SystemTree, node: BlockNode) -> Iterator[str]:
    """Say who uses a device or a part of it."""
    numbers = {tree.read(f"{BLOCK}/{name}/dev").text or "": name for name in _parts(tree, node.name)}
    yield from _carried(tree, numbers)
    yield from _below(tree, numbers)
    deadline_s = time.monotonic() + _PATIENCE_S
    while opener := _opener(set(numbers)):
        if time.monotonic() > deadline_s:
            yield f"{numbers[opener[1]]} is open in process {opener[0]}"
            return
        time.sleep(_PAUSE_S)


def _carried(tree: SystemTree, numbers: Mapping[str, str]) -> Iterator[str]:
    """File systems and swap."""
    for mount in mounts_of(tree):
        if mount.device in numbers:
            yield f"{numbers[mount.device]} is mounted on {mount.mount_point}"
    for uuid in tree.names("/sys/fs/btrfs"):
        if shared := sorted(set(numbers.values()) & set(tree.names(f"/sys/fs/btrfs/{uuid}/devices"))):
            yield f"{shared[0]} is part of a mounted btrfs"
    for line in (tree.read("/proc/swaps").text or "").splitlines()[1:]:
        if (number := _number_of(line.split()[0])) in numbers:
            yield f"{numbers[number]} is swap"


def _below(tree: SystemTree, numbers: Mapping[str, str]) -> Iterator[str]:
    """Devices that are made of it."""
    for name in numbers.values():
        if holders := tree.names(f"{BLOCK}/{name}/holders"):
            yield f"{name} is held by {', '.join(holders)}"
    for loop in tree.names("/sys/block"):
        behind = tree.read(f"/sys/block/{loop}/loop/backing_file").text if loop.startswith("loop") else None
        if behind and (number := _number_of(behind)) in numbers:
            yield f"{numbers[number]} is behind {loop}"


def _number_of(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 - as the kernel names it
    except OSError:
        return ""
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}" if stat.S_ISBLK(status.st_mode) else ""


def _opener(numbers: Collection[str]) -> tuple[str, str] | None:
    """Find a process that has one of the devices open."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or process.name == str(os.getpid()):
            continue
        try:
            descriptors = list((process / "fd").iterdir())
        except OSError:
            continue
        for descriptor in descriptors:
            if (number := _number_of(str(descriptor))) in numbers:
                return process.name, number
    return None


def _mounted_elsewhere(tree: SystemTree, node: BlockNode) -> str | None:
    """Say which process sees a part of a device mounted, in a mount namespace of its own; None: none that can be seen."""
    numbers = {tree.read(f"{BLOCK}/{name}/dev").text: name for name in _parts(tree, node.name)}
    seen: set[str] = set()
    for process in (name for name in tree.names("/proc") if name.isdigit()):
        try:
            namespace = str(tree.at(f"/proc/{process}/ns/mnt").readlink())
        except OSError:
            continue
        if namespace in seen:
            continue
        seen.add(namespace)
        # Fields of proc(5): id, parent, major:minor, root, mount point.
        for fields in map(str.split, (tree.read(f"/proc/{process}/mountinfo").text or "").splitlines()):
            if len(fields) > 4 and fields[2] in numbers:
                return f"process {process} has {numbers[fields[2]]} mounted on {fields[4]}, in a mount namespace of its own"
    return None


def _open_alone(node: BlockNode) -> None:
    """Have the kernel say whether anybody holds it."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            os.close(os.open(node.path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise RunError(f"{node.path}: {error.strerror}. Nothing is written to it") from error
            if time.monotonic() > deadline_s:
                why = _mounted_elsewhere(SystemTree(), node) or "the kernel says that it is in use"
                raise InputError(f"{node.path}: {why}. Nothing is written to it") from error
            time.sleep(_PAUSE_S)
        else:
            return
