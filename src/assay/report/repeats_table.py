"""Print the table of a run with repeats: a row per result, and below it each repeat.

The rows of the repeats themselves are folded: `assay show RUN --repeats` prints them too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from assay.report.numbers import MIB_PER_S, OPS_PER_S, RateUnit
from assay.report.over_repeats import (
    METHODS,
    headline_number,
    remarks,
    repeats_of,
    shown_rates,
    summary_titles,
    unit_of,
)
from assay.report.rounds_grid import grid_lines, grid_phases
from assay.report.terminal_table import STYLES
from assay.report.wrapping import cut, fill, wrap
from assay.results import Document, RepeatedNumber, Result, Summary
from assay.units import ABSENT, format_ns, format_number, format_share
from assay.verdicts import ServedBy

_ROW_WIDTH = 3
_SERVED_WIDTH = 11
_TRUST_WIDTH = 6
_SHORTEST_TITLE = 28
_NARROWEST = 80
_IN_A_PIPE_COLUMNS = 120
_MOST_RATES = 20
"""Repeats whose rates are written one by one."""


@dataclass(frozen=True)
class _Row:
    number: int
    """From 1, of all summaries."""
    title: str
    summary: Summary
    measured: Sequence[Result]
    word: str
    """What is counted: repeats or rounds."""

    @property
    def unit(self) -> RateUnit:
        return unit_of(self.measured)


@dataclass(frozen=True)
class _Column:
    heading: str
    width: int
    cell: Callable[[_Row], str]


def repeats_table(document: Document, width: int | None) -> list[Text]:
    """Lay the summaries of a run out.

    Args:
        document: A run with repeats.
        width: Columns of the terminal; None: there is none.
    """
    titled = zip(summary_titles(document), document.summaries, repeats_of(document), strict=True)
    in_grid = grid_phases(document)
    word = "repeat" if document.rounds is None else "round"
    rows = [
        _Row(number, title, summary, measured, word)
        for number, (title, summary, measured) in enumerate(titled, start=1)
        if summary.phase not in in_grid
    ]
    columns = width or _IN_A_PIPE_COLUMNS
    lines = []
    if rows:
        lines += _as_columns(rows, columns) if columns >= _NARROWEST else _as_lists(rows, columns)
    if grid := grid_lines(document, columns):
        lines += [*([Text()] if lines else []), *grid]
    return [*lines, Text(), *(Text(line, style="dim") for line in wrap(_legend(document), columns))]


def _as_columns(rows: Sequence[_Row], width: int) -> list[Text]:
    indent = " " * _ROW_WIDTH
    title_width = min(
        max(cell_len(row.title) for row in rows) + 1, width - _ROW_WIDTH - _SERVED_WIDTH - _TRUST_WIDTH - 20
    )
    title_width = max(title_width, _SHORTEST_TITLE)
    heading = f"{indent}{fill('operation', title_width)}{fill('served by', _SERVED_WIDTH)}trust"
    numbers = indent + "".join(f"{column.heading:>{column.width}}" for column in _COLUMNS)
    lines = [Text(heading, style="bold"), Text(numbers, style="bold")]
    for row in rows:
        start = f"{row.number:>{_ROW_WIDTH - 1}} {fill(cut(row.title, title_width - 1), title_width)}"
        lines.append(_trusted(start + fill(_of(row), _SERVED_WIDTH), row, width))
        lines.append(Text(indent + "".join(f"{column.cell(row):>{column.width}}" for column in _COLUMNS)))
        lines += [Text(indent * 2 + line, style="dim") for line in _below(row, width - 2 * _ROW_WIDTH)]
    return lines


def _as_lists(rows: Sequence[_Row], width: int) -> list[Text]:
    indent, room = " " * _ROW_WIDTH, width - _ROW_WIDTH
    lines = []
    for row in rows:
        cells = [f"{column.heading} {column.cell(row)}" for column in _COLUMNS]
        trust = row.summary.trust
        words = [*cells, f"served by {_of(row)}", f"trust {trust.level}{': ' if trust.reasons else ''}{_reasons(row)}"]
        first, *others = wrap(row.title, room)
        lines.append(Text(f"{row.number:>{_ROW_WIDTH - 1}} {first}", style="bold"))
        lines += [Text(indent + part) for part in (*others, *wrap(" · ".join(words), room))]
        lines += [Text(indent + part, style="dim") for part in _below(row, room)]
    return lines


def _trusted(start: str, row: _Row, width: int) -> Text:
    level, why = row.summary.trust.level, _reasons(row)
    word = fill(level.value, _TRUST_WIDTH) if why else level.value
    return Text.assemble(start, (word, STYLES[level]), cut(why, width - cell_len(start) - _TRUST_WIDTH))


def _reasons(row: _Row) -> str:
    return ", ".join(reason.text for reason in row.summary.trust.reasons)


def _of(row: _Row) -> str:
    """Name what served it; if the repeats differ, the reason lists them."""
    measures = {result.measures for result in row.measured if result.repeat in row.summary.counted}
    measures = measures or {result.measures for result in row.measured}
    return measures.pop().words if len(measures) == 1 else ServedBy.MIXED.words


def _below(row: _Row, width: int) -> list[str]:
    """Give the rate of each repeat, or the range of very many, and remarks on single ones."""
    rates = shown_rates(row.summary, row.measured)
    if len(rates) <= _MOST_RATES:
        lines = wrap(f"{_counted(rates, row)}: {' · '.join(rates)} {row.unit.label}", width)
    else:
        lines = [f"{_counted(rates, row)}: {_ends(_head(row).range, row.unit)} {row.unit.label}"]
    return [*lines, *(part for remark in remarks(row.summary, row.measured) for part in wrap(remark, width))]


def _counted(rates: Sequence[str], row: _Row) -> str:
    return f"{len(rates)} {row.word}{'s' if len(rates) != 1 else ''}"


# -- columns -----------------------------------------------------------------------------------------------------------


def _head(row: _Row) -> RepeatedNumber:
    return headline_number(row.summary, row.unit)


def _rate(unit: RateUnit) -> Callable[[_Row], str]:
    def cell(row: _Row) -> str:
        iops, throughput = row.summary.iops, row.summary.throughput_bytes_per_s
        value = unit.of(iops.value, throughput.value if throughput else None)
        flushed = "*" if row.summary.is_with_flush and value is not None else ""
        return format_number(value) + (flushed if unit is OPS_PER_S else "")

    return cell


def _ends(ends: tuple[float, float] | None, unit: RateUnit) -> str:
    if ends is None:
        return ABSENT
    low, high = (format_number(end / unit.per_unit) for end in ends)
    return f"{low} to {high}"


_COLUMNS = (
    _Column("IOPS", 9, _rate(OPS_PER_S)),
    _Column("MiB/s", 8, _rate(MIB_PER_S)),
    _Column("95 % interval", 21, lambda row: _ends(_head(row).interval, row.unit)),
    _Column("CV", 8, lambda row: format_share(_head(row).variation)),
    _Column("p50", 9, lambda row: format_ns(row.summary.p50_ns.value)),
    _Column("p99", 9, lambda row: format_ns(row.summary.p99_ns.value)),
)


def _legend(document: Document) -> str:
    summaries = document.summaries
    methods = dict.fromkeys(summary.iops.method for summary in summaries if summary.iops.method)
    parts = [f"Rates, p50 and p99: {', or '.join(METHODS[method] for method in methods)}."] if methods else []
    over = "repeats" if document.rounds is None else "rounds of the window"
    parts.append(f"95 % interval: of that rate, over the {over}. CV: standard deviation by mean of these.")
    if any(summary.is_response for summary in summaries):
        parts.append("p50, p99 of an open loop: response time.")
    if any(summary.is_with_flush for summary in summaries):
        parts.append("*: with the closing flush in the time.")
    if document.rounds is None and any(len(summary.counted) < len(summary.repeats) for summary in summaries):
        parts.append("In brackets: left out.")
    parts.append(f"Every {'repeat' if document.rounds is None else 'round'}: 'assay show {document.run.id} --repeats'.")
    return " ".join(parts)
