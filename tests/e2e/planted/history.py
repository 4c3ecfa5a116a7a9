"""Causes in the past: what others did to the file system before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.command import Assay
from e2e.planted.case import Case, Expected, Scene
from e2e.planted.loads import load
from e2e.planted.storage import Disk
from testbed.devices import MIB, filesystem, loop_device, tmpfs
from testbed.history import come_and_go, free_inodes

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


CASES = (
    Case(
        cause="inodes that were freed a moment ago",
        plant=freed_inodes,
        parameters=({"count": 20_000}, {"count": 10_000}, {"count": 24_000, "workers": 2}),
        expected=Expected(found=frozenset({"freed-inodes"}), found_from="weak", trust=frozenset({"weak", "no"})),
    ),
    Case(
        cause="a directory that has been large",
        plant=grown_directory,
        parameters=({"names": 30_000}, {"names": 80_000}, {"names": 50_000, "operation": "readdir_stat"}),
        expected=Expected(found=frozenset({"grown-directory"})),
    ),
)
