"""Seven loads, and how each tool is asked for the same: the same files, the same O_DIRECT, latency recorded by all.

Data that is written is new and random for Assay, fio and elbencho, but where all keep their buffers; the bare loop writes
one block again and again.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import loads, tools
from bench.running import Extent, Tool, speak

DATA_BYTES = 256 << 20
TREE_FILES = 20_000


@dataclass(frozen=True)
class Scenario:
    """One load and the tools that do it.

    `timed` and `counted` are the operations of the short and the long run, for CPU and rates and for instructions.
    """

    load: str
    directory: Path
    title: str
    asked: str
    timed: tuple[int, int]
    counted: tuple[int, int]
    tools: tuple[Tool, ...]

    def absent(self) -> dict[str, str]:
        """Tools that do not take part, and why."""
        here = {tool.name for tool in self.tools}
        why = {
            tools.FIO: "not installed here (apt-get install fio)",
            tools.ELBENCHO: tools.why_no_elbencho(self.directory),
        }
        return {name: reason for name, reason in why.items() if name not in here}


def read(directory: Path) -> Scenario:
    """4 KiB random reads from the page cache."""
    load = loads.random_read(DATA_BYTES)
    lay_out(load, directory)
    file = directory / "assay-data/data/f00000000"
    return Scenario(
        "read",
        directory,
        "4 KiB cached random read, psync, tmpfs",
        "one file of 256 MiB, independent random offsets",
        timed=(50_000, 1_000_000),
        counted=(5_000, 55_000),
        tools=_present(
            tools.assay(lambda _: load, directory),
            tools.bare(["read", str(file), str(DATA_BYTES)]),
            tools.fio("read", lambda extent: [*_fio_reads(file, extent), "--ioengine=psync"]),
            tools.elbencho(directory, "READ", lambda extent: _elbencho_reads(file, extent)),
        ),
    )


def uring(directory: Path) -> Scenario:
    """4 KiB O_DIRECT random reads, 32 in flight, from ext4 on a direct-I/O loop device."""
    load = loads.direct_random_read(DATA_BYTES)
    lay_out(load, directory)
    file = directory / "assay-data/data/f00000000"
    return Scenario(
        "uring",
        directory,
        "4 KiB O_DIRECT random read, io_uring depth 32, ext4 on a direct-I/O loop device",
        "one file of 256 MiB, independent random offsets, registered files and buffers",
        timed=(10_000, 200_000),
        counted=(2_000, 52_000),
        tools=_present(
            tools.assay(
                lambda _: load,
                directory,
                note="about 180 instructions for each request and 320 for each wait, which all that came back with it "
                "share: 207 where 11 came back together, 294 where 3 did",
            ),
            tools.bare(["uring", str(file), str(DATA_BYTES)]),
            tools.fio(
                "read",
                lambda extent: [*_fio_reads(file, extent), *_FIO_IN_FLIGHT],
            ),
            tools.elbencho(
                directory,
                "READ",
                lambda extent: ["--direct", "--iodepth", str(loads.QUEUE_DEPTH), *_elbencho_reads(file, extent)],
                note=_AIO,
            ),
        ),
    )


def uring_new(directory: Path) -> Scenario:
    """4 KiB O_DIRECT random writes of new content, 32 in flight, to ext4 on a direct-I/O loop device."""
    return _uring_writes(directory, "new content each time", keeps_buffer=False)


def uring_kept(directory: Path) -> Scenario:
    """The same writes from buffers that are kept."""
    return _uring_writes(directory, "buffers kept", keeps_buffer=True)


def _uring_writes(directory: Path, content: str, *, keeps_buffer: bool) -> Scenario:
    load = loads.direct_random_write(DATA_BYTES, keeps_buffer=keeps_buffer)
    lay_out(load, directory)
    file = directory / "assay-data/data/f00000000"
    filled = [] if keeps_buffer else ["--refill_buffers"]
    return Scenario(
        load.name,
        directory,
        f"4 KiB O_DIRECT random write, {content}, io_uring depth 32, ext4 on a direct-I/O loop device",
        "one file of 256 MiB that was written before, independent random offsets, registered files and buffers",
        timed=(10_000, 200_000),
        counted=(2_000, 52_000),
        tools=_present(
            tools.assay(lambda _: load, directory),
            tools.bare(["uring_write", str(file), str(DATA_BYTES)]),
            tools.fio(
                "write",
                lambda extent: [*_fio_random("randwrite", file, extent), *_FIO_IN_FLIGHT, "--fallocate=none", *filled],
            ),
            tools.elbencho(
                directory,
                "WRITE",
                lambda extent: [
                    "--direct", "--iodepth", str(loads.QUEUE_DEPTH), "--blockvarpct", "0" if keeps_buffer else "100",
                    *_elbencho_random("-w", file, extent),
                ],
                note=_AIO,
            ),
        ),
    )  # fmt: skip


def stat(directory: Path) -> Scenario:
    """Attributes of the files of a tree."""
    load = loads.stat(TREE_FILES)
    lay_out(load, directory)
    tree, own = directory / "assay-data/tree", directory / "elbencho"
    own.mkdir()
    if (
        maker := tools.elbencho(directory, "WRITE", lambda extent: ["-d", "-w", *_elbencho_tree(own, extent.most)])
    ) is not None:
        speak(maker.command(Extent(TREE_FILES, TREE_FILES)), None)
    return Scenario(
        "stat",
        directory,
        f"stat of {TREE_FILES:,} files in a tree, tmpfs",
        f"{loads.FILES_PER_DIRECTORY:,} files a directory, files drawn at random",
        timed=(TREE_FILES, 10 * TREE_FILES),
        counted=(TREE_FILES, 4 * TREE_FILES),
        tools=_present(
            tools.assay(lambda _: load, directory),
            tools.bare(["stat", str(tree), str(TREE_FILES)]),
            tools.fio(
                "read",
                lambda extent: [
                    "--ioengine=filestat", f"--opendir={tree}", f"--loops={extent.ops // TREE_FILES}", *_FIO_FILES,
                ],
                note="the same files one after the other, round and round: its random choice searches a list for every file",
            ),
            tools.elbencho(directory, "STAT",
                lambda extent: ["--stat", "-i", str(extent.ops // TREE_FILES), *_elbencho_tree(own, TREE_FILES)],
                note="a tree of the same shape with its own names, one after the other, round and round",
            ),
        ),
    )  # fmt: skip


def create(directory: Path) -> Scenario:
    """Create, write and close small files, on a file system that has none of them yet."""
    own = directory / "fio"
    return Scenario(
        "create",
        directory,
        "create + 4 KiB write + close of 100,000 files, tmpfs",
        f"{loads.FILES_PER_DIRECTORY:,} files a directory",
        timed=(10_000, 100_000),
        counted=(2_000, 52_000),
        tools=_present(
            tools.assay(loads.create, directory, before=emptied(directory)),
            tools.bare(
                ["create", str(directory / "bare")],
                before=emptied(directory),
                note="one block of constant bytes; the directories are made in between",
            ),
            tools.fio(
                "write",
                lambda extent: [
                    "--ioengine=psync", "--rw=write", "--filesize=4k", f"--nrfiles={extent.most}",
                    f"--number_ios={extent.ops}", f"--directory={own}", "--create_on_open=1", "--fallocate=none",
                    "--refill_buffers", *_FIO_FILES,
                ],
                before=emptied(directory, "fio"),
                note="all files in one directory; only the write is in its latency; "
                "what it prepares for each file before its clock starts is not counted",
            ),
            tools.elbencho(directory, "WRITE",
                lambda extent: ["-d", "-w", *_elbencho_tree(directory / "elbencho", extent.ops)],
                before=emptied(directory, "elbencho"),
                note="the directories are made before its clock starts",
            ),
        ),
    )  # fmt: skip


def delete(directory: Path) -> Scenario:
    """Remove small files."""
    bare_tree, own = directory / "bare", directory / "elbencho"
    empty = emptied(directory, "elbencho")

    def laid_out_by_engine(extent: Extent) -> None:
        empty(extent)
        lay_out(loads.delete(extent.most), directory)

    def laid_out_by_bare_loop(extent: Extent) -> None:
        empty(extent)
        speak(tools.bare(["create", str(bare_tree)]).command(Extent(extent.most, extent.most)), None)

    def laid_out_by_elbencho(extent: Extent) -> None:
        empty(extent)
        maker = tools.elbencho(directory, "WRITE", lambda extent: ["-d", "-w", *_elbencho_tree(own, extent.most)])
        assert maker is not None
        speak(maker.command(extent), None)

    return Scenario(
        "delete",
        directory,
        "delete of 50,000 files of 4 KiB, tmpfs",
        f"{loads.FILES_PER_DIRECTORY:,} files a directory, one after the other",
        timed=(5_000, 50_000),
        counted=(2_000, 52_000),
        tools=_present(
            tools.assay(loads.delete, directory, before=laid_out_by_engine),
            tools.bare(["delete", str(bare_tree)], before=laid_out_by_bare_loop),
            tools.fio(
                "read",
                lambda extent: [
                    "--ioengine=filedelete", f"--opendir={bare_tree}", f"--number_ios={extent.ops}", *_FIO_FILES,
                ],
                before=laid_out_by_bare_loop,
                note="what it prepares for each file before its clock starts is not counted",
            ),
            tools.elbencho(
                directory,
                "RMFILES",
                lambda extent: ["-F", *_elbencho_tree(own, extent.ops)],
                before=laid_out_by_elbencho,
            ),
        ),
    )  # fmt: skip


SCENARIOS: dict[str, tuple[str, Callable[[Path], Scenario]]] = {
    "read": ("tmpfs", read),
    "uring": ("loop", uring),
    "uring_new": ("loop", uring_new),
    "uring_kept": ("loop", uring_kept),
    "stat": ("tmpfs", stat),
    "create": ("tmpfs", create),
    "delete": ("tmpfs", delete),
}
"""Where each runs, and what makes it there."""


def lay_out(load: loads.Load, directory: Path) -> None:
    """Let the engine lay out the files of a load, in a run of its own."""
    speak(tools.assay(lambda _: load, directory).command(Extent(0, 0)), load.preparation(directory).to_json())


def emptied(directory: Path, *folders: str) -> Callable[[Extent], None]:
    """Remove what earlier runs left, outside any figure, and make the folders that a tool wants to find."""

    def empty(_: Extent) -> None:
        for entry in directory.iterdir():
            shutil.rmtree(entry)
        for folder in folders:
            (directory / folder).mkdir()

    return empty


# Without advice and invalidation fio makes no system calls beside those of the load.
_FIO_FILES = ["--bs=4k", "--openfiles=1", "--file_service_type=sequential", "--invalidate=0", "--fadvise_hint=0"]


_FIO_IN_FLIGHT = [
    "--ioengine=io_uring", "--direct=1", f"--iodepth={loads.QUEUE_DEPTH}",
    "--fixedbufs", "--registerfiles", "--iodepth_batch_submit=16", "--iodepth_batch_complete_max=32",
]  # fmt: skip
_AIO = "Linux AIO at depth 32: it has no io_uring"


def _fio_reads(file: Path, extent: Extent) -> list[str]:
    return _fio_random("randread", file, extent)


def _fio_random(kind: str, file: Path, extent: Extent) -> list[str]:
    return [
        f"--filename={file}", f"--rw={kind}", "--bs=4k", f"--size={DATA_BYTES}", "--norandommap",
        f"--io_size={extent.ops * loads.BLOCK_BYTES}",
    ]  # fmt: skip


def _elbencho_reads(file: Path, extent: Extent) -> list[str]:
    return _elbencho_random("-r", file, extent)


def _elbencho_random(kind: str, file: Path, extent: Extent) -> list[str]:
    amount = str(extent.ops * loads.BLOCK_BYTES)
    return [kind, "-b", "4k", "-s", str(DATA_BYTES), "--rand", "--randamount", amount, str(file)]


def _elbencho_tree(directory: Path, files: int) -> list[str]:
    directories = str(files // loads.FILES_PER_DIRECTORY)
    return ["-n", directories, "-N", str(loads.FILES_PER_DIRECTORY), "-s", "4k", "-b", "4k", str(directory)]


def _present(*found: Tool | None) -> tuple[Tool, ...]:
    return tuple(tool for tool in found if tool is not None)
