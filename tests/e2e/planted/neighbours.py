"""Causes on the device's other side: somebody else uses it, or one of several members is slow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.command import Assay
from e2e.planted.case import Case, Expected, Said, Scene
from e2e.planted.loads import data, only
from e2e.planted.storage import delayed_disk, true_disk
from testbed.devices import seen_at
from testbed.neighbours import disk_reader

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
        plant=other_reader,
        parameters=(
            {"own_kib": 4, "other_kib": 128, "least": 0.9, "most": 1.0},
            {"own_kib": 4, "other_kib": 64, "least": 0.9, "most": 1.0},
            {"own_kib": 8, "other_kib": 128, "least": 0.9, "most": 1.0},
        ),
        expected=Expected(found=frozenset({"foreign-io"}), found_from="warning", trust=frozenset({"no"})),
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
