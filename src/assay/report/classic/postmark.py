"""PostMark's own output from a run's bundle.

PostMark times with whole seconds of the calendar, counts a span of 0 seconds as 1, and divides whole numbers. So are its
lines made here, from the recorded times laid end to end: on storage of today they say little. The true rates, by
nanosecond clocks, are in the result document, in the figures and on standard error.
"""

import dataclasses
import math
from collections.abc import Sequence

from assay import events
from assay.analysis.record import NS_PER_S, PhaseRecord, RecordedRun, RunRecord, read
from assay.frontends.postmark.commands import Measure, follow, settings_from
from assay.frontends.postmark.sequence import APPEND, CREATE, DELETE, READ, counts_of
from assay.frontends.postmark.settings import Settings
from assay.frontends.postmark.to_plan import CREATING, DELETING, TRANSACTIONS
from assay.report.classic import measured

_KIB, _MIB = 1 << 10, 1 << 20
_DOTS = 10
_OUT_OF_FILES = (
    "out of files!\n"
    "For this workload, either increase the number of files or\n"
    "decrease the number of transactions.\n"
)


@dataclasses.dataclass(frozen=True)
class Part:
    """One phase of a run: what was done in it, and how long it took."""

    seconds: float
    ops: dict[str, int]
    bytes: dict[str, int]
    is_complete: bool

    def count(self, kind: str) -> int:
        """Operations of a kind that succeeded."""
        return self.ops.get(kind, 0)


_NOTHING = Part(seconds=0.0, ops={}, bytes={}, is_complete=False)


@dataclasses.dataclass(frozen=True)
class Totals:
    """A run as PostMark sees it."""

    settings: Settings
    begin_s: float
    """Time of day, in seconds since 1970, when the first file was made."""
    parts: dict[str, Part]
    """By phase; none for what never began."""
    planned: frozenset[str]
    """Phases that have anything to do."""

    def part(self, phase: str) -> Part:
        """Return a phase, of zeros where it never began."""
        return self.parts.get(phase, _NOTHING)

    def count(self, kind: str) -> int:
        """Operations of a kind over the whole run."""
        return sum(part.count(kind) for part in self.parts.values())

    def bytes(self, *kinds: str) -> int:
        """Bytes moved by operations of some kinds."""
        return sum(part.bytes.get(kind, 0) for part in self.parts.values() for kind in kinds)

    def is_complete(self, phase: str) -> bool:
        """Whether a phase did all that it had to do."""
        return phase not in self.planned or self.part(phase).is_complete

    @property
    def seconds(self) -> float:
        """Of all phases, without what is between them."""
        return sum(part.seconds for part in self.parts.values())

    @property
    def transactions(self) -> int:
        """Transactions that were asked for, or those that the operations done show."""
        if self.is_complete(TRANSACTIONS):
            return self.settings.transactions
        done = self.part(TRANSACTIONS)
        of_data, of_files = done.count(READ) + done.count(APPEND), done.count(CREATE) + done.count(DELETE)
        return max(of_data, of_files)


def text(run: RecordedRun) -> str:
    """Print what `run` prints: what went on and, where it does not go to a file, the report."""
    totals = totals_of(run)
    return _progress(totals) + ("" if report_file(run) else report(run))


def report_file(run: RecordedRun) -> str:
    """Name the file that the report was to go to; empty: standard output."""
    last = run.plan.origin.source.splitlines()[-1]
    request = follow(last, Settings())
    return request.report if isinstance(request, Measure) else ""


def report(run: RecordedRun) -> str:
    """Print PostMark's report: none, as there, where the files ran out."""
    totals = totals_of(run)
    if _ran_out(totals):
        return ""
    return _terse(totals) if totals.settings.is_terse else _verbose(totals)


def totals_of(run: RecordedRun) -> Totals:
    """Sum a run up; one that was cut is what it had measured."""
    record = read(run)
    hello = record.first(events.Hello)
    begin_ns = _begin_ns(record.phases[0]) if record.phases else 0
    return Totals(
        settings=settings_from(run.plan.origin.source),
        begin_s=((hello.clock.realtime_at_zero_ns if hello else 0) + begin_ns) / NS_PER_S,
        parts={phase.phase.name: _part(phase) for phase in record.phases},
        planned=frozenset(phase.name for phase in run.plan.phases),
    )


def _begin_ns(phase: PhaseRecord) -> int:
    begins = [worker.first_op_ns for worker in measured.workers(phase) if worker.first_op_ns is not None]
    return min(begins, default=phase.start_ns)


def _part(phase: PhaseRecord) -> Part:
    of_workers = [worker.seconds for worker in measured.workers(phase)]
    sums = {kind: measured.totals(phase, kind) for kind in (CREATE, READ, APPEND, DELETE)}
    return Part(
        seconds=max(of_workers, default=phase.whole.seconds),
        ops={kind: total.ops for kind, total in sums.items()},
        bytes={kind: total.bytes for kind, total in sums.items()},
        is_complete=phase.finished is not None and phase.finished.stopped_by is events.StoppedBy.EXHAUSTED,
    )


# -- what went on ------------------------------------------------------------------------------------------------------


def _progress(totals: Totals) -> str:
    settings = totals.settings
    has_directories = settings.subdirectories > 1
    said = "Creating subdirectories...Done\n" if has_directories else ""
    said += "Creating files..."
    if not totals.is_complete(CREATING):
        return said + "\n"
    said += "Done\nPerforming transactions"
    if not totals.is_complete(TRANSACTIONS):
        return said + _dots(totals.transactions, settings) + "\n"
    if _ran_out(totals):
        return said + _dots(counts_of(settings).transactions, settings) + _OUT_OF_FILES + "Deleting files...Done\n"
    said += _dots(settings.transactions, settings) + "Done\nDeleting files..."
    if not totals.is_complete(DELETING):
        return said + "\n"
    return said + "Done\n" + ("Deleting subdirectories...Done\n" if has_directories else "")


def _dots(done: int, settings: Settings) -> str:
    # PostMark divides by the number of transactions between two dots, and dies where that is 0.
    step = max(1, settings.transactions // _DOTS)
    return "." * math.ceil(done / step)


def _ran_out(totals: Totals) -> bool:
    """Whether the files ran out before the transactions did: then nothing is left to delete."""
    may_be = DELETING not in totals.planned and totals.is_complete(TRANSACTIONS)
    return may_be and counts_of(totals.settings).out_of_files


# -- the report --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Seconds:
    """Spans as PostMark knows them: differences of whole seconds, 1 for 0."""

    total: int
    creation: int
    transactions: int
    deletion: int


def _seconds(totals: Totals) -> _Seconds:
    at, edges = totals.begin_s, [math.floor(totals.begin_s)]
    for name in (CREATING, TRANSACTIONS, DELETING):
        at += totals.part(name).seconds
        edges.append(math.floor(at))
    begin, created, transacted, end = edges
    spans = (end - begin, created - begin, transacted - created, end - transacted)
    return _Seconds(*(max(1, span) for span in spans))


@dataclasses.dataclass(frozen=True)
class _Line:
    """A count, and what it is divided by."""

    count: int
    seconds: int

    @property
    def whole(self) -> int:
        return self.count // self.seconds

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def _lines(totals: Totals) -> dict[str, _Line]:
    took = _seconds(totals)
    alone, gone = totals.part(CREATING).count(CREATE), totals.part(DELETING).count(DELETE)
    mixed = totals.part(TRANSACTIONS)
    return {
        "transactions": _Line(totals.transactions, took.transactions),
        "created": _Line(totals.count(CREATE), took.total),
        "created alone": _Line(alone, took.creation),
        "created mixed": _Line(mixed.count(CREATE), took.transactions),
        "read": _Line(totals.count(READ), took.transactions),
        "appended": _Line(totals.count(APPEND), took.transactions),
        "deleted": _Line(totals.count(DELETE), took.total),
        "deleted alone": _Line(gone, took.deletion),
        "deleted mixed": _Line(mixed.count(DELETE), took.transactions),
        "bytes read": _Line(totals.bytes(READ), took.total),
        "bytes written": _Line(totals.bytes(CREATE, APPEND), took.total),
    }


def _verbose(totals: Totals) -> str:
    took, lines = _seconds(totals), _lines(totals)

    def files(indent: str, key: str, what: str) -> str:
        return f"{indent}{lines[key].count} {what} ({lines[key].whole} per second)"

    def alone(what: str, key: str) -> str:
        return f"\t\t{what}: {lines[key].count} files ({lines[key].whole} per second)"

    def data(key: str, what: str) -> str:
        return f"\t{_scaled(lines[key].count)} {what} ({_scaled(lines[key].rate)} per second)"

    said = [
        "Time:",
        f"\t{took.total} seconds total",
        f"\t{took.transactions} seconds of transactions ({lines['transactions'].whole} per second)",
        "",
        "Files:",
        files("\t", "created", "created"),
        alone("Creation alone", "created alone"),
        alone("Mixed with transactions", "created mixed"),
        files("\t", "read", "read"),
        files("\t", "appended", "appended"),
        files("\t", "deleted", "deleted"),
        alone("Deletion alone", "deleted alone"),
        alone("Mixed with transactions", "deleted mixed"),
        "",
        "Data:",
        data("bytes read", "read"),
        data("bytes written", "written"),
    ]
    return "".join(f"{line}\n" for line in said)


def _terse(totals: Totals) -> str:
    took = _seconds(totals)
    rates = " ".join(f"{line.rate:.2f}" for line in _lines(totals).values())
    return f"{took.total} {took.transactions} {rates}\n"


def _scaled(amount: float) -> str:
    """Write an amount of data as the report does: nothing above 0 is written in bytes."""
    if amount > _MIB:
        return f"{amount / _MIB:.2f} megabytes"
    if amount > 0:
        return f"{amount / _KIB:.2f} kilobytes"
    return f"{amount:.6f} bytes"
