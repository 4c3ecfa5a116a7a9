"""Print the table that a load makes of phases in rounds: a result per cell, rows and columns as the load names them."""

from collections.abc import Mapping

from rich.text import Text

from assay.report.over_repeats import repeats_of
from assay.report.terminal_table import STYLES
from assay.results import Document, RoundsOutcome, Summary
from assay.units import ABSENT, format_ns, format_number
from assay.verdicts import TrustLevel

_LEAST_WIDTH = 9
_MARKS = {TrustLevel.YES: " ", TrustLevel.WEAK: "~", TrustLevel.NO: "!"}
_LEGEND = "~: weak. !: not usable."


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
    summaries = {summary.label: summary for summary in document.summaries}
    rows, columns = grid_names(rounds)
    at = {(cell.row, cell.column): summaries[cell.label] for cell in rounds.cells if cell.label in summaries}
    of_row = max(map(len, rows)) + 2
    texts = {place: cell_text(document, summary, rounds) for place, summary in at.items()}
    each = max(_LEAST_WIDTH, *(len(text) + 3 for text in (*columns, *texts.values())))
    beside = max(1, (width - of_row) // each)
    lines: list[Text] = []
    for begin in range(0, len(columns), beside):
        shown = columns[begin : begin + beside]
        title = unit_words(rounds) if not begin else ""
        lines += [Text(title, style="bold")] if title else [Text()]
        lines.append(Text(" " * of_row + "".join(f"{name:>{each - 1}} " for name in shown), style="bold"))
        lines += [
            Text.assemble(f"  {row:<{of_row - 2}}", *(_cell(at, texts, (row, name), each) for name in shown))
            for row in rows
        ]
    return [*lines, Text(_LEGEND, style="dim")]


def grid_names(rounds: RoundsOutcome) -> tuple[list[str], list[str]]:
    """Names of rows and of columns, in the order of the phases."""
    return list(dict.fromkeys(one.row for one in rounds.cells)), list(dict.fromkeys(one.column for one in rounds.cells))


def unit_words(rounds: RoundsOutcome) -> str:
    """Describe what the cells are."""
    if rounds.by == "latency":
        return "mean latency"
    return "MiB/s" if rounds.by == "bytes" else "IOPS"


def cell_text(document: Document, summary: Summary, rounds: RoundsOutcome) -> str:
    """Print the mean of a result over the window."""
    if rounds.by == "latency":
        return format_ns(mean_latency_ns(document, summary))
    if rounds.by == "bytes":
        moved = summary.throughput_bytes_per_s
        return ABSENT if moved is None or moved.value is None else format_number(moved.value / (1 << 20))
    return format_number(summary.iops.value)


def mean_latency_ns(document: Document, summary: Summary) -> float | None:
    """Give the mean of the mean latencies of the rounds that count."""
    of_label = next(same for same, one in zip(repeats_of(document), document.summaries, strict=True) if one is summary)
    means = [result.latency_ns.mean for result in of_label if result.repeat in summary.counted]
    known = [mean for mean in means if mean is not None]
    return sum(known) / len(known) if known else None


def _cell(
    at: Mapping[tuple[str, str], Summary], texts: Mapping[tuple[str, str], str], place: tuple[str, str], width: int
) -> tuple[str, str]:
    if place not in at:
        return f"{'':>{width}}", ""
    level = at[place].trust.level
    return f"{texts[place]:>{width - 1}}{_MARKS[level]}", "" if level is TrustLevel.YES else STYLES[level]
