"""File systems on devices of known behaviour, in memory, for planted causes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.nbd import nbd_delay_device
from testbed.truth import TruthDisk, truth_disk

Kind = Literal["ext4", "xfs", "btrfs"]

BLOCKS: dict[Kind, tuple[str, ...]] = {"ext4": ("-b", "4096"), "xfs": (), "btrfs": ()}
"""A block of the file system is what an operation asks for: none is cut in two where extents meet."""
SMALLEST: dict[Kind, int] = {"ext4": 128 * MIB, "xfs": 320 * MIB, "btrfs": 256 * MIB}
"""Devices that the file systems are made on."""


class Disk(NamedTuple):
    """A device with a file system on it."""

    device: Path
    directory: Path


@contextmanager
def memory_disk(kind: Kind = "ext4", *, size_bytes: int = 0, mount_options: str = "noatime") -> Iterator[Disk]:
    """A disk that takes no time but the client's."""
    size_bytes = size_bytes or SMALLEST[kind]
    with (
        tmpfs(size_bytes + 16 * MIB) as memory,
        loop_device(size_bytes, backing=memory) as device,
        filesystem(device, kind, mkfs_options=BLOCKS[kind], mount_options=mount_options) as directory,
    ):
        yield Disk(device, directory)


@contextmanager
def file_disk(folder: Path, kind: Kind = "ext4") -> Iterator[Disk]:
    """A file on the disk below a folder as a device, past the page cache: the kernel's own threads do its I/O."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        loop_device(SMALLEST[kind], backing=folder) as device,
        filesystem(device, kind, mkfs_options=BLOCKS[kind], mount_options="noatime") as directory,
    ):
        yield Disk(device, directory)


@contextmanager
def delayed_disk(read_ms: int, kind: Kind = "ext4", *, write_ms: int = 0, size_bytes: int = 0) -> Iterator[Disk]:
    """A disk whose reads take so long, some of them at once."""
    with (
        nbd_delay_device(read_ms, size_bytes or SMALLEST[kind], write_delay_ms=write_ms) as device,
        filesystem(device, kind, mkfs_options=BLOCKS[kind]) as directory,
    ):
        yield Disk(device, directory)


class LoggingDisk(NamedTuple):
    """A disk with its own log, and a file system on it."""

    truth: TruthDisk
    directory: Path


@contextmanager
def true_disk(kind: Kind = "ext4", *, size_bytes: int = 0, **behaviour: float) -> Iterator[LoggingDisk]:
    """A disk that does what it was told; `truthdisk.py` has the settings."""
    with (
        truth_disk(size_bytes or SMALLEST[kind], **behaviour) as truth,
        filesystem(truth.device, kind, mkfs_options=BLOCKS[kind]) as directory,
    ):
        yield LoggingDisk(truth, directory)


def moved_bytes(device: Path) -> tuple[int, int]:
    """Bytes read and written, by the kernel's counters (Documentation/block/stat.rst), in sectors of 512 bytes always."""
    fields = Path(f"/sys/block/{device.name}/stat").read_text().split()
    return 512 * int(fields[2]), 512 * int(fields[6])
