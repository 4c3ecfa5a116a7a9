"""The tests of IOzone and the columns of its table, in its order.

A test has a number (`-i`) and one or two columns: most are done twice. What each does to its file is in `work.py`.
"""

import dataclasses
import enum


class Pattern(enum.Enum):
    """Where in the file a test goes."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"
    BACKWARD = "backward"
    SAME = "same"
    STRIDE = "stride"


STREAM_TESTS = frozenset({6, 7})
"""Through streams of the C library."""
MIXED_TEST = 8
EXTENSION_TESTS = frozenset({9, 10})
"""What -E adds by itself."""
VECTORED_TESTS = frozenset({11, 12})
LAST_TEST = 12
CREATING_TESTS = (0, 6, 9, 11)
"""Tests that make their file where it is not there; all others need it."""


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of the table: a test, or the second time that it is done."""

    key: str
    """Name of its operation in the Plan and in the results."""
    test: int
    report: str
    """Heading of its part of the text report."""
    sheet: str
    """Heading of its part of the worksheet."""
    pattern: Pattern = Pattern.SEQUENTIAL
    is_again: bool = False
    """The second pass, which `-+n` leaves out."""
    width: int = 9
    """Characters of its cell."""
    blank: int = 0
    """Characters of its cell where the test is left out; 0: as many."""
    latency_file: str = ""
    """File of -Q, where the test has one."""

    @property
    def is_write(self) -> bool:
        """Whether it writes; else it reads."""
        return "write" in self.key

    @property
    def is_stdio(self) -> bool:
        """Whether it goes through a stream of the C library."""
        return self.test in STREAM_TESTS

    @property
    def is_vectored(self) -> bool:
        """Whether a record is moved in pieces by one call."""
        return self.test in VECTORED_TESTS


COLUMNS = (
    Column("write", 0, "Writer", "Writer", latency_file="wol.dat"),
    Column("rewrite", 0, "Re-writer", "Re-writer", is_again=True, latency_file="rwol.dat"),
    Column("read", 1, "Reader", "Reader", latency_file="rol.dat"),
    Column("reread", 1, "Re-Reader", "Re-reader", is_again=True, latency_file="rrol.dat"),
    Column("random-read", 2, "Random read", "Random Read", Pattern.RANDOM),
    Column("random-write", 2, "Random write", "Random Write", Pattern.RANDOM),
    Column("backward-read", 3, "Backward read", "Backward Read", Pattern.BACKWARD),
    Column("record-rewrite", 4, "Record rewrite", "Record Rewrite", Pattern.SAME, width=10),
    Column("stride-read", 5, "Stride read", "Stride Read", Pattern.STRIDE, width=10),
    Column("fwrite", 6, "Fwrite", "Fwrite"),
    Column("frewrite", 6, "Re-Fwrite", "Re-fwrite", is_again=True),
    Column("fread", 7, "Fread", "Fread"),
    Column("freread", 7, "Re-Fread", "Re-fread", is_again=True, blank=8),
    Column("pwrite", 9, "Pwrite", "Pwrite"),
    Column("repwrite", 9, "Re-Pwrite", "Re-pwrite", is_again=True),
    Column("pread", 10, "Pread", "Pread", width=8, blank=9),
    Column("repread", 10, "Re-Pread", "Re-pread", is_again=True),
    Column("pwritev", 11, "Pwritev", "Pwritev"),
    Column("repwritev", 11, "Re-Pwritev", "Re-pwritev", is_again=True),
    Column("preadv", 12, "Preadv", "Preadv"),
    Column("repreadv", 12, "Re-Preadv", "Re-preadv", is_again=True),
)


@dataclasses.dataclass(frozen=True)
class ThroughputTest:
    """One test of the throughput mode."""

    key: str
    test: int
    title: str
    """Name in the report and the worksheet, right-aligned there."""
    children: str
    """What the lines of the text call the children."""
    is_narrow: bool = True
    """Whether the text prints the number of children without padding."""
    tabs: tuple[str, str] = ("\t", "\t")
    """Before the equals sign of the first two lines."""


LOADS = (
    ThroughputTest("write", 0, "Initial write", "initial writers", is_narrow=False),
    ThroughputTest("rewrite", 0, "Rewrite", "rewriters", is_narrow=False),
    ThroughputTest("read", 1, "Read", "readers", is_narrow=False, tabs=("\t\t", "\t\t")),
    ThroughputTest("reread", 1, "Re-read", "re-readers"),
    ThroughputTest("backward-read", 3, "Reverse Read", "reverse readers"),
    ThroughputTest("stride-read", 5, "Stride read", "stride readers"),
    ThroughputTest("random-read", 2, "Random read", "random readers"),
    ThroughputTest("mixed", 8, "Mixed workload", "mixed workload"),
    ThroughputTest("random-write", 2, "Random write", "random writers"),
    ThroughputTest("pwrite", 9, "Pwrite", "pwrite writers"),
    ThroughputTest("pread", 10, "Pread", "pread readers"),
    ThroughputTest("fwrite", 6, "Fwrite", "fwriters", is_narrow=False, tabs=("\t", "\t\t")),
    ThroughputTest("fread", 7, "Fread", "freaders", is_narrow=False, tabs=("\t", "\t\t")),
)
"""In the order in which they are run."""


def column(key: str) -> Column:
    """Look a column up by its key."""
    return next(candidate for candidate in COLUMNS if candidate.key == key)
