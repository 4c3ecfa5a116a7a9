"""Find the block devices below a block device.

Walks /sys/class/block from the device that carries the file system down: `slaves` of device mapper, MD and bcache, the
whole disk of a partition, the device behind a loop device. Sources: Documentation/ABI/stable/sysfs-block,
testing/sysfs-block-loop, admin-guide/md.rst, testing/sysfs-block-dm.
"""

import os
import re
import stat
from collections.abc import Callable

import msgspec

from assay.host.facts import Fact, FactValue
from assay.host.machine import identity_hash
from assay.host.reading import SystemTree, chosen, fact, flag, kib_to_bytes, sectors_to_bytes

BLOCK = "/sys/class/block"

_QUEUE: tuple[tuple[str, str, Callable[[str], FactValue]], ...] = (
    ("is_rotational", "rotational", flag),
    ("logical_block_bytes", "logical_block_size", int),
    ("physical_block_bytes", "physical_block_size", int),
    ("scheduler", "scheduler", chosen),
    ("nr_requests", "nr_requests", int),
    ("read_ahead_bytes", "read_ahead_kb", kib_to_bytes),
    ("max_io_bytes", "max_sectors_kb", kib_to_bytes),
    ("max_segments", "max_segments", int),
    ("write_cache", "write_cache", str),
    ("write_back_throttle_us", "wbt_lat_usec", int),
    ("counts_io", "iostats", flag),
)

_OF_KIND: dict[str, tuple[tuple[str, str, Callable[[str], FactValue]], ...]] = {
    "md": (
        ("md_chunk_bytes", "md/chunk_size", int),
        ("md_members", "md/raid_disks", int),
        ("md_state", "md/array_state", str),
        ("md_sync_action", "md/sync_action", str),
        ("md_missing_members", "md/degraded", int),
    ),
    "loop": (
        ("backing_file", "loop/backing_file", str),
        ("loop_direct_io", "loop/dio", flag),
        ("loop_offset_bytes", "loop/offset", int),
    ),
    "zram": (("zram_algorithm", "comp_algorithm", chosen),),
}

_CHECKSUMMED = {"INTEGRITY": "integrity", "SUBDEV": "integrity", "VERITY": "verity"}
"""What cryptsetup names volumes that read and write checksums besides (lib/libcryptsetup.h, DM_*_PREFIX)."""

_MEMORY_KINDS = frozenset({"zram", "ram", "pmem"})


class BlockDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One layer of a storage path."""

    name: str
    """As in /sys/class/block."""
    kind: str
    """`disk`, `partition`, `loop`, `lvm`, `crypt`, `integrity`, `multipath`, `dm`, `md-raid1`, `zram`, `ram`, `pmem` ..."""
    carries: str | None
    """Name of the layer above; None for the one that the file system is mounted on."""
    facts: tuple[Fact, ...]
    """With keys relative to the device."""

    @property
    def is_memory(self) -> bool:
        """Whether main memory is behind it."""
        return self.kind in _MEMORY_KINDS

    def value(self, key: str) -> FactValue:
        """Value of one of its facts; None when it is absent."""
        return next((fact.value for fact in self.facts if fact.key == key), None)


def name_of_number(tree: SystemTree, device: str) -> str | None:
    """Name of the block device `major:minor`; None when sysfs does not show it."""
    link = tree.at(f"/sys/dev/block/{device}")
    return link.resolve().name if link.exists() else None


def name_of_path(tree: SystemTree, path: str) -> str | None:
    """Name of the block device behind `/dev/mapper/x`; None when the path is none."""
    node = tree.at(path)
    try:
        status = node.stat()
    except OSError:
        return None
    if not stat.S_ISBLK(status.st_mode):
        return None
    return name_of_number(tree, f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}")


def _kind(tree: SystemTree, name: str) -> str:
    folder = f"{BLOCK}/{name}"
    if tree.at(f"{folder}/partition").exists():
        return "partition"
    if tree.at(f"{folder}/md").exists():
        return f"md-{tree.read(f'{folder}/md/level').text or 'unknown'}"
    if tree.at(f"{folder}/dm").exists():
        # The prefix of the uuid names who made the table (dm-uevent.txt); the rest identifies the volume.
        prefix, _, rest = (tree.read(f"{folder}/dm/uuid").text or "").partition("-")
        if prefix == "CRYPT" and (sums := _CHECKSUMMED.get(rest.partition("-")[0])):
            return sums
        return {"CRYPT": "crypt", "LVM": "lvm", "mpath": "multipath"}.get(prefix, "dm")
    virtual = re.match(r"(loop|zram|ram|pmem|nbd|rbd|drbd|bcache)\d+$", name)
    return virtual.group(1) if virtual else "disk"


def _below(tree: SystemTree, name: str, kind: str) -> list[str]:
    folder = tree.at(f"{BLOCK}/{name}")
    if kind == "partition":
        return [folder.resolve().parent.name]
    if kind == "loop":
        backing = name_of_path(tree, tree.read(f"{BLOCK}/{name}/loop/backing_file").text or "/")
        return [backing] if backing else []
    return tree.names(f"{BLOCK}/{name}/slaves")


def whole_disk(tree: SystemTree, name: str) -> str:
    """The disk of a partition, where the queue is; any other device itself."""
    return _below(tree, name, "partition")[0] if _kind(tree, name) == "partition" else name


def _serial_hash(tree: SystemTree, folder: str) -> Fact:
    reading = tree.first(
        f"{folder}/device/serial", f"{folder}/serial", f"{folder}/device/vpd_pg80", f"{folder}/device/wwid"
    )
    return fact("serial_hash", reading, lambda text: identity_hash(re.sub(r"[^ -~]", "", text).strip()))


def _facts(tree: SystemTree, name: str, kind: str) -> tuple[Fact, ...]:
    folder = f"{BLOCK}/{name}"
    facts = [
        fact("size_bytes", tree.read(f"{folder}/size"), sectors_to_bytes),
        # What limits of control groups name a device by.
        fact("number", tree.read(f"{folder}/dev")),
    ]
    if kind == "partition":
        facts.append(fact("start_bytes", tree.read(f"{folder}/start"), sectors_to_bytes))
        return tuple(facts)
    if kind == "disk":
        facts += [
            fact("model", tree.read(f"{folder}/device/model")),
            fact("vendor", tree.read(f"{folder}/device/vendor")),
            fact("firmware", tree.first(f"{folder}/device/firmware_rev", f"{folder}/device/rev")),
            _serial_hash(tree, folder),
        ]
    if kind in {"lvm", "crypt", "multipath", "dm", *_CHECKSUMMED.values()}:
        facts.append(fact("dm_name", tree.read(f"{folder}/dm/name")))
    family = kind.partition("-")[0]
    facts += [fact(key, tree.read(f"{folder}/{path}"), convert) for key, path, convert in _OF_KIND.get(family, ())]
    facts += [fact(key, tree.read(f"{folder}/queue/{path}"), convert) for key, path, convert in _QUEUE]
    return tuple(facts)


def layers(tree: SystemTree, name: str) -> tuple[BlockDevice, ...]:
    """The device and all below it, level by level, each once."""
    found: dict[str, BlockDevice] = {}
    waiting: list[tuple[str, str | None]] = [(name, None)]
    while waiting:
        device, above = waiting.pop(0)
        if device in found:
            continue
        kind = _kind(tree, device)
        found[device] = BlockDevice(name=device, kind=kind, carries=above, facts=_facts(tree, device, kind))
        waiting += [(below, device) for below in _below(tree, device, kind)]
    return tuple(found.values())


def uncounted(tree: SystemTree, name: str) -> str | None:
    """Why /proc/diskstats has no usable counters for a device; None when it has."""
    listed = {line.split()[2] for line in (tree.read("/proc/diskstats").text or "").splitlines()}
    if diskstats_name(name) not in listed:
        return f"/proc/diskstats does not list {name}"
    switch = f"{BLOCK}/{whole_disk(tree, name)}/queue/iostats"
    if tree.read(switch).text == "0":
        return f"{switch} is 0: the kernel does not count this device's I/O"
    return None


def diskstats_name(name: str) -> str:
    """`cciss!c0d0` of sysfs is `cciss/c0d0` in /dev."""
    return name.replace("!", "/")
