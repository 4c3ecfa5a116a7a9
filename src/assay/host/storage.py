"""Find what is between a directory and the device that keeps its data.

From the mount down: file system, the layer that an overlay writes to, block devices and what they are made of, the file
behind a loop device and *its* path. Nothing is guessed: a path that cannot be followed ends there with a reason.

Limits: ZFS and other file systems that own their disks in ways sysfs does not show have no devices here; nor have
server-side disks. Several devices of F2FS and an external journal of ext4 are not seen.
"""

import re
from pathlib import Path

import msgspec

from assay.errors import InputError, RunError
from assay.host.block import BlockDevice, diskstats_name, layers, name_of_number, name_of_path, uncounted
from assay.host.mounts import Mount, find, mount_id, mounts_of
from assay.host.reading import SystemTree, without_secrets

_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "virtiofs", "lustre", "beegfs", "gpfs", "afs", "orangefs"}
)
"""File systems of which a server, or the host of a virtual machine, keeps the data."""
BLOCK_DEVICES = "bdev"
"""What the kernel calls the file system that block devices themselves are in (/proc/filesystems)."""
_SECTOR_BYTES = 512
_DAEMON = "a FUSE daemon does the I/O: the kernel counts it as the daemon's"
# Overlays of overlays, loops on loops: deeper than this is a circle.
_DEEPEST = 8


class StoragePath(msgspec.Struct, frozen=True, kw_only=True):
    """The way from a directory to its storage."""

    directory: str
    """Absolute, without symlinks; of a block device its name, as the user gave it."""
    mount_point: str
    mount_root: str
    """What of the file system is mounted there: `/`, a subvolume, the source of a bind mount."""
    mount_source: str
    fs_type: str
    kind: str
    """`block`, `memory`, `network`, `fuse`, `overlay` or `other`."""
    options: tuple[str, ...]
    super_options: tuple[str, ...]
    is_block_backed: bool
    """Whether what a process reads here reaches a counted block device in that process's own name, so that its
    read_bytes (/proc/PID/io) and the device's counters can be held against the bytes it asked for."""
    diskstats: tuple[str, ...]
    """Names in /proc/diskstats whose counters hold this directory's I/O: what the file system is mounted on (and the
    external log of XFS), not the layers below. Empty when unknown."""
    why_uncounted: str
    """Why there are no counters, or why they do not count a process; empty when is_block_backed."""
    devices: tuple[BlockDevice, ...]
    """Layers, from the mounted device down."""
    upper: "StoragePath | None" = None
    """Where an overlay writes."""
    backing: dict[str, "StoragePath"] = {}
    """For each loop device, the path of the file behind it."""
    block_bytes: int
    total_bytes: int
    free_bytes: int
    """What this user may still use (f_bavail)."""
    used_share: float | None
    total_inodes: int | None
    free_inodes: int | None
    """None where the file system makes inodes as it needs them."""

    @property
    def is_memory(self) -> bool:
        """Whether the data is only in main memory, as far as can be seen."""
        if self.kind == "memory":
            return True
        if self.upper is not None:
            return self.upper.is_memory
        occupied = {device.carries for device in self.devices}
        bottoms = [device for device in self.devices if device.name not in occupied]
        return bool(bottoms) and all(
            device.is_memory or (device.name in self.backing and self.backing[device.name].is_memory)
            for device in bottoms
        )

    @property
    def loops(self) -> tuple[BlockDevice, ...]:
        """Loop devices of the path."""
        return tuple(device for device in self.devices if device.kind == "loop")


class _Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """What is below a mounted file system."""

    tops: tuple[str, ...] = ()
    """Devices that it issues its I/O to."""
    kind: str
    why_uncounted: str = ""
    upper: StoragePath | None = None


def btrfs_folder(tree: SystemTree, mount_source: str) -> str | None:
    """/sys/fs/btrfs/UUID of a mounted btrfs, found by the device that it was mounted from."""
    source = _device_name(tree, mount_source)
    for uuid in tree.names("/sys/fs/btrfs"):
        if source in tree.names(f"/sys/fs/btrfs/{uuid}/devices"):
            return f"/sys/fs/btrfs/{uuid}"
    return None


def _device_name(tree: SystemTree, path: str) -> str:
    """Name of the block device that a /dev path means; without a node, the name in the path."""
    return name_of_path(tree, path) or tree.at(path).resolve().name


def _block_carrier(tree: SystemTree, mount: Mount) -> _Carrier:
    """A file system whose super block has a block device."""
    name = name_of_number(tree, mount.device)
    if name is None:
        return _Carrier(kind="block", why_uncounted=f"/sys/dev/block/{mount.device} is not there")
    extra = (mount.option("logdev"), mount.option("rtdev"))
    tops = (name, *(_device_name(tree, path) for path in extra if path))
    why = ""
    if mount.fs_type == "fuseblk":
        return _Carrier(tops=tops, kind="fuse", why_uncounted=_DAEMON)
    if any(option in {"dax", "dax=always"} for option in (*mount.options, *mount.super_options)):
        why = "DAX passes the block layer by: no counter sees the data"
    return _Carrier(tops=tops, kind="block", why_uncounted=why)


def _anonymous_carrier(tree: SystemTree, mount: Mount, depth: int) -> _Carrier:
    """A file system whose super block has no block device of its own."""
    fs_type = mount.fs_type
    if fs_type == "btrfs":
        folder = btrfs_folder(tree, mount.source)
        if folder is None:
            return _Carrier(kind="block", why_uncounted=f"/sys/fs/btrfs shows no file system on {mount.source}")
        return _Carrier(kind="block", tops=tuple(tree.names(f"{folder}/devices")))
    if fs_type == "overlay":
        return _overlay_carrier(tree, mount, depth)
    return _remote_carrier(fs_type)


def _remote_carrier(fs_type: str) -> _Carrier:
    """A file system that has no block devices, or shows none."""
    if fs_type in _MEMORY:
        return _Carrier(kind="memory", why_uncounted=f"{fs_type} keeps its data in memory")
    if fs_type in NETWORK:
        return _Carrier(kind="network", why_uncounted=f"{fs_type}: the devices are the server's, or the host's")
    if fs_type.startswith("fuse"):
        return _Carrier(kind="fuse", why_uncounted=_DAEMON)
    return _Carrier(kind="other", why_uncounted=f"{fs_type} does not show its devices in sysfs")


def _overlay_carrier(tree: SystemTree, mount: Mount, depth: int) -> _Carrier:
    upper = mount.option("upperdir")
    if upper is None:
        return _Carrier(kind="overlay", why_uncounted="this overlay has no upper directory: it is read-only")
    # mount(8) needs a backslash before commas and colons, and the kernel shows it as it was given.
    spellings = (upper, re.sub(r"\\(.)", r"\1", upper))
    upper = next((path for path in spellings if path.startswith("/") and tree.is_directory(path)), None)
    if upper is None or depth >= _DEEPEST:
        # In a container the path is the host's.
        why = f"the upper directory {spellings[-1]} cannot be seen from here"
        return _Carrier(kind="overlay", why_uncounted=why)
    below = _path(tree, Path(upper), depth + 1)
    return _Carrier(kind="overlay", upper=below, why_uncounted=below.why_uncounted)


def _backing(tree: SystemTree, devices: tuple[BlockDevice, ...], depth: int) -> dict[str, StoragePath]:
    """Paths of the files behind loop devices; without those that cannot be seen from here."""
    paths = {}
    for device in devices:
        file = device.value("backing_file")
        carries_on_device = any(below.carries == device.name for below in devices)
        if isinstance(file, str) and not carries_on_device and depth < _DEEPEST and tree.is_file(file):
            paths[device.name] = _path(tree, _mounted_place(tree, Path(file)), depth + 1)
    return paths


def _mounted_place(tree: SystemTree, file: Path) -> Path:
    """The directory of a file; the file itself where something is mounted on it, as nbdfuse and containers do."""
    is_mounted_on = any(mount.mount_point == str(file) for mount in mounts_of(tree))
    return file if is_mounted_on else file.parent


def _path(tree: SystemTree, directory: Path, depth: int) -> StoragePath:
    space = tree.space(str(directory))
    mount = find(mounts_of(tree), directory, mount_id(tree, directory))
    if mount is None:
        raise InputError(f"{directory}: /proc/self/mountinfo names no mount for it. Mount /proc to see its storage.")
    has_device = not mount.device.startswith("0:")
    carrier = _block_carrier(tree, mount) if has_device else _anonymous_carrier(tree, mount, depth)
    layered = (device for top in carrier.tops for device in layers(tree, top))
    devices = tuple({device.name: device for device in layered}.values())
    missing = [why for top in carrier.tops if (why := uncounted(tree, top))]
    why = carrier.why_uncounted or "; ".join(missing)
    counted = () if missing else tuple(diskstats_name(top) for top in carrier.tops)
    if carrier.kind != "fuse" and why:
        counted = ()
    if carrier.upper is not None:
        counted = carrier.upper.diskstats
    return StoragePath(
        directory=str(directory),
        mount_point=mount.mount_point,
        mount_root=mount.root,
        mount_source=without_secrets(mount.source),
        fs_type=mount.fs_type,
        kind=carrier.kind,
        options=tuple(map(without_secrets, mount.options)),
        super_options=tuple(map(without_secrets, mount.super_options)),
        is_block_backed=bool(counted) and not why,
        diskstats=counted,
        why_uncounted=why,
        devices=devices,
        upper=carrier.upper,
        backing=_backing(tree, devices, depth),
        block_bytes=space.f_bsize,
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        used_share=round(1 - space.f_bfree / space.f_blocks, 3) if space.f_blocks else None,
        total_inodes=space.f_files or None,
        free_inodes=space.f_favail if space.f_files else None,
    )


def _device_path(tree: SystemTree, node: Path, name: str) -> StoragePath:
    """The path of a block device itself: the kernel's own file system for them, bdev, is above it."""
    devices, why = layers(tree, name), uncounted(tree, name)
    size_bytes, block_bytes = (devices[0].value(key) for key in ("size_bytes", "logical_block_bytes"))
    return StoragePath(
        directory=str(node),
        mount_point="",
        mount_root="",
        mount_source="",
        fs_type=BLOCK_DEVICES,
        kind="block",
        options=(),
        super_options=(),
        is_block_backed=why is None,
        diskstats=(diskstats_name(name),) if why is None else (),
        why_uncounted=why or "",
        devices=devices,
        backing=_backing(tree, devices, 0),
        block_bytes=block_bytes if isinstance(block_bytes, int) else _SECTOR_BYTES,
        total_bytes=size_bytes if isinstance(size_bytes, int) else 0,
        free_bytes=0,
        used_share=None,
        total_inodes=None,
        free_inodes=None,
    )


def storage_path(directory: Path, tree: SystemTree | None = None) -> StoragePath:
    """Follow a directory, or a block device, down to its devices.

    Args:
        directory: An existing directory; symlinks are followed.
        tree: Where /proc, /sys and the directory itself are; the machine's own by default.

    Raises:
        InputError: The directory is not there, or this user may not ask it.
        RunError: Its file system does not answer.
    """
    tree = tree or SystemTree()
    absolute = directory.resolve()
    try:
        if name := name_of_path(tree, str(absolute)):
            return _device_path(tree, directory, name)
        if not tree.is_directory(str(absolute)):
            raise InputError(
                f"{directory} is not a directory that this user can see. Make it, or name one on the storage to be measured."
            )
        return _path(tree, absolute, 0)
    except PermissionError as error:
        raise InputError(f"{directory}: {error.strerror}. Its file system does not answer for this user.") from error
    except OSError as error:
        raise RunError(f"{directory}: {error.strerror}. Its file system does not answer.") from error
