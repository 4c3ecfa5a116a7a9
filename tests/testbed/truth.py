"""A block device that keeps its own log: what it was asked, when, for how long it worked on that, how it answered.

nbdkit serves `truthdisk.py`, nbdfuse shows that as a file, a loop device makes a block device of it. Its log, not what it
was set to, is the truth that a measurement is held against: the clock is CLOCK_MONOTONIC, which the engine's is, too.
The chain adds 0.3 to 1.2 ms to each request, the more the busier the machine.
"""

import mmap
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed.devices import attached_loop, need_fuse
from testbed.host import command, need_root, need_tools
from testbed.nbd import nbd_file

PLUGIN = Path(__file__).with_name("truthdisk.py")


class Request(NamedTuple):
    """What the device was asked, and how it answered."""

    kind: str
    """`R`ead, `W`rite, `F`lush or `T`rim."""
    offset_bytes: int
    length_bytes: int
    begin_ns: int
    """CLOCK_MONOTONIC."""
    end_ns: int
    errno: int
    """0: done."""

    @property
    def seconds(self) -> float:
        """How long the device itself took."""
        return (self.end_ns - self.begin_ns) / 1e9


class Extent(NamedTuple):
    """Where a part of a file is on its device: first byte, byte after the last."""

    begin_bytes: int
    end_bytes: int


@dataclass(frozen=True)
class TruthDisk:
    """A device with its log; `folder` has the log and what tells the device to misbehave."""

    device: Path
    folder: Path

    def log(self) -> list[Request]:
        """All requests so far, in the order of their answers."""
        fields = (line.split() for line in (self.folder / "log").read_text().splitlines())
        return [Request(kind, *(int(number) for number in numbers)) for kind, *numbers in fields]

    def log_of(self, extents: Sequence[Extent], begin_ns: int, end_ns: int) -> list[Request]:
        """Reads and writes of parts of the device that were answered in a span of time; see `extents_of`."""
        return [
            request
            for request in self.log()
            if request.kind in "RW"
            and begin_ns < request.end_ns <= end_ns
            and any(begin <= request.offset_bytes < end for begin, end in extents)
        ]

    def way_there_s(self) -> float:
        """What the chain adds to a read on this machine as it is now: median of some, held against the log."""
        begun_ns = time.monotonic_ns()
        taken_s = [taken_ns / 1e9 for taken_ns in direct_reads_ns(self.device, 64)]
        served = [request for request in self.log() if request.kind == "R" and request.begin_ns > begun_ns]
        assert len(served) == len(taken_s)
        return statistics.median(taken - request.seconds for taken, request in zip(taken_s, served, strict=True))

    def stall(self) -> None:
        """Let the next read or write hang for `stall_s`."""
        (self.folder / "stall").touch()

    def tire(self) -> None:
        """From now on, serve `later_per_s` and no more, each `tired_ms` later."""
        (self.folder / "tired").touch()

    def fail(self, extents: Sequence[Extent]) -> None:
        """From now on, answer EIO to `fault_share` of what is read from and written to parts of the device."""
        text = "".join(f"{begin} {end}\n" for begin, end in extents)
        new = self.folder / "faults.new"
        new.write_text(text)
        new.rename(self.folder / "faults")


@contextmanager
def truth_disk(size_bytes: int, *, fault_share: float = 0, **behaviour: float) -> Iterator[TruthDisk]:
    """Make a device of known behaviour; `truthdisk.py` says what the settings do."""
    need_root()
    need_tools("nbdkit", "nbdfuse", "losetup", "fusermount3")
    need_fuse()
    need_python_plugin()
    with tempfile.TemporaryDirectory(prefix="assay-truth-") as name:
        folder = Path(name)
        settings = {
            "size": size_bytes,
            "fault_share": fault_share,
            **{name: int(value) if isinstance(value, bool) else value for name, value in behaviour.items()},
            **{file: folder / file for file in ("log", "stall", "tired", "faults")},
        }
        words = [f"{key}={value}" for key, value in settings.items()]
        # nbdkit prints a traceback for every error that was asked for.
        quietly = ("--log=null",) if fault_share else ()
        with nbd_file(*quietly, "python", str(PLUGIN), *words) as file, attached_loop(file, direct_io=True) as device:
            yield TruthDisk(device, folder)


def direct_reads_ns(device: Path, reads: int) -> list[int]:
    """Read 4 KiB with O_DIRECT, each from another place of a device; what each took."""
    descriptor = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 4096) as page:  # aligned as O_DIRECT asks
            stride = os.lseek(descriptor, 0, os.SEEK_END) // reads // 4096 * 4096
            taken_ns = []
            for number in range(reads):
                begun_ns = time.monotonic_ns()
                assert os.preadv(descriptor, [page], number * stride) == 4096
                taken_ns.append(time.monotonic_ns() - begun_ns)
            return taken_ns
    finally:
        os.close(descriptor)


def need_python_plugin() -> None:
    """Skip the test unless nbdkit runs plugins in Python."""
    done = subprocess.run(["nbdkit", "--dump-plugin", "python"], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("needs nbdkit's plugin for Python; .ci/run lists the packages")


def extents_of(file: Path) -> list[Extent]:
    """Where a file is on its device, by the file system's own word."""
    need_tools("filefrag")
    # filefrag(8): "ext: logical_offset: physical_offset: length: ..", ranges with their last block included.
    pattern = re.compile(r"^\s*\d+:\s*\d+\.\.\s*\d+:\s*(\d+)\.\.\s*(\d+):", re.MULTILINE)
    found = pattern.findall(command("filefrag", "-v", "-s", "-b1024", file))
    if not found:
        raise RuntimeError(f"filefrag names no extent of {file}")
    return [Extent(1024 * int(first), 1024 * (int(last) + 1)) for first, last in found]
