"""PostMark's own output from a run's bundle.

PostMark times with whole seconds of the calendar, counts a span of 0 seconds as 1, and divides whole numbers. So are its
lines made here, from the recorded times laid end to end: on storage of today they mean little. The true rates, by
nanosecond clocks, are in the result document, in the figures and on standard error.
"""

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.tools.front_end import Output
from assay.tools.output_files import OutputFile
from assay.tools.postmark import rates
from assay.tools.postmark.plan import CREATING, DELETING, SINGLE_BYTES_READ, SINGLE_BYTES_WRITTEN, TRANSACTIONS
from assay.tools.postmark.sequence import APPEND, CREATE, DELETE, READ
from assay.tools.postmark.settings import Settings
from assay.tools.postmark.totals import RunTotals, totals_of

if TYPE_CHECKING:
    from assay.report.figure import Figure

_KIB, _MIB = 1 << 10, 1 << 20
_DOTS = 10
_OUT_OF_FILES = (
    "out of files!\nFor this workload, either increase the number of files or\ndecrease the number of transactions.\n"
)


class PostMarkOutput(Output[Settings]):
    """What PostMark prints."""

    @cached_property
    def _totals(self) -> RunTotals:
        return totals_of(self.run, self.settings)

    def text(self) -> str:
        """Print what `run` prints: what went on and, where it does not go to a file, the report."""
        return progress_of(self._totals) + ("" if self.settings.report else report_of(self._totals))

    def stderr_notes(self) -> str:
        """Report the true rates, and what PostMark counts without doing it."""
        return rates.stderr_notes(self._totals)

    def files(self) -> Sequence[OutputFile]:
        """Put the report to the end of the file that `run` names."""
        if not self.settings.report:
            return ()
        return (OutputFile(Path(self.settings.report), report_of(self._totals).encode(), appends=True),)

    def figures(self) -> "Sequence[Figure]":
        """Draw the rates that PostMark's readers look at, as they were, and the latency of its operations."""
        # NumPy takes longer to load than the text takes to print.
        from assay.tools.postmark.figures import figures  # noqa: PLC0415

        return figures(self.run, self._totals)


# -- what went on ------------------------------------------------------------------------------------------------------


def progress_of(totals: RunTotals) -> str:
    """Print the progress, up to where the run was cut."""
    settings = totals.settings
    has_directories = settings.subdirectories > 1
    printed = "Creating subdirectories...Done\n" if has_directories else ""
    printed += "Creating files..."
    if not totals.is_complete(CREATING):
        return printed + "\n"
    printed += "Done\nPerforming transactions"
    if not totals.is_complete(TRANSACTIONS):
        return printed + _dots(totals.transactions, settings) + "\n"
    if totals.ran_out:
        printed += _dots(totals.transactions, settings) + _OUT_OF_FILES + "Deleting files..."
    else:
        printed += _dots(settings.transactions, settings) + "Done\nDeleting files..."
    if not totals.is_complete(DELETING):
        return printed + "\n"
    return printed + "Done\n" + ("Deleting subdirectories...Done\n" if has_directories else "")


def _dots(done: int, settings: Settings) -> str:
    # PostMark divides by the number of transactions between two dots, and dies where that is 0.
    step = max(1, settings.transactions // _DOTS)
    return "." * math.ceil(done / step)


# -- the report --------------------------------------------------------------------------------------------------------


def report_of(totals: RunTotals) -> str:
    """Make the report: none, as in PostMark, where the files ran out."""
    if totals.ran_out:
        return ""
    return _terse(totals) if totals.settings.is_terse else _verbose(totals)


@dataclasses.dataclass(frozen=True)
class _Seconds:
    """Spans as PostMark counts them: differences of whole seconds, 1 for 0."""

    total: int
    creation: int
    transactions: int
    deletion: int


def _seconds(totals: RunTotals) -> _Seconds:
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

    count: float
    """Of files, a whole number."""
    seconds: int

    @property
    def whole(self) -> int:
        return int(self.count) // self.seconds

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def _lines(totals: RunTotals) -> dict[str, _Line]:
    took = _seconds(totals)
    alone, gone = totals.part(CREATING).count(CREATE), totals.part(DELETING).count(DELETE)
    mixed = totals.part(TRANSACTIONS)
    read_bytes, written_bytes = _bytes(totals)
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
        "bytes read": _Line(read_bytes, took.total),
        "bytes written": _Line(written_bytes, took.total),
    }


def _bytes(totals: RunTotals) -> tuple[float, float]:
    """Give the bytes read and written; of a run that did all it had to do, with the errors of PostMark's sums."""
    if totals.counts and all(totals.is_complete(phase) for phase in totals.planned):
        return totals.counts[SINGLE_BYTES_READ], totals.counts[SINGLE_BYTES_WRITTEN]
    return totals.bytes(READ), totals.bytes(CREATE, APPEND)


def _verbose(totals: RunTotals) -> str:
    took, lines = _seconds(totals), _lines(totals)

    def files(indent: str, key: str, what: str) -> str:
        return f"{indent}{lines[key].count} {what} ({lines[key].whole} per second)"

    def alone(what: str, key: str) -> str:
        return f"\t\t{what}: {lines[key].count} files ({lines[key].whole} per second)"

    def data(key: str, what: str) -> str:
        return f"\t{_scale(lines[key].count)} {what} ({_scale(lines[key].rate)} per second)"

    printed = [
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
    return "".join(f"{line}\n" for line in printed)


def _terse(totals: RunTotals) -> str:
    took = _seconds(totals)
    rates = " ".join(f"{line.rate:.2f}" for line in _lines(totals).values())
    return f"{took.total} {took.transactions} {rates}\n"


def _scale(amount: float) -> str:
    """Write an amount of data as the report does: nothing above 0 is written in bytes."""
    if amount > _MIB:
        return f"{amount / _MIB:.2f} megabytes"
    if amount > 0:
        return f"{amount / _KIB:.2f} kilobytes"
    return f"{amount:.6f} bytes"


OUTPUT = PostMarkOutput
