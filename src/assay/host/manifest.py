"""Collect all facts of a run: machine, kernel settings and the storage path of each target (METHOD 7.3).

Takes some tens of milliseconds, writes nothing and needs no privilege. Facts of layers carry their place in the path,
not the device's name, which may change from boot to boot: `target.data.device.0` is what the file system is mounted on.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.host.cgroups import cgroup_facts
from assay.host.facts import Fact
from assay.host.health_facts import health_facts
from assay.host.knobs import knob_facts
from assay.host.machine import machine_facts
from assay.host.reading import SystemTree, absent, fact, known, valued
from assay.host.storage import BLOCK_DEVICES, StoragePath, btrfs_folder, storage_path

_MOUNTINFO = "/proc/self/mountinfo"


def _ext_facts(prefix: str, path: StoragePath, tree: SystemTree) -> list[Fact]:
    """What ext4 really does: the mount table names only what differs from the super block's defaults."""
    name = path.devices[0].name if path.devices else "unknown"
    options = tree.read(f"/proc/fs/{path.fs_type}/{name}/options")
    facts = [fact(f"{prefix}.fs.effective_options", options, lambda text: tuple(text.splitlines()))]
    key = f"{prefix}.fs.journal_mode"
    task = tree.read(f"/sys/fs/ext4/{name}/journal_task")
    if task.text == "<none>":
        return [*facts, known(key, "none", task.source)]
    modes = [
        (option.removeprefix("data="), source)
        for source, options_of in ((options.source, (options.text or "").split()), (_MOUNTINFO, path.super_options))
        for option in options_of
        if option.startswith("data=")
    ]
    if modes:
        return [*facts, known(key, *modes[0])]
    return [*facts, absent(key, f"neither {options.source.removeprefix('n/a: ')} nor the mount table has data=")]


def _btrfs_facts(prefix: str, path: StoragePath, tree: SystemTree) -> list[Fact]:
    folder = btrfs_folder(tree, path.mount_source)
    facts = []
    for content in ("data", "metadata"):
        # One folder for each profile in use: single, dup, raid0, raid1, ...
        where = f"{folder}/allocation/{content}"
        profiles = tuple(name for name in tree.names(where) if tree.is_directory(f"{where}/{name}"))
        key = f"{prefix}.fs.btrfs_{content}_profiles"
        facts.append(known(key, profiles, where) if profiles else absent(key, "/sys/fs/btrfs has none"))
    return facts


def _fs_facts(prefix: str, path: StoragePath, tree: SystemTree) -> list[Fact]:
    facts = [
        known(f"{prefix}.fs.type", path.fs_type, _MOUNTINFO),
        known(f"{prefix}.fs.is_block_backed", path.is_block_backed, path.why_uncounted or "/sys/dev/block"),
        known(f"{prefix}.fs.block_bytes", path.block_bytes, "statvfs"),
        known(f"{prefix}.fs.total_bytes", path.total_bytes, "statvfs"),
        known(f"{prefix}.fs.free_bytes", path.free_bytes, "statvfs"),
        valued(f"{prefix}.fs.used_share", path.used_share, "statvfs", "statvfs gives no size"),
        valued(f"{prefix}.fs.total_inodes", path.total_inodes, "statvfs", "inodes are made as needed"),
        valued(f"{prefix}.fs.free_inodes", path.free_inodes, "statvfs", "inodes are made as needed"),
    ]
    if path.fs_type in {"ext2", "ext3", "ext4"}:
        facts += _ext_facts(prefix, path, tree)
    elif path.fs_type == "btrfs":
        facts += _btrfs_facts(prefix, path, tree)
    return facts


def _bdev_facts(prefix: str, path: StoragePath) -> list[Fact]:
    """Facts of a block device without a file system."""
    return [
        known(f"{prefix}.fs.type", path.fs_type, "/proc/filesystems"),
        known(f"{prefix}.fs.is_block_backed", path.is_block_backed, path.why_uncounted or "/sys/class/block"),
        known(f"{prefix}.fs.block_bytes", path.block_bytes, "/sys/class/block"),
        known(f"{prefix}.fs.total_bytes", path.total_bytes, "/sys/class/block"),
    ]


def _mounted_facts(prefix: str, path: StoragePath, tree: SystemTree) -> list[Fact]:
    return [
        known(f"{prefix}.mount.point", path.mount_point, _MOUNTINFO),
        known(f"{prefix}.mount.root", path.mount_root, _MOUNTINFO),
        known(f"{prefix}.mount.source", path.mount_source, _MOUNTINFO),
        known(f"{prefix}.mount.options", path.options, _MOUNTINFO),
        known(f"{prefix}.mount.super_options", path.super_options, _MOUNTINFO),
        *_fs_facts(prefix, path, tree),
    ]


def path_facts(prefix: str, path: StoragePath, tree: SystemTree) -> list[Fact]:
    """Facts of a storage path, and of the paths below it, under a prefix."""
    counters = "/proc/diskstats" if path.diskstats else f"n/a: {path.why_uncounted}"
    is_device = path.fs_type == BLOCK_DEVICES
    facts = [
        known(f"{prefix}.directory", path.directory, "as named" if is_device else "realpath"),
        *(_bdev_facts(prefix, path) if is_device else _mounted_facts(prefix, path, tree)),
        known(f"{prefix}.device.diskstats", path.diskstats, counters),
    ]
    places = {device.name: str(place) for place, device in enumerate(path.devices)}
    for device in path.devices:
        layer = f"{prefix}.device.{places[device.name]}"
        facts += [
            known(f"{layer}.name", device.name, "/sys/class/block"),
            known(f"{layer}.kind", device.kind, f"/sys/class/block/{device.name}"),
            known(f"{layer}.carries", places.get(device.carries or "", "file system"), "/sys/class/block"),
            *(Fact(key=f"{layer}.{own.key}", value=own.value, source=own.source) for own in device.facts),
        ]
        if device.kind == "disk":
            health = health_facts(tree, device.name)
            facts += [Fact(key=f"{layer}.{own.key}", value=own.value, source=own.source) for own in health]
        if device.name in path.backing:
            facts += path_facts(f"{layer}.backing", path.backing[device.name], tree)
        elif device.kind == "loop" and not any(below.carries == device.name for below in path.devices):
            reason = f"{device.value('backing_file') or 'its file'} cannot be seen from here"
            facts.append(absent(f"{layer}.backing.directory", reason))
    if path.upper is not None:
        facts += path_facts(f"{prefix}.upper", path.upper, tree)
    return facts


def target_facts(targets: Mapping[str, Path], tree: SystemTree | None = None) -> tuple[Fact, ...]:
    """Facts `target.NAME.*` for each target of a Plan; raises InputError for a directory that is not there."""
    tree = tree or SystemTree()
    paths: Sequence[tuple[str, StoragePath]] = [(name, storage_path(at, tree)) for name, at in targets.items()]
    return tuple(own for name, path in paths for own in path_facts(f"target.{name}", path, tree))


def collect(targets: Mapping[str, Path], tree: SystemTree | None = None) -> tuple[Fact, ...]:
    """Every fact of this machine and of the targets of a Plan.

    Args:
        targets: Directory or block device of each target, by the target's name in the Plan.
        tree: Where /proc and /sys are; the machine's own by default.

    Raises:
        InputError: A directory is not there, or its file system does not answer.
    """
    tree = tree or SystemTree()
    return (*machine_facts(tree), *cgroup_facts(tree), *knob_facts(tree), *target_facts(targets, tree))
