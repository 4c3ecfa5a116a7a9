"""Build the tables of a comparison: all values of all runs, and the facts of the machines side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.analysis.difference import NOT_RECORDED
from assay.compare.arms import IOPS, P99, THROUGHPUT, Sample
from assay.compare.comparison import Comparison, Row, counted_of
from assay.report.comparison.compared_runs import ComparedSide, title_of
from assay.report.comparison_text import value_text
from assay.report.figure import Table
from assay.report.limited_by import limit_words
from assay.report.numbers import span_s
from assay.report.sections import fact_value
from assay.report.verdict import trust_reasons, trust_words
from assay.units import ABSENT

MOST_ROWS = 1000
"""Of values on a page; the workbook and `--json` have all."""
_RATES = {metric.name: metric for metric in (IOPS, THROUGHPUT)}


@dataclass(frozen=True)
class ComparedValue:
    """A measurement of a result that was compared."""

    title: str
    row: Row
    """Of its rate, against the first of the sides."""
    side: ComparedSide
    sample: Sample
    rate: float | None
    """In the unit of the row."""
    p99_ns: float | None
    counts: bool
    """Whether it is in the ratio; else it is not trusted and left out."""


def compared_values(comparison: Comparison, sides: Sequence[ComparedSide]) -> Iterator[ComparedValue]:
    """Give each measurement of each result that was compared."""
    every = [row for against in comparison.against for row in against.rows]
    rates: dict[str, Row] = {}
    for row in every:
        if row.metric in _RATES:
            rates.setdefault(row.label, row)
    for label, row in rates.items():
        title = title_of(sides, label)
        for side in sides:
            counted = counted_of(side.samples(label))
            for sample in side.samples(label):
                yield ComparedValue(
                    title=title,
                    row=row,
                    side=side,
                    sample=sample,
                    rate=_RATES[row.metric].value(sample.result),
                    p99_ns=P99.value(sample.result),
                    counts=sample in counted,
                )


def values_table(comparison: Comparison, sides: Sequence[ComparedSide]) -> tuple[Table, int]:
    """Give what was compared, run by run, and how many rows are left out."""
    values = list(compared_values(comparison, sides))
    heads = ("Result", "Side", "Run", "Rate", "p99", "Counts", "A number of", "Cache", "Limited by", "Window", "Trust")
    return Table(heads, tuple(_cells(value) for value in values[:MOST_ROWS])), max(len(values) - MOST_ROWS, 0)


def _cells(value: ComparedValue) -> tuple[str, ...]:
    result = value.sample.result
    why = trust_reasons(result)
    return (
        value.title,
        value.side.letter,
        value.sample.name,
        ABSENT if value.rate is None else value_text(value.rate, value.row.unit),
        ABSENT if value.p99_ns is None else value_text(value.p99_ns, P99.unit),
        "yes" if value.counts else "no",
        result.measures.words,
        f"{result.cache.condition.replace('_', ' ')}, {result.cache.verdict}",
        limit_words(result) or ABSENT,
        ABSENT if result.window_s is None else span_s(*result.window_s),
        trust_words(result) + (f": {why}" if why else ""),
    )


def facts_table(sides: Sequence[ComparedSide]) -> Table:
    """Give every recorded fact of the first run of each side, those that differ first."""
    of_sides = [side.first.facts for side in sides]
    keys = list(dict.fromkeys(key for facts in of_sides for key in facts))
    rows = [(key, *(fact_value(facts[key]) if key in facts else NOT_RECORDED for facts in of_sides)) for key in keys]
    # What differs first; the order is kept else.
    rows.sort(key=lambda row: len(set(row[1:])) == 1)
    return Table(("Fact", *(side.letter for side in sides)), tuple(rows))
