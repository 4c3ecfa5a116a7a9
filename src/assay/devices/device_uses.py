"""Find what uses the storage of a device.

Used is what is mounted in any mount namespace (also as a part of a btrfs), swapped to, held by device mapper, MD or another
layer, behind a loop device, or open in a process. That is asked of the device and its partitions, and of everything that has
the same bytes: the disk of a partition, what a mapping or a loop device lies on, down to the last of them, other loop
devices of the same file, and other paths to the same disk.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from assay.devices.device_identity import SERIALS, LoopStatus, loop_status_of, number_of
from assay.host.block import BLOCK
from assay.host.mounts import Mount, parse
from assay.host.reading import SystemTree

_PATIENCE_S = 3.0
"""For openers that look at a device and go, such as udev."""
_PAUSE_S = 0.1
_LVM: Final = "LVM-"
_LVM_GROUP: Final = slice(len(_LVM), len(_LVM) + 32)
"""UUID of the volume group in that of a logical volume (dm/uuid)."""


class Sharer(NamedTuple):
    """A device that has bytes of the one in question, or is it."""

    name: str
    """In /sys/class/block."""
    why: str
    """What it is to that one, in words; empty: it is that one."""
    spared: frozenset[str]
    """The layers above it by which it was found: these may hold it."""
    has_parts: bool
    """Whether a use of its partitions is one, too: not of a disk of whose partitions one is given up."""
    is_claimed: bool
    """The layer above has it for itself: who else has it open is that layer's helper."""


class _Block(NamedTuple):
    name: str
    number: str
    disk: str | None
    """Of a partition."""
    parts: tuple[str, ...]
    loop: LoopStatus | None
    size_bytes: int
    serial: str

    def is_of_one_file(self, other: "_Block") -> bool:
        """Whether two loop devices are of one file, and have bytes in common."""
        first, second = self.loop, other.loop
        if first is None or second is None or first.behind or second.behind:
            return False
        return (
            (first.device, first.inode) == (second.device, second.inode)
            and first.offset_bytes < second.offset_bytes + other.size_bytes
            and second.offset_bytes < first.offset_bytes + self.size_bytes
        )


class BlockMap:
    """The block devices of a machine, and how they lie on each other."""

    def __init__(self, tree: SystemTree, loops: Callable[[str], LoopStatus | None] = loop_status_of) -> None:
        """Look at all of them; `loops` gives the file behind a loop device."""
        self._tree = tree
        self._blocks = {name: self._block(name, loops) for name in tree.names(BLOCK)}
        self._by_number = {block.number: block for block in self._blocks.values()}

    def _block(self, name: str, loops: Callable[[str], LoopStatus | None]) -> _Block:
        folder, tree = f"{BLOCK}/{name}", self._tree
        is_part = tree.at(f"{folder}/partition").exists()
        is_hidden = tree.read(f"{folder}/hidden").text == "1"
        return _Block(
            name=name,
            number=tree.read(f"{folder}/dev").text or "",
            disk=tree.at(folder).resolve().parent.name if is_part else None,
            parts=tuple(each for each in tree.names(folder) if tree.at(f"{folder}/{each}/partition").exists()),
            loop=loops(name) if name.startswith("loop") and not is_part else None,
            size_bytes=int(tree.read(f"{folder}/size").text or 0) * 512,
            serial="" if is_part or is_hidden else tree.first(*(f"{folder}/{each}" for each in SERIALS)).text or "",
        )

    def __contains__(self, name: str) -> bool:
        """Whether a device is there."""
        return name in self._blocks

    def sharers(self, name: str) -> list[Sharer]:
        """Find all devices that have bytes of one, itself first."""
        found: dict[str, Sharer] = {}
        waiting = [Sharer(name, "", frozenset(), has_parts=True, is_claimed=False)]
        while waiting:
            sharer = waiting.pop(0)
            if (before := found.get(sharer.name)) is not None:
                found[sharer.name] = before._replace(
                    spared=before.spared | sharer.spared, has_parts=before.has_parts or sharer.has_parts
                )
                continue
            found[sharer.name] = sharer
            waiting += self._next(self._blocks[sharer.name])
        return list(found.values())

    def _next(self, block: _Block) -> Iterator[Sharer]:
        """What has the same bytes as a device, one step away."""
        if block.disk in self._blocks:
            yield Sharer(block.disk, f"the disk of {block.name}", frozenset(), has_parts=False, is_claimed=False)
        spared = frozenset({block.name})
        for slave in self._tree.names(f"{BLOCK}/{block.name}/slaves"):
            if slave in self._blocks:
                yield Sharer(slave, f"below {block.name}", spared, has_parts=True, is_claimed=True)
        if block.loop is not None and block.loop.behind:
            behind = self._by_number.get(number_of(block.loop.behind))
            if behind is not None:
                yield Sharer(behind.name, f"behind {block.name}", spared, has_parts=True, is_claimed=False)
        for other in self._blocks.values():
            if other.name == block.name:
                continue
            if block.is_of_one_file(other):
                why = f"of the same file as {block.name}"
            elif block.serial and (block.serial, block.size_bytes) == (other.serial, other.size_bytes):
                why = f"by its serial number the same disk as {block.name}"
            else:
                continue
            yield Sharer(other.name, why, frozenset(), has_parts=True, is_claimed=False)

    def names_of(self, sharer: Sharer) -> dict[str, str]:
        """Names, by their numbers, of a device and those of its partitions that are in question."""
        block = self._blocks[sharer.name]
        names = (block.name, *(block.parts if sharer.has_parts else ()))
        return {self._blocks[name].number: name for name in names if name in self._blocks}

    def holders(self, name: str) -> list[str]:
        """Name the layers that hold a device."""
        return self._tree.names(f"{BLOCK}/{name}/holders")

    def loops_over(self, number: str) -> list[str]:
        """Name the loop devices that a device is behind."""
        return [
            block.name
            for block in self._blocks.values()
            if block.loop is not None and block.loop.behind and number_of(block.loop.behind) == number
        ]

    def files(self, sharers: Iterable[Sharer]) -> dict[tuple[int, int], str]:
        """The files behind loop devices, by device and inode, with the loop device of each."""
        loops = ((self._blocks[sharer.name].loop, sharer.name) for sharer in sharers)
        return {(loop.device, loop.inode): name for loop, name in loops if loop is not None and not loop.behind}

    def volume_group(self, name: str) -> str:
        """Name the volume group of a logical volume; empty: it is none."""
        uuid = self._tree.read(f"{BLOCK}/{name}/dm/uuid").text or ""
        return uuid[_LVM_GROUP] if uuid.startswith(_LVM) else ""

    def number(self, name: str) -> str:
        """Give the number of a device."""
        return self._blocks[name].number

    def by_number(self, number: str) -> str | None:
        """Name the device of a number."""
        found = self._by_number.get(number)
        return None if found is None else found.name


def uses(tree: SystemTree, blocks: BlockMap, name: str) -> Iterator[str]:
    """Find what uses a device, a part of it, or what has the same bytes."""
    sharers = blocks.sharers(name)
    mounts = _all_mounts(tree)
    for sharer in sharers:
        why = f" ({sharer.why})" if sharer.why else ""
        numbers = blocks.names_of(sharer)
        for use in (*_uses(tree, numbers, mounts), *_above(blocks, sharer, numbers)):
            yield f"{use[0]}{why} {use[1]}"
    files = blocks.files(sharers)
    yield from _swap_files(tree, files)
    numbers = {
        number: each for sharer in sharers if not sharer.is_claimed for number, each in blocks.names_of(sharer).items()
    }
    deadline_s = time.monotonic() + _PATIENCE_S
    while opener := _opener(numbers, files):
        if time.monotonic() > deadline_s:
            yield f"{opener[1]} is open in process {opener[0]}"
            return
        time.sleep(_PAUSE_S)


def _uses(
    tree: SystemTree, numbers: Mapping[str, str], mounts: Collection[tuple[Mount, str]]
) -> Iterator[tuple[str, str]]:
    """File systems and swap: which device, and what of it."""
    seen: set[str] = set()
    for mount, where in mounts:
        if mount.device in numbers and mount.device not in seen:
            seen.add(mount.device)
            yield numbers[mount.device], f"is mounted on {mount.mount_point}{where}"
    for uuid in tree.names("/sys/fs/btrfs"):
        if shared := sorted(set(numbers.values()) & set(tree.names(f"/sys/fs/btrfs/{uuid}/devices"))):
            yield shared[0], "is part of a mounted btrfs"
    for path in _swaps(tree):
        if (number := _number_of(path)) in numbers:
            yield numbers[number], "is swap"


def _above(blocks: BlockMap, sharer: Sharer, numbers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Devices that are made of it, but for those by which it was found."""
    groups = {blocks.volume_group(name) for name in sharer.spared} - {""}
    for number, name in numbers.items():
        # Logical volumes of one group share no bytes.
        others = [
            each
            for each in blocks.holders(name)
            if each not in sharer.spared and blocks.volume_group(each) not in groups
        ]
        if others:
            yield name, f"is held by {', '.join(others)}"
        for loop in blocks.loops_over(number):
            if loop not in sharer.spared:
                yield name, f"is behind {loop}"


def in_use(tree: SystemTree, blocks: BlockMap) -> list[str]:
    """Name the devices that are mounted or swapped to."""
    numbers = [*(mount.device for mount, _ in _all_mounts(tree)), *(_number_of(path) for path in _swaps(tree))]
    names = [blocks.by_number(number) for number in numbers]
    for uuid in tree.names("/sys/fs/btrfs"):
        names += [name for name in tree.names(f"/sys/fs/btrfs/{uuid}/devices") if name in blocks]
    return list(dict.fromkeys(name for name in names if name is not None))


def _all_mounts(tree: SystemTree) -> list[tuple[Mount, str]]:
    """All mounts of this process, and of others in mount namespaces of their own, with the owner."""
    found = [(mount, "") for mount in parse(tree.read("/proc/self/mountinfo").text or "")]
    seen = {_namespace(tree, "self")}
    for process in (name for name in tree.names("/proc") if name.isdigit()):
        namespace = _namespace(tree, process)
        if namespace is None or namespace in seen:
            continue
        seen.add(namespace)
        where = f" in a mount namespace of its own of process {process}"
        found += [(mount, where) for mount in parse(tree.read(f"/proc/{process}/mountinfo").text or "")]
    return found


def _namespace(tree: SystemTree, process: str) -> str | None:
    try:
        return str(tree.at(f"/proc/{process}/ns/mnt").readlink())
    except OSError:
        return None


def _swaps(tree: SystemTree) -> list[str]:
    return [line.split()[0] for line in (tree.read("/proc/swaps").text or "").splitlines()[1:]]


def _swap_files(tree: SystemTree, files: Mapping[tuple[int, int], str]) -> Iterator[str]:
    for path in _swaps(tree):
        status = _status(path)
        if status is not None and (status.st_dev, status.st_ino) in files:
            yield f"the file of {files[status.st_dev, status.st_ino]} is swap"


def _opener(numbers: Mapping[str, str], files: Mapping[tuple[int, int], str]) -> tuple[str, str] | None:
    """Find a process that has one of the devices open, or a file behind one; what it has open, in words."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or process.name == str(os.getpid()):
            continue
        try:
            descriptors = list((process / "fd").iterdir())
        except OSError:
            continue
        for descriptor in descriptors:
            status = _status(str(descriptor))
            if status is None:
                continue
            if stat.S_ISBLK(status.st_mode) and (number := number_of(status.st_rdev)) in numbers:
                return process.name, numbers[number]
            if (status.st_dev, status.st_ino) in files:
                return process.name, f"the file of {files[status.st_dev, status.st_ino]}"
    return None


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - as the kernel names it
    except OSError:
        return None


def _number_of(path: str) -> str:
    status = _status(path)
    return number_of(status.st_rdev) if status is not None and stat.S_ISBLK(status.st_mode) else ""
