"""Write a comparison as a workbook: ratios and verdicts, all values, differing facts, runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.analysis.difference import diff_runs
from assay.compare.arms import P99, THROUGHPUT, began_utc
from assay.compare.comparison import Comparison, Row
from assay.report.comparison.compared_runs import ComparedSide
from assay.report.comparison.comparison_words import reason_text
from assay.report.comparison.value_tables import compared_values, facts_table
from assay.report.limited_by import limit_words
from assay.report.verdict import trust_reasons, trust_words
from assay.report.workbook import Cell, Sheet, write_workbook
from assay.units import MIB

_UNITS = {THROUGHPUT.unit: ("MiB/s", MIB), P99.unit: ("µs", 1e3)}
"""In which a person reads what is compared in another, and how much that is."""
_SUMMARY = (
    "Side", "Result", "Metric", "Unit", "Median of A", "Runs of A", "Median of the side", "Runs of the side", "Ratio to A",
    "95 % from", "95 % to", "Verdict", "Why no more",
)  # fmt: skip
_VALUES = (
    "Result", "Label", "Side", "Run", "Started", "Rate", "Unit", "p99, µs", "Counts", "A number of", "Limited by", "Trust",
    "Why not",
)  # fmt: skip


def write_comparison_workbook(comparison: Comparison, sides: Sequence[ComparedSide], path: Path) -> Path:
    """Write a comparison as an .xlsx, replacing a file of that name, and give its path; raises InputError and RunError."""
    return write_workbook(comparison_sheets(comparison, sides), path)


def comparison_sheets(comparison: Comparison, sides: Sequence[ComparedSide]) -> list[Sheet]:
    """Give the sheets of a comparison."""
    facts = facts_table(sides)
    return [
        Sheet("Summary", _SUMMARY, list(_summary(comparison, sides))),
        Sheet("Values", _VALUES, list(_values(comparison, sides))),
        Sheet("What differs", ("Side", "Field or fact", "A", "The side"), list(_differences(sides))),
        Sheet("Runs", ("Side", "Name", "Run", "Started", "Seconds", "Command", "Bundle"), list(_runs(sides))),
        Sheet("Facts", facts.columns, facts.rows),
    ]


def _scaled(value: float | None, unit: str) -> tuple[float | None, str]:
    name, size = _UNITS.get(unit, (unit, 1.0))
    return (None if value is None else value / size), name


def _summary(comparison: Comparison, sides: Sequence[ComparedSide]) -> Iterator[tuple[Cell, ...]]:
    for side, against in zip(sides[1:], comparison.against, strict=True):
        for row in against.rows:
            yield (side.letter, row.title, row.metric, *_numbers(row), row.verdict.words, reason_text(row, side.letter))


def _numbers(row: Row) -> tuple[Cell, ...]:
    a, unit = _scaled(row.a.median, row.unit)
    b, _ = _scaled(row.b.median, row.unit)
    low, high = row.interval or (None, None)
    return (unit, a, len(row.a.values), b, len(row.b.values), row.ratio, low, high)


def _values(comparison: Comparison, sides: Sequence[ComparedSide]) -> Iterator[tuple[Cell, ...]]:
    for value in compared_values(comparison, sides):
        result = value.sample.result
        rate, unit = _scaled(value.rate, value.row.unit)
        p99, _ = _scaled(value.p99_ns, P99.unit)
        yield (
            value.title, value.row.label, value.side.letter, value.sample.name, value.sample.started_utc, rate, unit, p99,
            "yes" if value.counts else "no", result.measures.words, limit_words(result) or None, trust_words(result),
            trust_reasons(result) or None,
        )  # fmt: skip


def _differences(sides: Sequence[ComparedSide]) -> Iterator[tuple[Cell, ...]]:
    a = sides[0].first
    for side in sides[1:]:
        for each in diff_runs(a.plan, a.sourced_facts, side.first.plan, side.first.sourced_facts):
            yield (side.letter, each.key, each.before, each.after)


def _runs(sides: Sequence[ComparedSide]) -> Iterator[tuple[Cell, ...]]:
    for side in sides:
        for document in side.arm.documents:
            run = document.run
            yield (
                side.letter,
                side.arm.name,
                run.id,
                began_utc(document) or None,
                run.seconds,
                run.command,
                run.bundle,
            )
