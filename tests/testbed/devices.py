"""Loop devices, file systems and mounts for tests: each made, checked, and undone."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from testbed.host import COMMAND_TIMEOUT_S, command, need_filesystem, need_root, need_tools, wait_until
from testbed.leaks import loops_of_machine, made, mounts_of_machine, unmount

MIB = 1024 * 1024

_ADD_LOOP, _REMOVE_LOOP = 0x4C80, 0x4C81
"""LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h."""
_OWN_LOOPS = 10_000
"""Numbers from here on are free: the kernel hands the lowest out."""

FORCE = {"ext4": ("-q", "-F"), "xfs": ("-q", "-f"), "btrfs": ("-q", "-f")}


@contextmanager
def loop_device(size_bytes: int, *, backing: Path, direct_io: bool = True, sector_bytes: int = 512) -> Iterator[Path]:
    """Make a block device of a new file in the folder `backing`, fully allocated, so that reads reach the folder.

    Args:
        size_bytes: Size of the device.
        backing: A folder. On tmpfs the device is memory, and its speed is the processor's.
        direct_io: The loop driver passes the page cache of the backing file by.
        sector_bytes: Logical block, which O_DIRECT moves multiples of.

    Yields:
        The device, `/dev/loopN`.
    """
    need_root()
    need_tools("losetup")
    descriptor, name = tempfile.mkstemp(prefix="assay-loop-", suffix=".img", dir=backing)
    file = Path(name)
    try:
        with os.fdopen(descriptor):
            os.posix_fallocate(descriptor, 0, size_bytes)
        with attached_loop(file, direct_io=direct_io, sector_bytes=sector_bytes) as device:
            yield device
    finally:
        file.unlink()


@contextmanager
def attached_loop(file: Path, *, direct_io: bool, sector_bytes: int = 512) -> Iterator[Path]:
    """Make a block device of an existing file, and check that direct I/O is as asked."""
    need_root()
    need_tools("losetup")
    if not os.access("/dev/loop-control", os.R_OK | os.W_OK):
        pytest.skip("needs /dev/loop-control, readable and writable")
    options = (f"--direct-io={'on' if direct_io else 'off'}", f"--sector-size={sector_bytes}")
    name = command("losetup", "--find", "--show", *options, file).strip()
    device = Path(name)
    made.loops[name] = file
    try:
        is_direct = Path(f"/sys/block/{device.name}/loop/dio").read_text().strip() == "1"
        if is_direct != direct_io:
            raise RuntimeError(f"{device}: direct I/O to {file} is {is_direct}, asked for was {direct_io}")
        yield device
    finally:
        command("losetup", "--detach", device)
        # Detaching is lazy: the device goes when its last opener, udev for one, closes it.
        wait_until(lambda: loops_of_machine().get(name) != file, f"{device} detached")


@contextmanager
def loop_without_discards(file: Path) -> Iterator[Path]:
    """Make a block device of an existing file that takes no discards.

    It has a number that no other test gets: the limit outlives the file, and cannot be taken back.
    """
    number = _OWN_LOOPS + os.getpid() % _OWN_LOOPS
    device = Path(f"/dev/loop{number}")
    with Path("/dev/loop-control").open("r+b", buffering=0) as control:
        fcntl.ioctl(control, _ADD_LOOP, number)
        try:
            wait_until(device.is_block_device, f"{device} there")
            command("losetup", device, file)
            made.loops[str(device)] = file
            try:
                Path(f"/sys/block/{device.name}/queue/discard_max_bytes").write_text("0")
                yield device
            finally:
                command("losetup", "--detach", device)
                wait_until(lambda: loops_of_machine().get(str(device)) != file, f"{device} detached")
        finally:
            fcntl.ioctl(control, _REMOVE_LOOP, number)


@contextmanager
def small_requests_reads_first(device: Path, most_bytes: int) -> Iterator[None]:
    """Have the kernel ask a device for no more at a time, and for what is read before what is written."""
    queue = Path(f"/sys/block/{device.name}/queue")
    before = [(queue / "max_sectors_kb").read_text(), (queue / "scheduler").read_text().split("[")[1].split("]")[0]]
    try:
        _set_queue(queue, [str(most_bytes // 1024), "mq-deadline"])
        yield
    finally:
        _set_queue(queue, before)


def _set_queue(queue: Path, values: Sequence[str]) -> None:
    for name, value in zip(("max_sectors_kb", "scheduler"), values, strict=True):
        (queue / name).write_text(value)


@contextmanager
def filesystem(
    device: Path,
    kind: Literal["ext4", "xfs", "btrfs"] = "ext4",
    *,
    mkfs_options: Sequence[str] = (),
    mount_options: str = "noatime",
) -> Iterator[Path]:
    """Make a file system on a device and mount it. XFS needs 300 MB.

    Yields:
        The mount point.
    """
    need_root()
    need_tools(f"mkfs.{kind}", "mount", "umount")
    need_filesystem(kind)
    # Lazy initialisation would write to the device while it is measured.
    eager = ("-E", "lazy_itable_init=0,lazy_journal_init=0") if kind == "ext4" and "-E" not in mkfs_options else ()
    command(f"mkfs.{kind}", *FORCE[kind], *eager, *mkfs_options, device)
    with mounted("-t", kind, "-o", mount_options, str(device)) as mount_point:
        yield mount_point


@contextmanager
def mounted(*arguments: str, parent: Path | None = None) -> Iterator[Path]:
    """Mount what the arguments of mount(8) say on a new folder in `parent`, or in that of temporary files; check that."""
    need_root()
    need_tools("mount", "umount")
    with tempfile.TemporaryDirectory(prefix="assay-mount-", dir=parent) as folder:
        mount_point = Path(folder).resolve()
        command("mount", *arguments, mount_point)
        made.mounts.add(mount_point)
        try:
            if mount_point not in mounts_of_machine():
                raise RuntimeError(f"{mount_point} is not in mountinfo after mount {' '.join(arguments)}")
            yield mount_point
        finally:
            unmount(mount_point)


@contextmanager
def seen_at(folder: Path, place: Path) -> Iterator[None]:
    """Let a folder be seen in the place of another."""
    need_root()
    command("mount", "--bind", folder, place)
    made.mounts.add(place)
    try:
        yield
    finally:
        unmount(place)


@contextmanager
def small_ext4(size_bytes: int, *, backing: Path) -> Iterator[Path]:
    """An ext4 of a few megabytes, to be filled until ENOSPC."""
    with loop_device(size_bytes, backing=backing) as device, filesystem(device, "ext4") as mount_point:
        yield mount_point


@contextmanager
def tmpfs(size_bytes: int, *, parent: Path | None = None) -> Iterator[Path]:
    """A file system in memory, which knows neither cold caches nor a block device."""
    need_filesystem("tmpfs")
    with mounted("-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", parent=parent) as mount_point:
        yield mount_point


@contextmanager
def read_only_mount() -> Iterator[Path]:
    """A folder with one file, `present`, in which nothing can be written: EROFS."""
    with tmpfs(MIB) as mount_point:
        (mount_point / "present").write_bytes(b"here\n")
        command("mount", "-o", "remount,ro", mount_point)
        if not os.statvfs(mount_point).f_flag & os.ST_RDONLY:
            raise RuntimeError(f"{mount_point} is still writable after remount,ro")
        yield mount_point


@contextmanager
def overlay(size_bytes: int = 64 * MIB) -> Iterator[Path]:
    """An overlay whose layers are in memory, of a size together; `lower` comes from the lower layer."""
    need_filesystem("overlay")
    with tmpfs(size_bytes) as layers:
        for name in ("lower", "upper", "work"):
            (layers / name).mkdir()
        (layers / "lower" / "lower").write_bytes(b"below\n")
        options = ",".join(f"{name}dir={layers / name}" for name in ("lower", "upper", "work"))
        with mounted("-t", "overlay", "-o", options, "overlay") as mount_point:
            if (mount_point / "lower").read_bytes() != b"below\n":
                raise RuntimeError(f"{mount_point} does not show its lower layer")
            yield mount_point


@contextmanager
def fuse_passthrough(folder: Path) -> Iterator[Path]:
    """A folder seen through a FUSE daemon (bindfs)."""
    need_fuse()
    need_tools("bindfs", "fusermount3")
    with tempfile.TemporaryDirectory(prefix="assay-fuse-") as name:
        mount_point = Path(name).resolve()
        daemon = subprocess.Popen(["bindfs", "-f", folder, mount_point])
        made.mounts.add(mount_point)
        try:
            wait_until(lambda: mount_point in mounts_of_machine(), f"bindfs on {mount_point}")
            yield mount_point
        finally:
            if mount_point in mounts_of_machine():
                command("fusermount3", "-u", mount_point)
            daemon.wait(COMMAND_TIMEOUT_S)


def need_fuse() -> None:
    """Skip the test unless this process may make FUSE mounts."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs /dev/fuse, readable and writable")
