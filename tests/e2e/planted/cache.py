"""Causes in memory: what answers instead of the storage, and what writers wait for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.planted.case import CLIENT, MEMORY, STORAGE, Case, Expected, Said, Scene
from e2e.planted.loads import CACHED_READ, RANDOM_READ, data, only
from e2e.planted.storage import BLOCKS, Kind, delayed_disk, memory_disk, moved_bytes
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.dirty import dirty_limit
from testbed.host import command
from testbed.nbd import nbd_rate_device

EACH_ONCE = 'op = { op = "read", set = "data", access = { kind = "random", coverage = "each_once" }, size = "4KiB" }'
BUFFERED_WRITE = 'op = { op = "write", set = "data", access = "random", size = "4KiB" }'
BUFFERED_STREAM_OUT = 'op = { op = "write", set = "data", access = "sequential", size = "1MiB" }'
_WRITE_BACK = frozenset({"write_back", "page_cache"})
_CACHED = MEMORY | {"client_cpu"}


@contextmanager
def full(_folder: Path, *, job: str, kind: Kind = "ext4", workers: int = 1) -> Iterator[Scene]:
    """All that is read is in memory; the device takes 2 ms for each read that gets there."""

    def took(said: Said) -> bool:
        return bool(said.row["latency_ns"]["p50"] < 1e6)

    with delayed_disk(2, kind) as disk:
        job = f"workers = {workers}\n{job}"
        yield Scene(directory=disk.directory, load=only(job, keys='cache = "warm"', sets=data("16MiB")), took=took)


@contextmanager
def half(_folder: Path, *, share: float, read_ms: int = 1) -> Iterator[Scene]:
    """A share of what is read is in memory; each block is read once."""
    keys = f'before = [{{ evict = "data" }}, {{ warm = "data", share = {share} }}]'

    def took(said: Said) -> bool:
        # Every miss takes the device's time, every hit hardly any.
        missed = (1 - share) * said.row["ops"] * read_ms * 1e-3
        return bool(0.9 <= said.row["seconds"] / missed <= 2.5)

    with delayed_disk(read_ms) as disk:
        load = only(f'advice = "random"\n{EACH_ONCE}', seconds=None, keys=keys, sets=data("8MiB"))
        yield Scene(directory=disk.directory, load=load, took=took)


@contextmanager
def first_part(_folder: Path, *, share: float, read_ms: int) -> Iterator[Scene]:
    """What is read first is in memory, and read before the window of the number begins; the device gives all in it."""
    keys = f'before = [{{ evict = "data" }}, {{ warm = "data", share = {share} }}]'
    job = 'op = { op = "read", set = "data", access = { kind = "sequential", wrap = false }, size = "4KiB" }'

    def took(said: Said) -> bool:
        is_in_window = said.row["latency_ns"]["p50"] >= read_ms * 1e6 and said.row["device_bytes"] >= said.row["bytes"]
        return bool(said.row["window_s"][0] > 0 and is_in_window)

    with delayed_disk(read_ms) as disk:
        load = only(f'advice = "random"\n{job}', keys=keys, sets=data("32MiB"))
        yield Scene(directory=disk.directory, load=load, took=took)


@contextmanager
def cold(_folder: Path, *, read_ms: int, size: str) -> Iterator[Scene]:
    """Nothing is in memory, and each block is read once."""

    def took(said: Said) -> bool:
        return bool(said.row["latency_ns"]["p50"] >= read_ms * 1e6)

    with delayed_disk(read_ms) as disk:
        job = f'advice = "random"\n{EACH_ONCE}'
        yield Scene(directory=disk.directory, load=only(job, keys='cache = "cold"', sets=data(size)), took=took)


@contextmanager
def cached_backing(folder: Path, *, job: str) -> Iterator[Scene]:
    """The device is a file on a disk of this machine, and in its memory."""
    if command("stat", "--file-system", "--format=%T", folder).strip() in {"tmpfs", "ramfs"}:
        pytest.skip(f"needs temporary files on a disk; {folder} is in memory")
    with (
        loop_device(64 * MIB, backing=folder, direct_io=False) as device,
        filesystem(device, mkfs_options=BLOCKS["ext4"]) as directory,
    ):
        yield Scene(directory=directory, load=only(job, sets=data("8MiB")))


@contextmanager
def not_direct(_folder: Path, *, size: str = "8MiB") -> Iterator[Scene]:
    """Direct I/O that the file system takes and does not do: ext4 that journals data."""
    with memory_disk(mount_options="noatime,data=journal") as disk:
        before = moved_bytes(disk.device)[0]
        yield Scene(
            directory=disk.directory,
            load=only(RANDOM_READ, sets=data(size)),
            took=lambda said: moved_bytes(disk.device)[0] - before < 0.5 * said.row["bytes"],
        )


@contextmanager
def in_memory_alone(_folder: Path, *, job: str, keys: str = "") -> Iterator[Scene]:
    """A file system that is memory."""
    with tmpfs(128 * MIB) as directory:
        yield Scene(directory=directory, load=only(job, keys=keys, sets=data("16MiB")))


@contextmanager
def write_back(_folder: Path, *, job: str, write_ms: int = 5) -> Iterator[Scene]:
    """Writes that are done when memory has them; the device takes its time for each, later."""

    def took(said: Said) -> bool:
        return bool(said.row["latency_ns"]["p50"] < write_ms * 1e6)

    with delayed_disk(1, write_ms=write_ms) as disk:
        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")), operation="write", took=took)


@contextmanager
def dirty(_folder: Path, *, at_most_mib: int, mib_per_s: int, seconds: int = 5, workers: int = 1) -> Iterator[Scene]:
    """Writers that wait until the device has written what others wrote before: little may be dirty."""

    def took(said: Said) -> bool:
        return bool(0.7 <= said.row["throughput_bytes_per_s"] / (mib_per_s * MIB) <= 2)

    job = f"workers = {workers}\n{BUFFERED_STREAM_OUT}"
    with (
        nbd_rate_device(mib_per_s * MIB, 192 * MIB) as device,
        filesystem(device, mkfs_options=BLOCKS["ext4"]) as directory,
        dirty_limit(at_most_mib * MIB),
    ):
        sets = data("128MiB", 'allocate = "fallocate"')
        yield Scene(directory=directory, load=only(job, seconds=seconds, sets=sets), took=took)


CASES = (
    Case(
        cause="a page cache that has all",
        plant=full,
        parameters=(
            {"job": CACHED_READ},
            {"job": CACHED_READ, "kind": "xfs", "workers": 2},
            {"job": 'op = { op = "read", set = "data", access = "sequential", size = "128KiB" }', "kind": "btrfs"},
        ),
        expected=Expected(measures=_CACHED, limiter=CLIENT, no_lie=frozenset({"operation_latency"})),
    ),
    Case(
        cause="a page cache that has a part",
        plant=half,
        parameters=({"share": 0.5}, {"share": 0.3}, {"share": 0.8, "read_ms": 4}),
        expected=Expected(measures=frozenset({"mixed"})),
    ),
    Case(
        cause="a page cache that had what was read before the window",
        plant=first_part,
        parameters=({"share": 0.5, "read_ms": 2}, {"share": 0.3, "read_ms": 4}),
        expected=Expected(measures=STORAGE, limiter=frozenset({"operation_latency"}), is_healthy=True),
    ),
    Case(
        cause="a page cache that has nothing",
        plant=cold,
        parameters=(
            {"read_ms": 2, "size": "16MiB"},
            {"read_ms": 5, "size": "8MiB"},
            {"read_ms": 10, "size": "8MiB"},
        ),
        expected=Expected(
            measures=STORAGE, limiter=frozenset({"operation_latency"}), evidence="the device", is_healthy=True
        ),
    ),
    Case(
        cause="a device whose file is in this machine's memory",
        is_in_suite=True,
        plant=cached_backing,
        parameters=({"job": RANDOM_READ}, {"job": f"workers = 2\n{RANDOM_READ}"}),
        expected=Expected(
            found=frozenset({"from-memory"}),
            found_from="warning",
            found_text="backing file is in the page cache",
            measures=_CACHED | {"mixed"},
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="direct I/O that the file system does not do",
        plant=not_direct,
        parameters=({}, {"size": "32MiB"}),
        expected=Expected(
            found=frozenset({"from-memory"}),
            found_from="warning",
            found_text="O_DIRECT",
            measures=_CACHED | {"mixed"},
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="a file system that is memory",
        plant=in_memory_alone,
        parameters=(
            {"job": CACHED_READ},
            {"job": BUFFERED_WRITE},
            {"job": CACHED_READ, "keys": 'cache = "warm"'},
        ),
        expected=Expected(measures=_CACHED | _WRITE_BACK, limiter=CLIENT, no_lie=frozenset({"operation_latency"})),
    ),
    Case(
        cause="writes that memory takes",
        plant=write_back,
        parameters=(
            {"job": BUFFERED_WRITE},
            {"job": f"workers = 2\n{BUFFERED_WRITE}"},
            {"job": BUFFERED_STREAM_OUT.replace("1MiB", "64KiB"), "write_ms": 10},
        ),
        expected=Expected(
            measures=_WRITE_BACK,
            no_lie_measures=frozenset({"client_cpu", "mixed"}),
            found=frozenset({"absorbed"}),
        ),
    ),
    Case(
        cause="writers that wait for write-back",
        is_in_suite=True,
        plant=dirty,
        parameters=(
            {"at_most_mib": 16, "mib_per_s": 20},
            {"at_most_mib": 32, "mib_per_s": 40},
            {"at_most_mib": 16, "mib_per_s": 20, "workers": 2},
        ),
        expected=Expected(
            limiter=frozenset({"writeback_device"}),
            measures=frozenset({"write_back", "storage", "mixed"}),
        ),
    ),
)
