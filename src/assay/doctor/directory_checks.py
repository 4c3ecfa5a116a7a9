"""Check what can be measured in a directory, and what prevents it."""

import errno
import fcntl
import os
import re
import stat
from pathlib import Path

from assay.doctor.check import Check, cannot, gib, limited, ok
from assay.host.direct_io import probe
from assay.host.storage import BLOCK_DEVICES, StoragePath
from assay.host.unsafe_options import unsafe_options
from assay.targets import DATA_FOLDER, LOCK, MARK

# A data set of 64 MiB, the smallest useful size, plus the reserve of 256 MiB that Assay leaves free.
_LEAST_FREE_BYTES = 320 * 2**20
# Metadata phases make some 100,000 files in a quarter of what is free.
_PLENTY_OF_INODES = 400_000
# Data set, marks, folders and locks need a handful even where no phase makes files.
_LEAST_INODES = 100
_FULL_SHARE = 0.9
# What a run writes into its lock file: what the folder is, its process and its host.
_HOLDER = re.compile(r"assay-lock 1 \w+ (\d+) ")


def _writable(path: StoragePath) -> Check:
    subject = "writing"
    if "ro" in path.options or "ro" in path.super_options:
        cure = f"mount -o remount,rw {path.mount_point}, or choose another directory."
        return cannot(subject, f"{path.mount_point} is mounted read-only", cure)
    if not os.access(path.directory, os.W_OK | os.X_OK):
        return cannot(
            subject, f"this user may not make files in {path.directory}", "Change its owner or mode, or the user."
        )
    return ok(subject, f"files can be made in {path.directory}")


def _space(path: StoragePath, ram_bytes: int) -> Check:
    free = gib(path.free_bytes)
    if path.free_bytes < _LEAST_FREE_BYTES:
        text = f"only {free} free; the smallest data set and the reserve need {gib(_LEAST_FREE_BYTES)}"
        return cannot("space", text, "Free some space, or choose another directory.")
    if (full := nearly_full(path)) is not None:
        return full
    if path.free_bytes < 2 * ram_bytes:
        text = (
            f"{free} free: no room for a data set of twice the memory ({gib(2 * ram_bytes)}), which no cache can hold"
        )
        return limited("space", text, "Use direct I/O or evicted caches; check the hit ratio of buffered results.")
    return ok("space", f"{free} free, more than twice the memory")


def nearly_full(path: StoragePath) -> Check | None:
    """Name a fill level that slows many file systems; None below it."""
    if path.used_share is None or path.used_share <= _FULL_SHARE:
        return None
    text = f"{gib(path.free_bytes)} free, but the file system is {path.used_share:.0%} full: many slow down when nearly full"
    return limited("space", text, "Report the fill level with the number, or measure an emptier one.")


def device_checks(path: StoragePath) -> tuple[Check, ...]:
    """Check what can be measured on a block device without a file system, which this user can open."""
    return (ok("reading", f"{path.directory} can be read; writes need --destroy-data"), _storage(path), *_layers(path))


def unsafe_mounts(path: StoragePath) -> list[Check]:
    """Name the mount options with which storage is faster because it promises less."""
    cure = "Mount it without the option, or report it with every number of writes."
    return [limited("unsafe option", f"{what}: {risk}", cure) for what, risk in unsafe_options(path)]


def _inodes(path: StoragePath) -> Check:
    if path.free_inodes is None:
        return ok("inodes", "made as needed")
    if path.free_inodes < _LEAST_INODES:
        text = f"only {path.free_inodes} inodes free: not even a data set can be made"
        return cannot("inodes", text, "Remove files, or choose another directory.")
    if path.free_inodes < _PLENTY_OF_INODES:
        text = f"{path.free_inodes} inodes free: phases that make files may run out and end early"
        return limited("inodes", text, "Fewer seconds for metadata phases, or a file system made with more inodes.")
    return ok("inodes", f"{path.free_inodes} free")


def _storage(path: StoragePath) -> Check:
    """What kind of storage it is, and whether counters can bear the numbers out."""
    is_device = path.fs_type == BLOCK_DEVICES
    subject, what = "storage", path.directory if is_device else f"{path.fs_type} on {path.mount_source}"
    if path.is_memory:
        text = f"{what} lives in memory: this measures memory, not storage"
        return limited(subject, text, "Choose a directory on the storage that you mean.")
    if path.kind == "overlay" and path.upper is not None and path.is_block_backed:
        below = f"{path.upper.fs_type} on {path.upper.mount_source}"
        text = f"overlay that writes to {below}: first writes to lower files copy them, opens look in all layers"
        return limited(subject, text, "Measure a volume or a bind mount instead of the container's own layer.")
    if path.is_block_backed:
        return ok(subject, f"{what}: bytes can be checked against the counters of {', '.join(path.diskstats)}")
    cures = {
        "network": "Watch server and link too; measure with direct I/O to bypass the client's cache.",
        "fuse": "Watch the daemon and its storage too; results of buffered reads may be this machine's cache.",
        "overlay": "Measure a volume or a bind mount instead of the container's own layer.",
    }
    cure = cures.get(path.kind, "Use direct I/O where it works, and a data set of twice the memory.")
    return limited(subject, f"{what}: no byte balance ({path.why_uncounted})", cure)


def _layers(path: StoragePath) -> list[Check]:
    """List the layers that change what a number means."""
    checks = []
    for loop in path.loops:
        if loop.value("loop_direct_io") is False:
            file = loop.value("backing_file")
            text = (
                f"{loop.name} is the file {file}, which this machine caches once more: O_DIRECT ends at the loop device"
            )
            checks.append(limited("loop device", text, f"As root: losetup --direct-io=on /dev/{loop.name}"))
    for device in path.devices:
        action, missing = device.value("md_sync_action"), device.value("md_missing_members")
        if (isinstance(action, str) and action != "idle") or missing:
            text = f"{device.name} ({device.kind}): {action}, {missing or 0} members missing"
            checks.append(limited("RAID state", text, "Wait until the array is clean and idle (cat /proc/mdstat)."))
    compress = next((option for option in path.super_options if option.startswith("compress")), None)
    if compress and path.fs_type == "btrfs":
        text = f"mounted with {compress}: with compressible content, fewer bytes reach the device than were written"
        checks.append(
            limited("compression", text, "chattr +m on an empty folder of its own, or report it with the number.")
        )
    if path.fs_type == "btrfs" and not {"nodatasum", "nodatacow"} & set(path.super_options):
        text = "btrfs with checksums: recent kernels (6.18 for one) do direct writes through the page cache"
        checks.append(
            limited("direct writes", text, "chattr +C on an empty folder of its own, or report it with the number.")
        )
    return checks


def _direct_io(path: StoragePath) -> Check:
    subject = "direct I/O"
    try:
        result = probe(Path(path.directory))
    except OSError as error:
        text = f"no file could be made in {path.directory}: {error.strerror}"
        return cannot(subject, text, "Look for quotas, read-only snapshots and security modules.")
    lost = "every read and write goes through the page cache"
    cure = "Evict before reading, use a data set of twice the memory, end writes with fsync."
    if not result.works:
        return limited(subject, f"O_DIRECT does not work ({result.reason}): {lost}", cure)
    if result.cached_share:
        return limited(subject, f"O_DIRECT is accepted but has no effect ({path.fs_type}): {lost}", cure)
    if result.cached_share is None:
        return limited(subject, "O_DIRECT works, but whether it bypasses the page cache cannot be verified", cure)
    return ok(subject, "O_DIRECT works and leaves nothing in the page cache")


def _other_run(path: StoragePath) -> Check:
    """Return whether another run holds the lock; a shared lock is tried and let go at once."""
    subject, lock = "other runs", Path(path.directory) / DATA_FOLDER / LOCK
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ok(subject, "no other Assay run here")
    except OSError as error:
        return limited(subject, f"{lock} cannot be opened: {error.strerror}", "Run as the user who measured there.")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
            return limited(
                subject, f"{lock}: {error.strerror}", "A file system without locks: make sure that no run is active."
            )
        holder = _HOLDER.match(os.pread(descriptor, 64, 0).decode(errors="replace"))
        number = holder[1] if holder else "unknown"
        return cannot(subject, f"another Assay run (process {number}) is using {path.directory}", "Wait for it to end.")
    finally:
        os.close(descriptor)
    return ok(subject, "no other Assay run here")


def _data_folder(path: StoragePath) -> list[Check]:
    """Return whether a folder that already exists is this user's alone, as the engine requires."""
    subject, data = "data folder", Path(path.directory) / DATA_FOLDER
    try:
        facts = data.lstat()
    except OSError:
        return []
    if facts.st_uid != os.geteuid():
        text = (
            f"{data} belongs to user {facts.st_uid}: a run is refused, unless what you make there belongs to them too"
        )
        return [limited(subject, text, "Move it away, or choose another directory.")]
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return [cannot(subject, f"other users may write into {data}", f"chmod go-w {data}")]
    return []


def _leftovers(path: StoragePath) -> list[Check]:
    data = Path(path.directory) / DATA_FOLDER
    try:
        sets = sorted(mark.parent.name for mark in data.glob(f"*/{MARK}"))
    except OSError as error:
        text = f"{data} cannot be looked into: {error.strerror}"
        return [limited("left-over data", text, "Run as the user who measured there.")]
    if not sets:
        return []
    text = f"data sets of earlier runs are still in {data}: {', '.join(sets[:5])}{' ...' if len(sets) > 5 else ''}"
    return [limited("left-over data", text, f"assay clean {path.directory}")]


def directory_checks(path: StoragePath, ram_bytes: int) -> tuple[Check, ...]:
    """What can be measured in a directory; makes and removes one small file there to try O_DIRECT."""
    writable = _writable(path)
    # Another run's numbers must not be disturbed by the probe.
    other_run = _other_run(path)
    may_probe = not any(check.state.value == "cannot" for check in (writable, other_run))
    return (
        _storage(path),
        writable,
        other_run,
        *_data_folder(path),
        _space(path, ram_bytes),
        _inodes(path),
        *([_direct_io(path)] if may_probe else []),
        *unsafe_mounts(path),
        *_layers(path),
        *_leftovers(path),
    )
