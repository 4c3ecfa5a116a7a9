"""Print the table that a load makes of phases in rounds: a result per cell, rows and columns as the load names them."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from assay.analysis.rounds_window import result_value
from assay.outward import one_line
from assay.report.over_repeats import repeats_of
from assay.report.terminal_table import STYLES
from assay.report.wrapping import cut, fill
from assay.results import Document, Result, RoundsOutcome, Summary
from assay.units import format_ns, format_number
from assay.verdicts import TrustLevel

_LEAST_WIDTH, _LONGEST_NAME = 9, 24
_MARKS = {TrustLevel.YES: " ", TrustLevel.WEAK: "~", TrustLevel.NO: "!"}
LEGEND = "~: weak. !: not usable."


def grid_phases(document: Document) -> frozenset[str]:
    """Names of the phases whose results are in the table."""
    if document.rounds is None:
        return frozenset()
    labels = {cell.label for cell in document.rounds.cells}
    return frozenset(summary.phase for summary in document.summaries if summary.label in labels)


def grid_lines(document: Document, width: int) -> list[Text]:
    """Print the table; as many columns beside each other as there is room for.

    Args:
        document: The results.
        width: Columns of the terminal.
    """
    rounds = document.rounds
    if rounds is None or not rounds.cells:
        return []
    levels, texts = _levels(document), grid_cells(document)
    rows, columns = grid_names(rounds)
    shown_names = {name: cut(one_line(name), _LONGEST_NAME) for name in (*rows, *columns)}
    of_row = max(cell_len(shown_names[row]) for row in rows) + 2
    each = max(
        _LEAST_WIDTH, *(cell_len(text) + 2 for text in (*(shown_names[name] for name in columns), *texts.values()))
    )
    beside = max(1, (width - of_row) // each)
    lines: list[Text] = [Text(unit_words(rounds), style="bold")]
    for begin in range(0, len(columns), beside):
        shown = columns[begin : begin + beside]
        lines.append(Text(" " * of_row + "".join(f"{shown_names[name]:>{each - 1}} " for name in shown), style="bold"))
        for row in rows:
            cells = ((f"{texts.get((row, name), ' '):>{each}}", _style(levels.get((row, name)))) for name in shown)
            lines.append(Text.assemble(f"  {fill(shown_names[row], of_row - 2)}", *cells))
    return [*lines, Text(LEGEND, style="dim")]


def grid_cells(document: Document) -> dict[tuple[str, str], str]:
    """Print the results by row and column, each with the mark of its trust."""
    rounds = document.rounds
    if rounds is None:
        return {}
    measured = {one.label: same for one, same in zip(document.summaries, repeats_of(document), strict=True)}
    return {
        place: f"{_cell_text(rounds, summary, measured[summary.label])}{_MARKS[summary.trust.level]}"
        for place, summary in _summaries(document).items()
    }


def _summaries(document: Document) -> dict[tuple[str, str], Summary]:
    by_summary = {summary.label: summary for summary in document.summaries}
    cells = document.rounds.cells if document.rounds else ()
    return {(cell.row, cell.column): by_summary[cell.label] for cell in cells if cell.label in by_summary}


def _levels(document: Document) -> dict[tuple[str, str], TrustLevel]:
    return {place: summary.trust.level for place, summary in _summaries(document).items()}


def _style(level: TrustLevel | None) -> str:
    return "" if level in {None, TrustLevel.YES} else STYLES[level]


def grid_names(rounds: RoundsOutcome) -> tuple[list[str], list[str]]:
    """Names of rows and of columns, in the order of the phases."""
    return list(dict.fromkeys(one.row for one in rounds.cells)), list(dict.fromkeys(one.column for one in rounds.cells))


def unit_words(rounds: RoundsOutcome) -> str:
    """Describe what the cells are."""
    if rounds.by == "latency":
        return "mean latency"
    return "MiB/s" if rounds.by == "bytes" else "IOPS"


def round_values(rounds: RoundsOutcome, measured: Sequence[Result]) -> tuple[float | None, ...]:
    """Give what is looked at of a result, by whole round: operations or bytes per second, or nanoseconds."""
    by_round = {result.repeat: result_value(result, rounds.by) for result in measured}
    return tuple(by_round.get(place) for place in range(rounds.done))


def _cell_text(rounds: RoundsOutcome, summary: Summary, measured: Sequence[Result]) -> str:
    values = [result_value(result, rounds.by) for result in measured if result.repeat in summary.counted]
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else None
    if rounds.by == "latency":
        return format_ns(mean)
    return format_number(mean if mean is None or rounds.by == "ops" else mean / (1 << 20))
