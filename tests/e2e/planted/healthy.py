"""Nothing is wrong: devices of known behaviour, measured as they should be."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.planted.case import CLIENT, MEMORY, SLOW_DEVICE, STORAGE, Case, Expected, Scene
from e2e.planted.loads import CACHED_READ, DSYNC_WRITE, RANDOM_READ, Phase, at_depth, data, load, only
from e2e.planted.storage import Kind, delayed_disk, true_disk

CREATE_AND_FSYNC = """
timed = ["create"]
[[phase.job.loop]]
group = "create"
actions = [
    { op = "create", name = "open", set = "files", slot = 0 },
    { op = "write", slot = 0, access = "whole", size = "4KiB" },
    { op = "fsync", slot = 0 },
    { op = "close", slot = 0 },
]
"""


@contextmanager
def reads(_folder: Path, *, read_ms: int, kind: Kind, depth: int = 1) -> Iterator[Scene]:
    """Random reads past the page cache of a device of known latency."""
    with delayed_disk(read_ms, kind) as disk:
        yield Scene(
            directory=disk.directory,
            load=only(at_depth(depth), seconds=3, sets=data("8MiB")),
            is_true=lambda said: bool(said.row["iops"] <= depth * 1e3 / read_ms),
        )


@contextmanager
def stream(_folder: Path, *, kind: Kind, size: str = "1MiB") -> Iterator[Scene]:
    """A file on a hard disk, read once from its start, that no memory has."""
    job = f'op = {{ op = "read", set = "data", access = {{ kind = "sequential", wrap = false }}, size = "{size}" }}'
    with true_disk(kind, size_bytes=400 << 20, hdd=True, cache=True) as disk:
        yield Scene(directory=disk.directory, load=only(job, seconds=None, keys='cache = "cold"', sets=data("256MiB")))


@contextmanager
def durable_writes(_folder: Path, *, flush_ms: int, kind: Kind) -> Iterator[Scene]:
    """Writes that are durable one by one, on a device that takes its time for each flush."""
    with true_disk(kind, flush_ms=flush_ms) as disk:
        yield Scene(
            directory=disk.directory,
            load=only(DSYNC_WRITE, seconds=3, sets=data("8MiB")),
            is_true=lambda said: bool(said.row["iops"] <= 1e3 / flush_ms),
        )


@contextmanager
def durable_files(_folder: Path, *, flush_ms: int, kind: Kind) -> Iterator[Scene]:
    """Files that are made and durable one by one."""
    sets = '[[file_set]]\nname = "files"\nfiles = 20000\nsize = "4KiB"\nexisting_share = 0.0\n'
    with true_disk(kind, flush_ms=flush_ms) as disk:
        yield Scene(
            directory=disk.directory,
            load=load(Phase(name="planted", job=CREATE_AND_FSYNC, seconds=3), sets=sets),
            is_true=lambda said: bool(said.row["iops"] <= 1e3 / flush_ms),
        )


@contextmanager
def wanted_cache(_folder: Path, *, kind: Kind, job: str = CACHED_READ) -> Iterator[Scene]:
    """Reads of what memory has, which was asked for."""
    with delayed_disk(2, kind) as disk:
        yield Scene(directory=disk.directory, load=only(job, seconds=3, keys='cache = "warm"', sets=data("8MiB")))


@contextmanager
def half_the_rate(_folder: Path, *, kind: Kind, per_s: int, read_ms: int) -> Iterator[Scene]:
    """Reads that arrive at half the rate that the device gives."""
    job = f'arrival = {{ kind = "open", rate_per_s = {per_s} }}\n{RANDOM_READ}'
    with delayed_disk(read_ms, kind) as disk:
        yield Scene(
            directory=disk.directory,
            load=only(job, seconds=3, sets=data("8MiB")),
            is_true=lambda said: bool(0.95 <= said.row["iops"] / per_s <= 1.05),
        )


LATENCY = frozenset({"operation_latency"})

CASES = (
    *(
        Case(
            cause=f"healthy: random reads, {kind}",
            plant=reads,
            parameters=({"read_ms": 5, "kind": kind}, {"read_ms": 2, "kind": kind}, {"read_ms": 12, "kind": kind}),
            expected=Expected(limiter=LATENCY, evidence="the device", measures=STORAGE, is_healthy=True),
        )
        for kind in ("ext4", "xfs", "btrfs")
    ),
    Case(
        cause="healthy: a cold stream",
        plant=stream,
        parameters=({"kind": "ext4"}, {"kind": "xfs"}, {"kind": "ext4", "size": "128KiB"}),
        expected=Expected(limiter=SLOW_DEVICE, measures=STORAGE, is_healthy=True),
    ),
    Case(
        cause="healthy: durable writes",
        plant=durable_writes,
        parameters=(
            {"flush_ms": 10, "kind": "ext4"},
            {"flush_ms": 5, "kind": "xfs"},
            {"flush_ms": 20, "kind": "ext4"},
            {"flush_ms": 8, "kind": "btrfs"},
        ),
        expected=Expected(limiter=LATENCY, measures=STORAGE, is_healthy=True),
    ),
    Case(
        cause="healthy: durable files",
        plant=durable_files,
        parameters=(
            {"flush_ms": 10, "kind": "ext4"},
            {"flush_ms": 5, "kind": "xfs"},
            {"flush_ms": 4, "kind": "btrfs"},
        ),
        expected=Expected(limiter=LATENCY, measures=STORAGE, is_healthy=True),
    ),
    Case(
        cause="healthy: a cache that was asked for",
        plant=wanted_cache,
        parameters=({"kind": "ext4"}, {"kind": "xfs"}, {"kind": "btrfs"}),
        expected=Expected(limiter=CLIENT, measures=MEMORY | {"client_cpu"}, is_healthy=True),
    ),
    Case(
        cause="healthy: arrivals at half the device's rate",
        plant=half_the_rate,
        parameters=(
            {"kind": "ext4", "per_s": 80, "read_ms": 5},
            {"kind": "xfs", "per_s": 150, "read_ms": 2},
            {"kind": "btrfs", "per_s": 40, "read_ms": 10},
        ),
        expected=Expected(limiter=frozenset({"offered_load"}), measures=STORAGE, is_healthy=True),
    ),
)
