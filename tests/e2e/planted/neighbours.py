"""Causes on the device's other side: somebody else uses it, or one of several members is slow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.command import Assay
from e2e.planted.case import SLOW_DEVICE, Case, Expected, Said, Scene
from e2e.planted.loads import RANDOM_READ, data, only
from e2e.planted.storage import delayed_disk, true_disk
from testbed.devices import MIB, seen_at
from testbed.neighbours import disk_reader
from testbed.throttle import blkio_limit

KIB = 1024


@contextmanager
def other_reader(_folder: Path, *, own_kib: int, other_kib: int, least: float, most: float) -> Iterator[Scene]:
    """A device that serves requests in turns, and two who ask: the sizes of what they ask for are their shares."""
    job = f'direct = "on"\nop = {{ op = "read", set = "data", access = "random", size = "{own_kib}KiB" }}'
    with (
        true_disk(most_per_s=400) as disk,
        disk_reader(disk.directory, block_bytes=other_kib * KIB, size_bytes=KIB * KIB),
    ):

        def took(_said: Said) -> bool:
            log = disk.truth.log()
            own = [at for at, each in enumerate(log) if (each.kind, each.length_bytes) == ("R", own_kib * KIB)]
            during = [each.length_bytes for each in log[own[0] : own[-1] + 1] if each.kind == "R"]
            return least <= 1 - len(own) * own_kib * KIB / sum(during) <= most

        yield Scene(directory=disk.directory, load=only(job, sets=data("8MiB")), took=took)


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
    job = f'direct = "on"\nop = {{ op = "read", set = "data", access = "random", size = "{own_kib}KiB" }}'
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
            load=only(job, sets=data("8MiB")),
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
        cause="somebody else reads over 90 % of the device's bytes",
        is_in_suite=True,
        plant=other_reader,
        parameters=(
            {"own_kib": 4, "other_kib": 128, "least": 0.9, "most": 1.0},
            {"own_kib": 4, "other_kib": 64, "least": 0.9, "most": 1.0},
            {"own_kib": 8, "other_kib": 128, "least": 0.9, "most": 1.0},
        ),
        expected=Expected(found=frozenset({"foreign-io"}), found_from="warning", trust=frozenset({"no"})),
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
