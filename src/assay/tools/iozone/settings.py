"""What an IOzone command line asks for, read and checked."""

import dataclasses
from pathlib import PurePosixPath

from assay.tools.iozone.clients import Clients
from assay.tools.iozone.columns import COLUMNS, EXTENSION_TESTS, LOADS, VECTORED_TESTS, Column, ThroughputTest
from assay.tools.iozone.matrix import Matrix

DEFAULT_FILE = PurePosixPath("iozone.tmp")
DEFAULT_CHILD_FILE = "iozone.DUMMY"
DEFAULT_CHILDREN = 8
DEFAULT_STRIDE = 17


@dataclasses.dataclass(frozen=True)
class Settings:
    """A command line, taken apart; sizes in KiB as IOzone counts."""

    arguments: tuple[str, ...] = ()
    matrix: Matrix = dataclasses.field(default_factory=Matrix)
    asked_tests: frozenset[int] = frozenset()
    """-i; empty: all that there are."""
    extensions: bool = False
    """-E."""
    is_obsolete_auto: bool = False
    """-A: its table has the columns of tests 0 and 1 alone."""
    file: PurePosixPath = DEFAULT_FILE
    files: tuple[PurePosixPath, ...] = ()
    """-F: one for each child."""
    counts: tuple[int, ...] = ()
    """-t, or every number from -l to -u; empty: one stream."""
    least: int = 0
    most: int = 0
    """-l and -u, 0 without."""
    clients: Clients | None = None
    """-+m: who has the children."""
    threads: bool = False
    stonewall: bool = True
    show_children: bool = False
    close_in_time: bool = False
    flush_in_time: bool = False
    sync: bool = False
    dsync: bool = False
    direct: bool = False
    mmap: bool = False
    mmap_flushes: bool = False
    """-G: msync after each record."""
    depth: int = 0
    """-H or -k: records in flight; 0 and 1: one after the other."""
    stride: int = DEFAULT_STRIDE
    compute_ms: int = 0
    compute_counts: bool = False
    """-+J: compute time is part of the elapsed time."""
    jitter: bool = False
    lock: bool = False
    """-W: the file is locked for the length of a test."""
    purge: bool = False
    """-p: the memory of a record is out of the CPU's caches when its call is made."""
    verify: bool = False
    keep: bool = False
    retest: bool = True
    pause_s: int = 0
    first_cpu: int | None = None
    mix_readers_percent: int | None = None
    mix_sequential: bool = False
    constant_total: bool = False
    """-+k: the children share one file size."""
    ops_per_s: bool = False
    microseconds: bool = False
    latency_files: bool = False
    report: bool = False
    sheet: str = ""
    """-b: file of the worksheet."""
    notices: tuple[str, ...] = ()
    """The lines that IOzone prints for the options, in their order."""
    cache_kib: int = 1024
    cache_line_bytes: int = 32
    left_out: tuple[tuple[str, str], ...] = ()
    """Options that this run does without, and why."""

    @property
    def is_throughput(self) -> bool:
        """Whether several children run at once."""
        return bool(self.counts)

    def children_of_each(self, count: int) -> int:
        """Count the children of a client, of N: all, where there are no clients."""
        return count if self.clients is None else self.clients.children_of_each(count)

    @property
    def tests(self) -> frozenset[int]:
        """The tests that are done."""
        if self.asked_tests:
            return self.asked_tests
        named = frozenset(load.test for load in LOADS) if self.is_throughput else frozenset(range(9))
        return named | EXTENSION_TESTS if self.extensions else named

    @property
    def has_streams(self) -> bool:
        """Whether fwrite and fread are possible, and have their columns."""
        return not self.mmap and not self.depth

    def heads(self) -> tuple[Column, ...]:
        """Give the columns that the table has, done or not."""
        vectored = self.tests & VECTORED_TESTS
        return tuple(
            column
            for column in COLUMNS
            if (self.has_streams or not column.is_stdio)
            and self._has_extension(column)
            and (column.test not in VECTORED_TESTS or vectored)
            and (column.test in self.tests or not self.is_obsolete_auto)
        )

    def reported(self) -> tuple[Column, ...]:
        """Give the columns that the reports have: of tests asked for, done or not."""
        return tuple(column for column in COLUMNS if column.test in self.tests and self._has_extension(column))

    def _has_extension(self, column: Column) -> bool:
        return self.extensions or column.test not in EXTENSION_TESTS | VECTORED_TESTS

    def columns(self) -> tuple[Column, ...]:
        """The columns of the tests that are done."""
        return tuple(column for column in self.heads() if column.test in self.tests)

    def measured(self) -> tuple[Column, ...]:
        """The columns that have a phase of their own."""
        return tuple(column for column in self.columns() if self.retest or not column.is_again)

    def loads(self) -> tuple[ThroughputTest, ...]:
        """The tests of the throughput mode that are done."""
        possible = (load for load in LOADS if load.test in self.tests)
        chosen = (load for load in possible if self.has_streams or load.key not in {"fwrite", "fread"})
        return tuple(load for load in chosen if self.retest or load.key not in {"rewrite", "reread"})

    def output_files(self) -> tuple[str, ...]:
        """List the names of the output files: the worksheet of -b, the latency files of -Q."""
        followed = self.measured() if self.latency_files else ()
        names = (self.sheet, *(column.latency_file for column in followed))
        return tuple(name for name in names if name)

    def child_file(self, child: int) -> PurePosixPath:
        """Name the file of a child."""
        return self.files[child] if self.files else PurePosixPath(f"{DEFAULT_CHILD_FILE}.{child}")
