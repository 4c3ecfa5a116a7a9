"""Causes in the past: what others did to the file system before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.command import Assay
from e2e.planted.case import SLOW_DEVICE, Case, Expected, Said, Scene
from e2e.planted.loads import RANDOM_READ, Phase, data, load, only
from e2e.planted.storage import Disk, true_disk
from testbed.devices import MIB, filesystem, loop_device, small_requests_reads_first, tmpfs
from testbed.dirty import dirty_limit
from testbed.history import come_and_go, free_inodes, giving_back

KIB = 1024
CREATE = """
[[phase]]
name = "planted"
seconds = "{seconds}s"
[[phase.job]]
workers = {workers}
op = {{ op = "create", set = "files" }}
"""
LIST = """
[[phase]]
name = "planted"
seconds = "{seconds}s"
[[phase.job]]
op = {{ op = "{operation}", set = "files" }}
"""
FILES = '[[file_set]]\nname = "files"\nfiles = {files}\nsize = "0B"\nexisting_share = {share}\n{keys}\n'


@contextmanager
def _metadata_disk(size_bytes: int, options: tuple[str, ...]) -> Iterator[Disk]:
    with (
        tmpfs(size_bytes + 16 * MIB) as memory,
        loop_device(size_bytes, backing=memory) as device,
        filesystem(device, mkfs_options=options) as directory,
    ):
        yield Disk(device, directory)


@contextmanager
def freed_inodes(_folder: Path, *, count: int, seconds: float = 3, workers: int = 1) -> Iterator[Scene]:
    """Inodes that were freed a moment ago, which ext4 without a journal passes by, one by one."""
    # One group of blocks, whose inodes every folder shares.
    with _metadata_disk(128 * MIB, ("-b", "4096", "-O", "^has_journal", "-N", "32768")) as disk:
        (disk.directory / "first").touch()
        free_inodes(disk.directory, count)
        (disk.directory / "next").touch()
        passed_by = (disk.directory / "next").stat().st_ino - (disk.directory / "first").stat().st_ino
        sets = FILES.format(files=7000, share=0.0, keys="")
        yield Scene(
            directory=disk.directory,
            load=load(CREATE.format(seconds=seconds, workers=workers), sets=sets),
            took=lambda _said: passed_by > 0.9 * count,
        )


@contextmanager
def grown_directory(folder: Path, *, names: int, operation: str = "readdir", files: int = 100) -> Iterator[Scene]:
    """The folder of a set that has held many names, and holds few."""
    # An inode for each name: mke2fs alone makes 98,304.
    with _metadata_disk(384 * MIB, ("-N", "131072")) as disk:
        phase, keys = LIST.format(seconds=0.2, operation=operation), 'keep = true\nreuse = "{reuse}"'
        first = folder / "first.toml"
        first.write_text(load(phase, sets=FILES.format(files=files, share=1.0, keys=keys.format(reuse="never"))))
        Assay(runs=folder / "first")("run", first, disk.directory, "--no-report")
        grown = disk.directory / "assay-data" / "files"
        come_and_go(grown, names)
        sets = FILES.format(files=files, share=1.0, keys=keys.format(reuse="trust"))
        yield Scene(
            directory=disk.directory,
            load=load(LIST.format(seconds=3, operation=operation), sets=sets),
            took=lambda _said: grown.stat().st_size > 15 * names,
        )


@contextmanager
def written_before(_folder: Path, *, mib: int, per_s: int, read_kib: int = 4) -> Iterator[Scene]:
    """A phase before has left so much dirty in memory, and it goes to a device of a known rate while another reads."""
    fill = 'op = { op = "write", set = "other", access = { kind = "sequential", wrap = false }, size = "1MiB" }'
    sets = data("8MiB") + data(f"{mib}MiB", 'allocate = "fallocate"').replace('"data"', '"other"')
    read = RANDOM_READ.replace("4KiB", f"{read_kib}KiB")
    # What is read is laid out, and flushed, for the first phase.
    phases = (
        Phase(name="one", job=read, seconds=0.3),
        Phase(name="fill", job=fill, seconds=None, keys="after = []"),
        Phase(name="planted", job=read),
    )
    with (
        true_disk(size_bytes=256 * MIB, most_per_s=per_s) as disk,
        small_requests_reads_first(disk.truth.device, 32 * KIB),
        # Nobody waits, and the kernel begins at once.
        dirty_limit(4 * mib * MIB, background_bytes=MIB),
    ):

        def took(said: Said) -> bool:
            log = disk.truth.log()
            last_ns = max(each.end_ns for each in log if (each.kind, each.length_bytes) == ("R", read_kib * KIB))
            first_ns = last_ns - round(1e9 * said.row["seconds"])
            during = [each for each in log if each.kind in "RW" and first_ns < each.end_ns <= last_ns]
            written = sum(each.length_bytes for each in during if each.kind == "W")
            return written > 0.2 * sum(each.length_bytes for each in during)

        yield Scene(directory=disk.directory, load=load(*phases, sets=sets), took=took)


@contextmanager
def given_back(_folder: Path, *, trim_ms: int, every_ms: int, per_s: int = 500) -> Iterator[Scene]:
    """What was removed before is given back to the device, piece by piece, which serves nobody else meanwhile."""
    with true_disk("xfs", trim_ms=trim_ms, most_per_s=per_s) as disk, giving_back(disk.directory, every_ms / 1e3):

        def took(said: Said) -> bool:
            own = [request for request in disk.truth.log() if request.kind == "R" and request.length_bytes == 4096]
            last_ns = own[-1].end_ns
            first_ns = last_ns - round(said.row["seconds"] * 1e9)
            trims = [one for one in disk.truth.log() if one.kind == "T" and first_ns < one.end_ns <= last_ns]
            return sum(one.seconds for one in trims) > 0.15 * float(said.row["seconds"])

        yield Scene(directory=disk.directory, load=only(RANDOM_READ, sets=data("8MiB")), took=took)


CASES = (
    Case(
        cause="inodes that were freed a moment ago",
        plant=freed_inodes,
        parameters=({"count": 20_000}, {"count": 10_000}, {"count": 24_000, "workers": 2}),
        expected=Expected(
            found=frozenset({"earlier-files"}),
            found_from="weak",
            found_text="inodes that were freed",
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="a directory that has been large",
        plant=grown_directory,
        parameters=({"names": 30_000}, {"names": 80_000}, {"names": 50_000, "operation": "readdir_stat"}),
        expected=Expected(found=frozenset({"earlier-files"}), found_text="The directory "),
    ),
    Case(
        cause="what was written before goes to storage meanwhile",
        plant=written_before,
        parameters=(
            {"mib": 64, "per_s": 400},
            {"mib": 96, "per_s": 600, "read_kib": 8},
            {"mib": 48, "per_s": 300},
        ),
        expected=Expected(
            found=frozenset({"earlier-io"}),
            found_from="weak",
            found_text="were dirty in memory",
            trust=frozenset({"weak", "no"}),
        ),
    ),
    Case(
        cause="what was removed before is given back meanwhile",
        plant=given_back,
        parameters=(
            {"trim_ms": 20, "every_ms": 40},
            {"trim_ms": 60, "every_ms": 100},
            {"trim_ms": 40, "every_ms": 80, "per_s": 200},
        ),
        expected=Expected(
            found=frozenset({"earlier-io"}),
            found_from="weak",
            found_text="on discards",
            no_lie=SLOW_DEVICE,
            trust=frozenset({"weak", "no"}),
        ),
    ),
)
