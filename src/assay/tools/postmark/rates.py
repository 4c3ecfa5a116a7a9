"""PostMark's rates as they were: by nanosecond clocks, in the columns that its results are published in.

seconds    creation, transactions and deletion, without what is between them
IOPS       transactions per second of transactions
creation   files made before the transactions, per second of making them
reads, appends      per second of transactions
deletes    files deleted after the transactions, per second of deleting them
MB/s       2^20 bytes per second of all
"""

import dataclasses
from collections.abc import Sequence

from assay.tools.postmark.plan import APPENDS_SKIPPED, CREATES_SKIPPED, CREATING, DELETING, FRONT_END, TRANSACTIONS
from assay.tools.postmark.sequence import APPEND, CREATE, DELETE, READ
from assay.tools.postmark.totals import RunTotals
from assay.units import ABSENT

_MIB = 1 << 20
_DIGITS = 4


@dataclasses.dataclass(frozen=True)
class ResultRow:
    """One line of a table of PostMark results; None: not published."""

    config: str
    time_s: float | None = None
    iops: float | None = None
    creation_s: float | None = None
    reads_s: float | None = None
    appends_s: float | None = None
    deletes_s: float | None = None
    read_mb_s: float | None = None
    write_mb_s: float | None = None


HEADINGS = ("config", "Time", "IOPS", "Creation", "Reads", "Appends", "Deletes", "Read MB/s", "Write MB/s")


def table(rows: Sequence[ResultRow]) -> str:
    """Print results below each other."""
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = []
    for first, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        lines.append("  ".join((first.ljust(widths[0]), *numbers)).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _cells(row: ResultRow) -> tuple[str, ...]:
    values = dataclasses.astuple(row)[1:]
    return (row.config, *(ABSENT if value is None else f"{value:.10g}" for value in values))


def row_of(totals: RunTotals) -> ResultRow:
    """Return the row of a run; None where there was nothing to time."""
    mixed = totals.part(TRANSACTIONS)
    return ResultRow(
        config=FRONT_END,
        time_s=_round(totals.seconds),
        iops=_rate(totals.transactions, mixed.seconds),
        creation_s=_alone(totals, CREATING, CREATE),
        reads_s=_rate(mixed.count(READ), mixed.seconds),
        appends_s=_rate(mixed.count(APPEND), mixed.seconds),
        deletes_s=_alone(totals, DELETING, DELETE),
        read_mb_s=_rate(totals.bytes(READ) / _MIB, totals.seconds),
        write_mb_s=_rate(totals.bytes(CREATE, APPEND) / _MIB, totals.seconds),
    )


def _alone(totals: RunTotals, phase: str, kind: str) -> float | None:
    part = totals.part(phase)
    return _rate(part.count(kind), part.seconds)


def _rate(amount: float, seconds: float) -> float | None:
    return _round(amount / seconds) if seconds > 0 else None


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") if value < 10**_DIGITS else float(round(value))


def stderr_notes(totals: RunTotals) -> str:
    """Report on standard error what PostMark's own text cannot show."""
    heads, row = table([row_of(totals)]).splitlines()
    remarks = [heads, f"{row}  by nanosecond clocks; PostMark's text has whole seconds and rounds down"]
    skipped = {
        APPENDS_SKIPPED: "found a file of full size and appended nothing",
        CREATES_SKIPPED: "found no place for a new file and made none",
    }
    for key, what in skipped.items():
        if count := int(totals.counts.get(key, 0)):
            remarks.append(f"{count} transactions {what}; PostMark counts them like all others")
    if totals.ran_out:
        asked = totals.settings.transactions
        remarks.append(f"The files ran out after {totals.transactions} of {asked} transactions; rates are of those")
    return "".join(f"{line}\n" for line in remarks)
