"""Draw the latency of one result over time, a map per side on one scale: of the run with the median rate.

The axes of all maps are the same. Their colours are too where a column is as long in all of them, because a cell counts
operations; else each map has its own, and a note.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.histogram import QUANTILES, quantiles_ns
from assay.report.comparison.compared_runs import ComparedSide, Measurement
from assay.report.comparison.overlaid_percentiles import series_of
from assay.report.figure import Figure, Table
from assay.report.figures.heat_map import Cells, Frame, cells_alike, chart, quantile_steps
from assay.report.numbers import span_s
from assay.report.recording import Latencies
from assay.report.verdict import trust_words
from assay.units import ABSENT, format_ns

_LINES = {name: QUANTILES[name] for name in ("p50", "p99")}
_AS_LONG = 0.01
_MOST_ROWS = 60


def draw(sides: Sequence[ComparedSide], label: str, title: str, slug: str, most_cells: int) -> Iterator[Figure]:
    """Draw a map of each side; nothing of sides that have no latencies of it.

    Args:
        sides: All of them.
        label: Of the result.
        title: Of the result, for people.
        slug: Of the result.
        most_cells: Of each map.
    """
    series = series_of(sides, label)
    words = "response time" if series == "response" else "latency"
    chosen = []
    for side in sides:
        measured = middle(side.measured(label))
        latencies = measured.recording.latencies(measured.result, series) if measured else None
        if measured and latencies and len(latencies.count):
            chosen.append((side, measured, latencies))
    if not chosen:
        return
    maps = cells_alike([latencies for *_, latencies in chosen], most_cells)
    frame, shares_colours = Frame.covering(maps), are_as_long(maps)
    for (side, measured, latencies), cells in zip(chosen, maps, strict=True):
        lines = {name: quantile_steps(latencies, cells.intervals_per_column, q) for name, q in _LINES.items()}
        own = frame if shares_colours else replace(frame, most=int(cells.count.max()))
        result = measured.result
        spread = result.response_ns if series == "response" and result.response_ns else result.latency_ns
        scale = "" if shares_colours else " The columns of the maps are of different lengths: each has its own colours."
        yield Figure(
            slug=f"{slug}-{words.replace(' ', '-')}-{side.letter.lower()}",
            title=f"{title}: {words} over time, {side.letter}",
            caption=f"Run {measured.name}, {_why(side, label)}. The stronger the colour, the more operations; blank: none."
            f" Pale: outside the window. Axes are those of the other sides.{scale}",
            alt_text=f"Heat map of the {words} of {title}, {side.name}, run {measured.name}:"
            f" {int(latencies.count.sum()):,} operations; in the window p50 is {format_ns(spread.p50)},"
            f" p99 {format_ns(spread.p99)}, {trust_words(result)}.",
            chart=chart(
                cells,
                lines,
                measured.recording.marks_in(result),
                axis_title=words,
                window_s=result.window_s,
                frame=own,
            ),
            table=_table(latencies),
            is_dense=True,
        )


def middle(measured: Sequence[Measurement]) -> Measurement | None:
    """Choose the measurement whose rate is the middle one, of those that count."""
    rated = sorted(
        (one for one in measured if one.counts and one.result.iops is not None), key=lambda one: one.result.iops or 0.0
    )
    return rated[(len(rated) - 1) // 2] if rated else None


def _why(side: ComparedSide, label: str) -> str:
    counted = sum(one.counts for one in side.measured(label))
    return "the only one that counts" if counted == 1 else f"whose rate is the middle one of the {counted} that count"


def are_as_long(maps: Sequence[Cells]) -> bool:
    """Whether a cell counts the operations of as long a time in all maps."""
    lengths = [float(np.median(np.diff(each.edges_s))) for each in maps]
    return max(lengths) - min(lengths) <= _AS_LONG * max(lengths)


def _table(latencies: Latencies) -> Table:
    """Give percentiles over time, gathered to a number of rows that can be read."""
    intervals = len(latencies.edges_s) - 1
    by = max(-(-intervals // _MOST_ROWS), 1)
    rows = []
    for first in range(0, intervals, by):
        stop = min(first + by, intervals)
        inside = latencies.between(first, stop)
        value, count = latencies.value_ns[inside], latencies.count[inside]
        found = quantiles_ns(value, count, _LINES.values())
        slowest = float((value + latencies.width_ns[inside] / 2).max()) if len(value) else None
        rows.append(
            (
                span_s(float(latencies.edges_s[first]), float(latencies.edges_s[stop])),
                f"{int(count.sum()):,}",
                *map(format_ns, found),
                ABSENT if slowest is None else f"≤ {format_ns(slowest)}",
            )
        )
    return Table(("Interval", "Operations", "p50", "p99", "Slowest"), tuple(rows))
