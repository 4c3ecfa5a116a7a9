"""What is on a disk after the power was cut: every write and flush of a disk is recorded, and played again up to a moment.

A disk may keep what it was given in a cache of its own until it is told to flush, and write that in any order (the rule of
dm-log-writes and of ext4's and XFS's own tests). So there is on the medium all that was written before the last flush, and
of what came since any part: here none of it, or a random choice, in a random order, one write of it torn at a sector.
"""

import random
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from assay.units import KIB
from testbed.devices import FORCE, MIB, attached_loop, mounted, need_fuse, tmpfs
from testbed.host import command, need_filesystem, need_root, need_tools
from testbed.nbd import nbd_file
from testbed.truth import need_python_plugin

PLUGIN = Path(__file__).with_name("recorderdisk.py")
SECTOR_BYTES = 512
"""The least that a disk writes as a whole."""
_HEADER = struct.Struct("<cQQ")  # as in the plugin

Kind = Literal["ext4", "xfs", "btrfs"]
SIZES_BYTES = {"ext4": 64 * MIB, "xfs": 64 * MIB, "btrfs": 128 * MIB}
"""Near the smallest that each can be made with."""
_OPTIONS = {
    "ext4": ("-E", "lazy_itable_init=0,lazy_journal_init=0"),
    # Below 300 MB it warns, for want of a log as long as it would like.
    "xfs": ("--unsupported",),
    "btrfs": ("-m", "single"),
}
_SUPERBLOCKS: dict[str, tuple[range, ...]] = {
    "ext4": (range(1 * KIB, 2 * KIB),),
    "xfs": (),
    "btrfs": (range(64 * KIB, 68 * KIB), range(64 * MIB, 64 * MIB + 4 * KIB)),
}
"""Where a file system has a block with a checksum of its own, in one place, longer than a sector: it counts on the disk to
write that whole, and does not mount where it is torn. XFS's is one sector."""
_MOUNT_OPTIONS = "noatime,nodev,nosuid"


class Write(NamedTuple):
    """A write that the disk answered."""

    offset_bytes: int
    data: bytes


@dataclass(frozen=True)
class Cut:
    """A moment at which the power is cut, and what has reached the medium."""

    at: int
    """How many writes and flushes had been answered."""
    durable: int
    """How many of them were before the end of the last flush: the medium has those writes."""
    survivors: tuple[Write, ...] = ()
    """What it has of the writes since."""


class RecordingDisk:
    """A disk that records, mounted: `mount_point` is where programs write."""

    def __init__(self, mount_point: Path, log: Path) -> None:
        """Hold what `recording_disk` made."""
        self.mount_point = mount_point
        self._log = log

    def now_bytes(self) -> int:
        """Say where the log ends now: what a program was told before is before it. For `Recording.moment`."""
        return self._log.stat().st_size


class Recording:
    """All that a disk was given, from an image of it on."""

    def __init__(self, base: Path, log: bytes, kind: Kind) -> None:
        """Read the log of a disk that began as `base`, a file system of a kind."""
        self.base = base
        self._superblocks = _SUPERBLOCKS[kind]
        self.requests: list[Write | None] = []
        """Writes; None: a flush."""
        self._ends_bytes: list[int] = []
        place = 0
        while place < len(log):
            asked, offset_bytes, length_bytes = _HEADER.unpack_from(log, place)
            place += _HEADER.size
            self.requests.append(Write(offset_bytes, log[place : place + length_bytes]) if asked == b"W" else None)
            place += length_bytes
            self._ends_bytes.append(place)

    def moment(self, log_bytes: int) -> int:
        """Say how many requests had been answered when the log had so many bytes."""
        return bisect_right(self._ends_bytes, log_bytes)

    def at_flushes(self) -> list[Cut]:
        """Give each cut at the end of a flush that something was written before; what is never flushed is not there."""
        cuts, is_dirty = [], False
        for index, request in enumerate(self.requests, 1):
            if request is None and is_dirty:
                cuts.append(Cut(at=index, durable=index))
            is_dirty = request is not None
        return cuts

    def moments_between(self) -> list[int]:
        """Name the moments at which the disk holds something that it was not told to flush yet."""
        return [moment for moment in range(1, len(self.requests) + 1) if self.requests[moment - 1] is not None]

    def at(self, moment: int) -> Cut:
        """Give the cut at a moment that loses all that the disk was not told to flush."""
        return Cut(at=moment, durable=self._durable(moment))

    def torn(self, moment: int, rng: random.Random) -> Cut:
        """Give a cut at a moment with a part of what was not flushed, in any order, a last write torn at a sector."""
        cut = self.at(moment)
        since = [write for write in self.requests[cut.durable : moment] if write is not None]
        kept = rng.sample(since, rng.randint(min(1, len(since)), len(since)))
        if kept and not self._is_superblock(kept[-1]):
            last = kept[-1]
            sectors = len(last.data) // SECTOR_BYTES
            kept[-1] = Write(last.offset_bytes, last.data[: rng.randrange(sectors + 1) * SECTOR_BYTES])
        return Cut(at=moment, durable=cut.durable, survivors=tuple(kept))

    def _is_superblock(self, write: Write) -> bool:
        end_bytes = write.offset_bytes + len(write.data)
        return any(write.offset_bytes < block.stop and block.start < end_bytes for block in self._superblocks)

    def _durable(self, moment: int) -> int:
        flushed = (index for index in range(moment, 0, -1) if self.requests[index - 1] is None)
        return next(flushed, 0)


@contextmanager
def recording_disk(kind: Kind, folder: Path) -> Iterator[RecordingDisk]:
    """Make a file system on a disk that records, and mount it.

    Args:
        kind: File system.
        folder: Gets the image at the start and the log: `recorded` reads them.
    """
    need_root()
    need_tools("nbdkit", "nbdfuse", "losetup", "fusermount3", f"mkfs.{kind}")
    need_filesystem(kind)
    need_fuse()
    need_python_plugin()
    base, log = folder / "base.img", folder / "log"
    with base.open("wb") as file:
        file.truncate(SIZES_BYTES[kind])
    command(f"mkfs.{kind}", *FORCE[kind], *_OPTIONS[kind], base)
    with (
        nbd_file("python", str(PLUGIN), f"image={base}", f"log={log}") as file_of_disk,
        attached_loop(file_of_disk, direct_io=True) as device,
        mounted("-t", kind, "-o", _MOUNT_OPTIONS, str(device)) as mount_point,
    ):
        yield RecordingDisk(mount_point, log)


def recorded(folder: Path, kind: Kind, *, until_bytes: int) -> Recording:
    """Read what a disk recorded, up to a place in its log."""
    return Recording(folder / "base.img", (folder / "log").read_bytes()[:until_bytes], kind)


class Replay:
    """Makes the disk as it is after a cut, and mounts it: the file system recovers as it would then."""

    def __init__(self, recording: Recording, kind: Kind, memory: Path) -> None:
        """Begin with the image at the start; see `replaying`."""
        self._recording = recording
        self._kind = kind
        self._medium = memory / "medium.img"
        self._image = memory / "cut.img"
        self._written = 0
        _copy(recording.base, self._medium)

    @contextmanager
    def mounted(self, cut: Cut) -> Iterator[Path]:
        """Mount the disk as a cut leaves it. Cuts come in the order of `durable`, so that each write is played once."""
        assert cut.durable >= self._written, "cuts come in order"
        _write(self._medium, self._recording.requests[self._written : cut.durable])
        self._written = cut.durable
        _copy(self._medium, self._image)
        _write(self._image, cut.survivors)
        with (
            attached_loop(self._image, direct_io=False) as device,
            mounted("-t", self._kind, "-o", _MOUNT_OPTIONS, str(device)) as mount_point,
        ):
            yield mount_point


@contextmanager
def replaying(recording: Recording, kind: Kind) -> Iterator[Replay]:
    """Make room in memory for the images of cuts."""
    with ExitStack() as undo:
        memory = undo.enter_context(tmpfs(3 * SIZES_BYTES[kind]))
        yield Replay(recording, kind, memory)


def _copy(source: Path, target: Path) -> None:
    # cp(1) leaves holes out, which most of a new file system is.
    command("cp", "--sparse=always", source, target)


def _write(image: Path, writes: Iterable[Write | None]) -> None:
    with image.open("r+b", buffering=0) as file:
        for write in writes:
            if write is not None:
                file.seek(write.offset_bytes)
                file.write(write.data)
