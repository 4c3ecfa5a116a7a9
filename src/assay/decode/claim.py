"""One figure of a benchmark's output, whatever tool printed it."""

import dataclasses
import datetime as dt
import enum


class Doing(enum.StrEnum):
    """What was done, as far as a verdict turns on it."""

    READ = "read"
    WRITE = "write"
    REWRITE = "rewrite"
    """Each piece is read, changed and written back: its bytes go both ways."""
    MIXED = "mixed"
    COPY = "copy"
    """Read or written, which the tool does not report."""
    CREATE = "create"
    STAT = "stat"
    DELETE = "delete"

    @property
    def is_of_data(self) -> bool:
        """Whether it moves the content of files."""
        return self in {Doing.READ, Doing.WRITE, Doing.REWRITE, Doing.MIXED, Doing.COPY}


@dataclasses.dataclass(frozen=True)
class ReportedLatency:
    """Latencies as the tool reports them, in nanoseconds; None: it does not."""

    mean_ns: float | None = None
    p50_ns: float | None = None
    p90_ns: float | None = None
    p99_ns: float | None = None
    p99_9_ns: float | None = None
    max_ns: float | None = None


@dataclasses.dataclass(frozen=True)
class Circumstances:
    """What the tool reports of its whole run; None: not reported."""

    version: str | None = None
    """Of the tool."""
    machine: str | None = None
    """As it calls the machine, the system, or the column of a table."""
    measured: dt.datetime | None = None
    """A time of it, as near as the tool reports it: the start or the end. Without a zone where the tool prints
    none."""


@dataclasses.dataclass(frozen=True)
class ReportedCell:
    """Where a figure lies among those of one test with files and records of other sizes."""

    test: str
    file_bytes: int
    record_bytes: int


@dataclasses.dataclass(frozen=True)
class Claim:
    """A rate, and what the tool reports of its origin. None: not reported."""

    test: str
    """Its name in the tool's words."""
    action: Doing
    bytes_per_s: float | None = None
    """In each direction."""
    ops_per_s: float | None = None
    set_bytes: int | None = None
    """What was read or written, all workers together."""
    cold_share: float | None = None
    """Of the bytes read, those that the client's memory cannot have held: read for the first time since it was emptied.
    0: all had been written or read before."""
    cpu_share: float | None = None
    """CPU time of the tool by elapsed time; 1: one CPU was busy all the time."""
    outstanding: int | None = 1
    """Operations at a time."""
    clients: int = 1
    """Machines that took part: each has a link and a memory of its own."""
    is_by_character: bool = False
    """Each byte is a call of its own: a test of the client's processor and libraries."""
    is_direct: bool = False
    is_flushed: bool | None = None
    """Whether what was written was on storage when the clock stopped."""
    is_too_quick: bool = False
    """The tool itself has no figure: it was over too soon."""
    place: tuple[str, ...] = ()
    """Key of what was measured, in parts: where Assay has a front end for the tool, as that calls phase, job and operation.
    Empty: the test's name."""
    cell: ReportedCell | None = None
    """None: it is of no such test, or the tool does not report it."""
    workers: int | None = None
    queue_depth: int | None = None
    """I/Os that each of the workers keeps in flight."""
    ops: int | None = None
    moved_bytes: int | None = None
    errors: int | None = None
    seconds: float | None = None
    latency: ReportedLatency = ReportedLatency()
    is_part: bool = False
    """One of several workers that ran at once: those of one place are parts of one figure, and no repeats."""
    objection: str = ""
    """What the tool itself reports against the figure."""
    during: Circumstances = Circumstances()
