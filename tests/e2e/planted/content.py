"""Causes in the data: what a file system need not fetch, or need not keep."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.command import Assay
from e2e.planted.case import Case, Expected, Scene
from e2e.planted.loads import FLUSHED_WRITES, RANDOM_READ, STREAM, data, only
from e2e.planted.storage import SMALLEST, Kind, delayed_disk
from testbed.devices import MIB, filesystem
from testbed.host import command, need_tools
from testbed.nbd import nbd_delay_device, nbd_rate_device

_KEPT = 'keep = true\nreuse = "{reuse}"'
_NEVER_WRITTEN = frozenset({"holes"})
OF_THE_FILE_SYSTEM = frozenset({"client_cpu", "page_cache", "mixed"})


@contextmanager
def never_written(_folder: Path, *, allocate: str, job: str, kind: Kind = "ext4") -> Iterator[Scene]:
    """Reads of blocks that nobody wrote: the load itself lays its files out like that."""
    with delayed_disk(1, kind) as disk:
        sets = data("32MiB", f'allocate = "{allocate}"')
        yield Scene(directory=disk.directory, load=only(job, sets=sets))


@contextmanager
def punched(folder: Path, *, job: str, share: float, kind: Kind = "ext4") -> Iterator[Scene]:
    """Reads of a set that was written once, and of which a part was given back to the file system since."""
    need_tools("fallocate")
    size = 32 << 20
    with delayed_disk(1, kind) as disk:
        first = folder / "first.toml"
        first.write_text(only(job, seconds=0.1, sets=data("32MiB", _KEPT.format(reuse="never"))))
        Assay(runs=folder / "first")("run", first, disk.directory, "--no-report")
        (file,) = (path for path in disk.directory.rglob("*") if path.is_file() and path.stat().st_size == size)
        command("fallocate", "--punch-hole", "--offset", "0", "--length", str(round(size * share)), file)
        sets = data("32MiB", _KEPT.format(reuse="trust"))
        yield Scene(
            directory=disk.directory,
            load=only(job, sets=sets),
            took=lambda _said: file.stat().st_blocks * 512 <= 1.05 * size * (1 - share) + (64 << 10),
        )


@contextmanager
def compressible(_folder: Path, *, ratio: float, mib_per_s: int, job: str, operation: str = "") -> Iterator[Scene]:
    """Content that a compressing file system makes smaller: more of it is written than the device can take."""
    with (
        nbd_rate_device(mib_per_s * MIB, SMALLEST["btrfs"]) as device,
        filesystem(device, "btrfs", mount_options="noatime,compress-force=zstd") as directory,
    ):
        sets = data("16MiB", f"content = {{ compress_ratio = {ratio} }}")
        yield Scene(
            directory=directory,
            load=only(job, sets=sets),
            operation=operation,
            took=lambda said: bool(said.row["throughput_bytes_per_s"] > 1.2 * mib_per_s * MIB),
        )


@contextmanager
def compressed_and_cold(_folder: Path, *, ratio: float, read_ms: int, keys: str = "") -> Iterator[Scene]:
    """Nothing is in memory and each byte is read once; the device moves a part of the bytes, because they are compressed."""
    job = 'op = { op = "read", set = "data", access = { kind = "sequential", wrap = false }, size = "128KiB" }'
    sets = data("96MiB", f"content = {{ compress_ratio = {ratio} }}")
    with (
        nbd_delay_device(read_ms, SMALLEST["btrfs"]) as device,
        filesystem(device, "btrfs", mount_options="noatime,compress-force=zstd") as directory,
    ):
        yield Scene(
            directory=directory,
            load=only(f'advice = "random"\n{keys}\n{job}', seconds=None, keys='cache = "cold"', sets=sets),
            took=lambda said: said.row["device_bytes"] < 0.6 * said.row["bytes"],
        )


CASES = (
    Case(
        cause="holes that are read",
        is_in_suite=True,
        plant=never_written,
        parameters=(
            {"allocate": "sparse", "job": RANDOM_READ},
            {"allocate": "sparse", "job": STREAM, "kind": "xfs"},
            {"allocate": "sparse", "job": RANDOM_READ, "kind": "btrfs"},
        ),
        expected=Expected(found=_NEVER_WRITTEN, found_from="weak", trust=frozenset({"weak", "no"})),
    ),
    Case(
        cause="blocks that were never written",
        plant=never_written,
        parameters=(
            {"allocate": "fallocate", "job": RANDOM_READ},
            {"allocate": "fallocate", "job": STREAM, "kind": "xfs"},
            {"allocate": "fallocate", "job": RANDOM_READ, "kind": "btrfs"},
        ),
        expected=Expected(found=_NEVER_WRITTEN, found_from="weak", trust=frozenset({"weak", "no"})),
    ),
    Case(
        cause="holes in a set of another run",
        plant=punched,
        parameters=(
            {"job": RANDOM_READ, "share": 1.0},
            {"job": RANDOM_READ, "share": 0.6, "kind": "xfs"},
            {"job": STREAM, "share": 1.0, "kind": "btrfs"},
        ),
        expected=Expected(found=_NEVER_WRITTEN, found_from="weak", trust=frozenset({"weak", "no"})),
    ),
    Case(
        cause="content that the file system compresses",
        plant=compressible,
        parameters=(
            {"ratio": 4.0, "mib_per_s": 10, "job": FLUSHED_WRITES, "operation": "commit"},
            {"ratio": 2.5, "mib_per_s": 8, "job": FLUSHED_WRITES, "operation": "commit"},
            {"ratio": 8.0, "mib_per_s": 8, "job": FLUSHED_WRITES, "operation": "commit"},
        ),
        expected=Expected(found=frozenset({"reducible-content"})),
    ),
    Case(
        cause="compressed content that no memory has",
        plant=compressed_and_cold,
        parameters=(
            {"ratio": 4.0, "read_ms": 5},
            {"ratio": 2.5, "read_ms": 4},
            {"ratio": 4.0, "read_ms": 5, "keys": 'direct = "on"'},
        ),
        expected=Expected(measures=frozenset({"storage"}), is_healthy=True),
    ),
)
