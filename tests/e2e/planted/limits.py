"""Causes that somebody set: limits of a control group on a device, and links of a known rate."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.planted.case import SLOW_DEVICE, STORAGE, Case, Expected, Said, Scene
from e2e.planted.loads import DSYNC_WRITE, RANDOM_READ, STREAM, STREAM_OUT, at_depth, data, only
from e2e.planted.storage import delayed_disk, true_disk
from testbed.devices import MIB, tmpfs
from testbed.link import link, served_over
from testbed.throttle import blkio_limit


@contextmanager
def bytes_limit(_folder: Path, *, mib_per_s: int, operation: str = "read", depth: int = 1) -> Iterator[Scene]:
    """A device held to a rate of bytes."""
    limit = {f"{operation}_bps": mib_per_s * MIB}

    def took(said: Said) -> bool:
        return bool(0.7 <= said.row["throughput_bytes_per_s"] / (mib_per_s * MIB) <= 1.1)

    with delayed_disk(0) as disk, blkio_limit(disk.device, **limit) as group:
        yield Scene(
            directory=disk.directory,
            load=only(at_depth(depth, STREAM if operation == "read" else STREAM_OUT), sets=data("8MiB")),
            prefix=group.prefix,
            took=took,
        )


@contextmanager
def operations_limit(_folder: Path, *, per_s: int, job: str, operation: str = "read") -> Iterator[Scene]:
    """A device held to a rate of operations."""

    def took(said: Said) -> bool:
        return bool(0.2 <= said.row["iops"] / per_s <= 1.15)

    with delayed_disk(0) as disk, blkio_limit(disk.device, **{f"{operation}_iops": per_s}) as group:
        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")), prefix=group.prefix, took=took)


@contextmanager
def loose_limit(_folder: Path, *, per_s: int, above: float, depth: int = 1) -> Iterator[Scene]:
    """A limit of operations a little above what the device serves: it holds nothing back."""

    def took(said: Said) -> bool:
        return bool(0.95 <= said.row["iops"] / (per_s * above) <= 1.0)

    with true_disk(most_per_s=per_s) as disk, blkio_limit(disk.truth.device, read_iops=round(per_s * above)) as group:
        job = at_depth(depth)
        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")), prefix=group.prefix, took=took)


@contextmanager
def narrow_link(_folder: Path, *, mbit_per_s: int, job: str) -> Iterator[Scene]:
    """A file server at the other end of a link that is held to a rate."""

    def took(said: Said) -> bool:
        return bool(0.7 <= 8 * said.row["throughput_bytes_per_s"] / (mbit_per_s * 1e6) <= 1.1)

    with tmpfs(64 * MIB) as served, link(mbit_per_s * 1_000_000) as path, served_over(path, served) as directory:
        yield Scene(
            directory=directory,
            load=only(job, sets=data("8MiB")),
            words=("--link", f"{mbit_per_s}Mbit"),
            took=took,
        )


CASES = (
    Case(
        cause="a limit of bytes a second (control group)",
        plant=bytes_limit,
        parameters=(
            {"mib_per_s": 20},
            {"mib_per_s": 5},
            {"mib_per_s": 60, "depth": 8},
            {"mib_per_s": 20, "operation": "write"},
        ),
        expected=Expected(limiter=frozenset({"throttle_io"})),
    ),
    Case(
        cause="a limit of operations a second (control group)",
        is_in_suite=True,
        plant=operations_limit,
        parameters=(
            {"per_s": 500, "job": RANDOM_READ},
            {"per_s": 2000, "job": at_depth(8)},
            {"per_s": 150, "job": RANDOM_READ},
            {"per_s": 300, "job": DSYNC_WRITE, "operation": "write"},
        ),
        expected=Expected(limiter=frozenset({"throttle_io"})),
    ),
    Case(
        cause="a limit of operations that the device stays below",
        plant=loose_limit,
        parameters=(
            {"per_s": 300, "above": 1.03},
            {"per_s": 200, "above": 1.02},
            {"per_s": 400, "above": 1.03, "depth": 4},
        ),
        expected=Expected(limiter=SLOW_DEVICE, measures=STORAGE),
    ),
    Case(
        cause="a narrow link",
        is_in_suite=True,
        plant=narrow_link,
        parameters=(
            {"mbit_per_s": 50, "job": at_depth(4, STREAM)},
            {"mbit_per_s": 20, "job": STREAM},
            {"mbit_per_s": 100, "job": at_depth(4, STREAM_OUT)},
        ),
        expected=Expected(limiter=frozenset({"network_bandwidth"}), measures=frozenset({"link"})),
    ),
)
