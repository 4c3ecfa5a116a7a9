"""The tests of IOzone and the columns of its table, in its order.

A test has a number (`-i`) and one or two columns: most are done twice. What each does to its file stands in `cell.py`.
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


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of the table: a test, or the second time that it is done."""

    key: str
    """Name of its operation in the Plan and in the results."""
    test: int
    is_write: bool
    pattern: Pattern = Pattern.SEQUENTIAL
    is_again: bool = False
    """The second pass, which `-+n` leaves out."""
    is_stdio: bool = False
    is_vectored: bool = False
    width: int = 9
    """Characters of its cell."""
    blank: int = 0
    """Characters of its cell where the test is left out; 0: as many."""
    report: str = ""
    """Heading of its part of the text report."""
    sheet: str = ""
    """Heading of its part of the worksheet."""
    latency_file: str = ""
    """File of -Q, where the test has one."""


COLUMNS = (
    Column(key="write", test=0, is_write=True, report="Writer", sheet="Writer", latency_file="wol.dat"),
    Column(
        key="rewrite",
        test=0,
        is_write=True,
        is_again=True,
        report="Re-writer",
        sheet="Re-writer",
        latency_file="rwol.dat",
    ),
    Column(key="read", test=1, is_write=False, report="Reader", sheet="Reader", latency_file="rol.dat"),
    Column(
        key="reread",
        test=1,
        is_write=False,
        is_again=True,
        report="Re-Reader",
        sheet="Re-reader",
        latency_file="rrol.dat",
    ),
    Column(
        key="random-read", test=2, is_write=False, pattern=Pattern.RANDOM, report="Random read", sheet="Random Read"
    ),
    Column(
        key="random-write", test=2, is_write=True, pattern=Pattern.RANDOM, report="Random write", sheet="Random Write"
    ),
    Column(
        key="backward-read",
        test=3,
        is_write=False,
        pattern=Pattern.BACKWARD,
        report="Backward read",
        sheet="Backward Read",
    ),
    Column(
        key="record-rewrite",
        test=4,
        is_write=True,
        pattern=Pattern.SAME,
        width=10,
        report="Record rewrite",
        sheet="Record Rewrite",
    ),
    Column(
        key="stride-read",
        test=5,
        is_write=False,
        pattern=Pattern.STRIDE,
        width=10,
        report="Stride read",
        sheet="Stride Read",
    ),
    Column(key="fwrite", test=6, is_write=True, is_stdio=True, report="Fwrite", sheet="Fwrite"),
    Column(key="frewrite", test=6, is_write=True, is_stdio=True, is_again=True, report="Re-Fwrite", sheet="Re-fwrite"),
    Column(key="fread", test=7, is_write=False, is_stdio=True, report="Fread", sheet="Fread"),
    Column(
        key="freread",
        test=7,
        is_write=False,
        is_stdio=True,
        is_again=True,
        blank=8,
        report="Re-Fread",
        sheet="Re-fread",
    ),
    Column(key="pwrite", test=9, is_write=True, report="Pwrite", sheet="Pwrite"),
    Column(key="repwrite", test=9, is_write=True, is_again=True, report="Re-Pwrite", sheet="Re-pwrite"),
    Column(key="pread", test=10, is_write=False, width=8, blank=9, report="Pread", sheet="Pread"),
    Column(key="repread", test=10, is_write=False, is_again=True, report="Re-Pread", sheet="Re-pread"),
    Column(key="pwritev", test=11, is_write=True, is_vectored=True, report="Pwritev", sheet="Pwritev"),
    Column(
        key="repwritev",
        test=11,
        is_write=True,
        is_vectored=True,
        is_again=True,
        report="Re-Pwritev",
        sheet="Re-pwritev",
    ),
    Column(key="preadv", test=12, is_write=False, is_vectored=True, report="Preadv", sheet="Preadv"),
    Column(
        key="repreadv", test=12, is_write=False, is_vectored=True, is_again=True, report="Re-Preadv", sheet="Re-preadv"
    ),
)

MIXED_TEST = 8
EXTENSION_TESTS = frozenset({9, 10})
"""What -E adds by itself."""
VECTORED_TESTS = frozenset({11, 12})
LAST_TEST = 12
CREATING_TESTS = (0, 6, 9, 11)
"""Tests that make their file where it is not there; all others need it."""


@dataclasses.dataclass(frozen=True)
class Load:
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
    columns: tuple[str, ...] = ()
    """Columns whose work the children do: one, or those of the readers and of the writers of the mix."""


LOADS = (
    Load("write", 0, "Initial write", "initial writers", is_narrow=False, columns=("write",)),
    Load("rewrite", 0, "Rewrite", "rewriters", is_narrow=False, columns=("rewrite",)),
    Load("read", 1, "Read", "readers", is_narrow=False, tabs=("\t\t", "\t\t"), columns=("read",)),
    Load("reread", 1, "Re-read", "re-readers", columns=("reread",)),
    Load("backward-read", 3, "Reverse Read", "reverse readers", columns=("backward-read",)),
    Load("stride-read", 5, "Stride read", "stride readers", columns=("stride-read",)),
    Load("random-read", 2, "Random read", "random readers", columns=("random-read",)),
    Load("mixed", 8, "Mixed workload", "mixed workload", columns=("random-read", "random-write")),
    Load("random-write", 2, "Random write", "random writers", columns=("random-write",)),
    Load("pwrite", 9, "Pwrite", "pwrite writers", columns=("pwrite",)),
    Load("pread", 10, "Pread", "pread readers", columns=("pread",)),
    Load("fwrite", 6, "Fwrite", "fwriters", is_narrow=False, tabs=("\t", "\t\t"), columns=("fwrite",)),
    Load("fread", 7, "Fread", "freaders", is_narrow=False, tabs=("\t", "\t\t"), columns=("fread",)),
)
"""In the order in which they are run."""


def column(key: str) -> Column:
    """Look a column up by its key."""
    return next(candidate for candidate in COLUMNS if candidate.key == key)
