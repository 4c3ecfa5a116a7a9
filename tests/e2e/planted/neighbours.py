"""Causes on the device's other side: somebody else uses it or what lies below it, or one of several members is slow."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.command import Assay
from e2e.planted.case import SLOW_DEVICE, Case, Expected, Said, Scene
from e2e.planted.loads import DSYNC_APPEND, DSYNC_WRITE, RANDOM_READ, STREAM, STREAM_OUT, at_depth, data, only
from e2e.planted.storage import BLOCKS, SMALLEST, Kind, LoggingDisk, delayed_disk, true_disk
from testbed.devices import MIB, filesystem, loop_device, seen_at
from testbed.neighbours import disk_reader, disk_writer
from testbed.throttle import blkio_limit

KIB = 1024


def random_reads(kib: int) -> str:
    """A job that reads past the page cache, all over a file."""
    return f'direct = "on"\nop = {{ op = "read", set = "data", access = "random", size = "{kib}KiB" }}'


@contextmanager
def other_reader(
    _folder: Path, *, own_kib: int, other_kib: int, least: float, most: float, count: int = 1
) -> Iterator[Scene]:
    """A device that serves requests in turns, and several who ask: the sizes of what they ask for are their shares."""
    with (
        true_disk(most_per_s=400) as disk,
        disk_reader(disk.directory, block_bytes=other_kib * KIB, size_bytes=KIB * KIB, count=count),
    ):

        def took(_said: Said) -> bool:
            log = disk.truth.log()
            own = [at for at, each in enumerate(log) if (each.kind, each.length_bytes) == ("R", own_kib * KIB)]
            during = [each.length_bytes for each in log[own[0] : own[-1] + 1] if each.kind == "R"]
            return least <= 1 - len(own) * own_kib * KIB / sum(during) <= most

        yield Scene(directory=disk.directory, load=only(random_reads(own_kib), sets=data("8MiB")), took=took)


def share_of_others(disk: LoggingDisk, own_bytes: int, kinds: str) -> float:
    """Others' share of a device's requests, from the first of the load's reads to the last; they have another size."""
    log = disk.truth.log()
    own = [at for at, each in enumerate(log) if (each.kind, each.length_bytes) == ("R", own_bytes)]
    during = [each for each in log[own[0] : own[-1] + 1] if each.kind in kinds]
    return 1 - len(own) / len(during)


@contextmanager
def small_requests(_folder: Path, *, own_kib: int, other_kib: int, most_per_s: int) -> Iterator[Scene]:
    """A device that serves so many requests a second, whatever their size, and another who makes half of them."""
    with (
        true_disk(most_per_s=most_per_s) as disk,
        disk_reader(disk.directory, block_bytes=other_kib * KIB, size_bytes=KIB * KIB),
    ):
        yield Scene(
            directory=disk.directory,
            load=only(random_reads(own_kib), sets=data("8MiB")),
            took=lambda _said: 0.3 <= share_of_others(disk, own_kib * KIB, "R") <= 0.7,
        )


@contextmanager
def flushes(_folder: Path, *, own_kib: int, flush_ms: int) -> Iterator[Scene]:
    """Another who makes each of its small writes durable, on a device that reads nothing while it flushes."""
    with true_disk(flush_ms=flush_ms) as disk, disk_writer(disk.directory, block_bytes=4 * KIB, is_durable=True):
        yield Scene(
            directory=disk.directory,
            load=only(random_reads(own_kib), sets=data("8MiB")),
            took=lambda _said: share_of_others(disk, own_kib * KIB, "RWF") >= 0.3,
            names_it=lambda said: "flushes" not in " ".join(said.evidence),
        )


@contextmanager
def writes(_folder: Path, *, kind: Kind, job: str, flush_ms: float) -> Iterator[Scene]:
    """Another who makes each of its small writes durable, beside a load of which nobody knows what its writes become."""
    with (
        true_disk(kind, flush_ms=flush_ms) as disk,
        disk_writer(disk.directory, block_bytes=4 * KIB, is_durable=True) as wrote,
    ):
        yield Scene(
            directory=disk.directory,
            load=only(job, sets=data("8MiB")),
            took=lambda said: wrote() >= 0.3 * said.row["bytes"],
        )


@contextmanager
def on_a_disk_below(
    _folder: Path, *, own_kib: int, other_kib: int, most_per_s: int, others: str | None
) -> Iterator[Scene]:
    """A loop device over a file on a slow disk; others use that disk, `beside` the file or `through` another loop device."""
    with (
        true_disk("ext4", size_bytes=2 * SMALLEST["ext4"] + 64 * MIB, most_per_s=most_per_s) as disk,
        ExitStack() as undo,
    ):

        def loop() -> Path:
            device = undo.enter_context(loop_device(SMALLEST["ext4"], backing=disk.directory))
            return undo.enter_context(filesystem(device, "ext4", mkfs_options=BLOCKS["ext4"]))

        directory = loop()
        if others is not None:
            place = disk.directory if others == "beside" else loop()
            undo.enter_context(disk_reader(place, block_bytes=other_kib * KIB, size_bytes=KIB * KIB))
        yield Scene(
            directory=directory,
            load=only(random_reads(own_kib), sets=data("8MiB")),
            took=lambda _said: others is None or 0.3 <= share_of_others(disk, own_kib * KIB, "R") <= 0.7,
        )


READ_ONCE = 'op = { op = "read", set = "data", access = { kind = "sequential", wrap = false }, size = "4KiB" }'


@contextmanager
def alone(
    _folder: Path, *, job: str, is_one_pass: bool = False, is_on_file: bool = False, flush_ms: float = 0
) -> Iterator[Scene]:
    """A load whose operations and requests are not the same, on a disk that nobody else uses, or on a file there."""
    keys, seconds = ('cache = "cold"', None) if is_one_pass else ("", 3)
    with (
        true_disk("ext4", size_bytes=2 * SMALLEST["ext4"], most_per_s=300, flush_ms=flush_ms) as disk,
        ExitStack() as undo,
    ):
        directory = disk.directory
        if is_on_file:
            device = undo.enter_context(loop_device(SMALLEST["ext4"], backing=directory))
            directory = undo.enter_context(filesystem(device, "ext4", mkfs_options=BLOCKS["ext4"]))
        yield Scene(
            directory=directory,
            load=only(job, seconds=seconds, keys=keys, sets=data("80MiB" if is_one_pass else "32MiB")),
            names_it=lambda said: not {"foreign-io", "earlier-io"} & said.findings.keys(),
        )


@contextmanager
def logging(_folder: Path, *, own_kib: int, read_ms: int, write_kib: int, pause_s: float) -> Iterator[Scene]:
    """Another who writes large blocks now and then: most of the bytes, and next to nothing of the device's time."""
    with (
        delayed_disk(read_ms) as disk,
        disk_writer(disk.directory, block_bytes=write_kib * KIB, pause_s=pause_s),
    ):
        yield Scene(
            directory=disk.directory,
            load=only(random_reads(own_kib), sets=data("8MiB")),
            took=lambda said: bool(said.row["throughput_bytes_per_s"] <= 0.5 * write_kib * KIB / pause_s),
            is_true=lambda said: bool(said.row["iops"] <= 1e3 / read_ms),
        )


@contextmanager
def within_the_limit(
    _folder: Path,
    *,
    own_kib: int,
    other_kib: int,
    count: int = 1,
    iops: int | None = None,
    mib_per_s: int | None = None,
) -> Iterator[Scene]:
    """Others of the control group, who take of what it may have on a device that is idle else."""
    bps = None if mib_per_s is None else mib_per_s * MIB
    with (
        delayed_disk(0) as disk,
        blkio_limit(disk.device, read_iops=iops, read_bps=bps) as group,
        disk_reader(
            disk.directory,
            block_bytes=other_kib * KIB,
            size_bytes=16 * other_kib * KIB,
            count=count,
            prefix=group.prefix,
        ),
    ):
        most_per_s = iops or (bps or 0) / (own_kib * KIB)
        yield Scene(
            directory=disk.directory,
            load=only(random_reads(own_kib), sets=data("8MiB")),
            prefix=group.prefix,
            took=lambda said: bool(0.05 <= said.row["iops"] / most_per_s <= 0.8),
        )


@contextmanager
def outside_the_limit(_folder: Path, *, read_ms: int, per_s: int, others_per_s: int) -> Iterator[Scene]:
    """A limit that is far away, and others on the device whom it does not hold: theirs and the load's would fill it."""
    with (
        delayed_disk(read_ms) as disk,
        blkio_limit(disk.device, read_iops=others_per_s) as others,
        blkio_limit(disk.device, read_iops=per_s) as group,
        disk_reader(disk.directory, block_bytes=4 * KIB, size_bytes=256 * KIB, count=16, prefix=others.prefix),
    ):
        yield Scene(
            directory=disk.directory,
            load=only(RANDOM_READ, sets=data("8MiB")),
            prefix=group.prefix,
            took=lambda said: bool(said.row["iops"] <= 0.7 * per_s <= 0.8 * (said.row["iops"] + others_per_s)),
        )


@contextmanager
def slow_member(folder: Path, *, read_ms: tuple[int, int], stop: str = "") -> Iterator[Scene]:
    """Two workers, each with a file of its own, of which one is on a slower device."""
    job = (
        'workers = 2\ndirect = "on"\n'
        f'op = {{ op = "read", set = "data", pick = "own", access = "random", size = "4KiB" }}\n{stop}'
    )
    keys = 'layout = {{ per_directory = 1 }}\nkeep = true\nreuse = "{reuse}"'
    sets = data("4MiB", keys).replace("files = 1", "files = 2")
    with delayed_disk(read_ms[0]) as fast, delayed_disk(read_ms[1]) as slow:
        first = folder / "first.toml"
        first.write_text(only(job, seconds=0.1, sets=sets.format(reuse="never")))
        Assay(runs=folder / "first")("run", first, fast.directory, "--no-report")
        _, member = sorted(path for path in fast.directory.glob("assay-data/data/*/*") if path.is_file())
        (slow.directory / member.name).write_bytes(member.read_bytes())
        with seen_at(slow.directory, member.parent):
            load = only(job, seconds=None if stop else 3, sets=sets.format(reuse="trust"))
            yield Scene(
                directory=fast.directory,
                load=load,
                took=lambda said: bool(said.row["latency_ns"]["max"] >= read_ms[1] * 1e6),
            )


COMPANY = Expected(found=frozenset({"foreign-io"}), found_from="weak", trust=frozenset({"weak", "no"}))

CASES = (
    Case(
        cause="somebody else reads 10 to 50 % of the device's bytes",
        plant=other_reader,
        parameters=(
            {"own_kib": 64, "other_kib": 16, "least": 0.1, "most": 0.5},
            {"own_kib": 64, "other_kib": 48, "least": 0.1, "most": 0.5},
            {"own_kib": 128, "other_kib": 32, "least": 0.1, "most": 0.5},
        ),
        expected=Expected(found=frozenset({"foreign-io"}), found_from="weak", trust=frozenset({"weak", "no"})),
    ),
    Case(
        cause="others make most of the device's requests, and read over 90 % of its bytes",
        is_in_suite=True,
        plant=other_reader,
        parameters=(
            {"own_kib": 4, "other_kib": 128, "least": 0.9, "most": 1.0, "count": 4},
            {"own_kib": 4, "other_kib": 64, "least": 0.9, "most": 1.0, "count": 3},
            {"own_kib": 8, "other_kib": 128, "least": 0.9, "most": 1.0, "count": 4},
        ),
        expected=Expected(found=frozenset({"foreign-io"}), found_from="warning", trust=frozenset({"no"})),
    ),
    Case(
        cause="somebody else makes half of the device's requests, small ones",
        plant=small_requests,
        parameters=(
            {"own_kib": 64, "other_kib": 4, "most_per_s": 180},
            {"own_kib": 128, "other_kib": 4, "most_per_s": 400},
            {"own_kib": 32, "other_kib": 8, "most_per_s": 300},
        ),
        expected=COMPANY,
    ),
    Case(
        cause="somebody else's flushes",
        plant=flushes,
        parameters=(
            {"own_kib": 64, "flush_ms": 5},
            {"own_kib": 4, "flush_ms": 5},
            {"own_kib": 16, "flush_ms": 20},
        ),
        expected=COMPANY,
    ),
    Case(
        cause="somebody else writes, and what a file system makes of the load's writes is not known",
        is_in_suite=True,
        plant=writes,
        parameters=(
            {"kind": "btrfs", "job": DSYNC_WRITE, "flush_ms": 5},
            {"kind": "ext4", "job": DSYNC_APPEND, "flush_ms": 5},
            {"kind": "xfs", "job": DSYNC_APPEND, "flush_ms": 10},
        ),
        expected=COMPANY,
    ),
    Case(
        cause="somebody else on the disk below a loop device",
        is_in_suite=True,
        plant=on_a_disk_below,
        parameters=(
            {"own_kib": 4, "other_kib": 8, "most_per_s": 300, "others": "beside"},
            {"own_kib": 64, "other_kib": 4, "most_per_s": 200, "others": "beside"},
            {"own_kib": 4, "other_kib": 8, "most_per_s": 300, "others": "through"},
            {"own_kib": 64, "other_kib": 4, "most_per_s": 200, "others": "through"},
        ),
        expected=COMPANY,
    ),
    Case(
        cause="healthy: alone on a loop device over a file",
        plant=on_a_disk_below,
        parameters=(
            {"own_kib": 4, "other_kib": 0, "most_per_s": 300, "others": None},
            {"own_kib": 64, "other_kib": 0, "most_per_s": 200, "others": None},
        ),
        expected=Expected(is_healthy=True),
    ),
    Case(
        cause="alone, and others are not blamed for what the kernel merges, splits, reads ahead or writes back",
        plant=alone,
        parameters=(
            {"job": READ_ONCE, "is_one_pass": True},
            {"job": READ_ONCE, "is_one_pass": True, "is_on_file": True},
            {"job": at_depth(16), "is_on_file": True},
            {"job": 'op = { op = "write", set = "data", access = "random", size = "16KiB" }', "is_on_file": True},
            {"job": at_depth(8, STREAM_OUT.replace("128KiB", "4KiB"))},
            {"job": STREAM.replace("128KiB", "1MiB")},
            {"job": f"workers = 8\n{STREAM.replace('128KiB', '1MiB')}", "is_on_file": True},
            {"job": DSYNC_WRITE, "is_on_file": True, "flush_ms": 2},
            {"job": STREAM_OUT, "is_on_file": True},
        ),
        expected=Expected(),
    ),
    Case(
        cause="healthy: somebody else writes a large block now and then",
        plant=logging,
        parameters=(
            {"own_kib": 4, "read_ms": 4, "write_kib": 512, "pause_s": 0.25},
            {"own_kib": 4, "read_ms": 2, "write_kib": 1024, "pause_s": 0.25},
            {"own_kib": 8, "read_ms": 10, "write_kib": 512, "pause_s": 0.2},
        ),
        expected=Expected(limiter=SLOW_DEVICE, is_healthy=True),
    ),
    Case(
        cause="somebody else in the same limit (control group)",
        plant=within_the_limit,
        parameters=(
            {"own_kib": 4, "other_kib": 4, "iops": 1000},
            {"own_kib": 64, "other_kib": 4, "iops": 600},
            {"own_kib": 128, "other_kib": 64, "mib_per_s": 20},
            {"own_kib": 4, "other_kib": 4, "iops": 200, "count": 3},
        ),
        expected=Expected(
            limiter=frozenset({"throttle_io"}),
            found=frozenset({"foreign-io"}),
            found_from="weak",
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="somebody else on the device, outside of a limit that is far away",
        plant=outside_the_limit,
        parameters=(
            {"read_ms": 4, "per_s": 700, "others_per_s": 600},
            {"read_ms": 2, "per_s": 1500, "others_per_s": 1300},
            {"read_ms": 10, "per_s": 400, "others_per_s": 380},
        ),
        expected=Expected(
            limiter=SLOW_DEVICE,
            found=frozenset({"foreign-io"}),
            found_from="warning",
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="one of two members that is slow",
        plant=slow_member,
        parameters=(
            {"read_ms": (2, 10)},
            {"read_ms": (2, 10), "stop": 'stop = { ops = 500, of = "first" }'},
            {"read_ms": (4, 30)},
        ),
        expected=Expected(found=frozenset({"uneven-workers"})),
    ),
)
