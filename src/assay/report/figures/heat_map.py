"""Draw the latency of one result over time: how many operations took how long, and when.

Cells: HDR buckets (0.1 %) are gathered into logarithmic bands and, in long runs, neighbouring intervals into columns,
until no more cells than asked for are left; every operation is counted in exactly one cell.

Lines: a percentile q is only stated from at least 10 / (1 - q) operations (METHOD 2.5), so each step of a line covers
as many columns as give that many. No step begins in a column without operations: there the line has a gap.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.histogram import QUANTILES, quantiles_ns, samples_needed
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import LATENCY_LABEL, Layered, decades_covering, dense_log_ticks, numeric_csv, records, spread
from assay.report.figure import Figure, Table
from assay.report.numbers import span_s
from assay.report.over_time import SAME_LEFT_EDGE, mark_lines, outside_window, time_axis
from assay.report.recording import Latencies, NumberedMark, OneResult
from assay.report.titles import slug_of
from assay.report.verdict import trust_words
from assay.results import Result
from assay.units import ABSENT, format_ns

MAX_CELLS = 5000
"""METHOD 6.2, lesson 7: above this a figure gets heavy."""
MAX_COLUMNS = 150
BANDS_PER_DECADE = (16, 8)
HEIGHT_PX = 240
_CELLS_IN_ALL = 60_000
"""Over all heat maps of a report, so that a run of many repeats stays a file that can be mailed."""
_LINES = {name: QUANTILES[name] for name in ("p50", "p99")}
_OVERLAP = 1.06
"""Neighbouring cells overlap by 6 %, or hairlines of paper show between them (METHOD 6.2, lesson 1)."""
_OVERLAP_OF_AXIS = 0.0015
"""No more than about a pixel: a few wide columns must not seem to last longer than they did."""


def draw(one: OneResult) -> Iterator[Figure]:
    """Draw latency and, of an open loop, response time; nothing where the run has no intervals of it."""
    result = one.result
    most = min(MAX_CELLS, _CELLS_IN_ALL // max(len(one.results), 1))
    for kind, words in (("latency", "latency"), ("response", "response time")):
        latencies = one.recording.latencies(result, kind)
        if latencies is None:
            continue
        gathered = cells(latencies, most)
        lines = {label: quantile_steps(latencies, gathered.intervals_per_column, q) for label, q in _LINES.items()}
        yield Figure(
            slug=f"{one.slug}-{slug_of(words)}",
            title=f"{one.name}: {words} over time",
            caption=_caption(gathered, words),
            alt_text=_words(latencies, result, one.name, words),
            chart=chart(gathered, lines, one.marks, axis_title=words, window_s=result.window_s),
            table=_table(latencies, gathered),
            is_dense=True,
            is_over_time=True,
        )


# -- series ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cells:
    """The filled cells; arrays of shape `(cells,)`."""

    bands_per_decade: int
    intervals_per_column: int
    edges_s: FloatArray
    """Start of the first column and end of each."""
    column: IntArray
    band: IntArray
    """Band b holds latencies from 10 ** (b / bands_per_decade) ns up to the next band's start."""
    count: IntArray


@dataclass(frozen=True, slots=True)
class Step:
    """A percentile of the operations that completed in [start_s, end_s)."""

    start_s: float
    end_s: float
    value_ns: float
    ops: int


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a map, and its scale of colours: maps in one frame can be held against each other."""

    end_s: float
    low_ns: float
    high_ns: float
    most: int
    """Operations of the darkest cell."""

    @classmethod
    def covering(cls, maps: Sequence[Cells]) -> "Frame":
        """Enclose maps whose cells are of one size."""
        low = min(10.0 ** (float(each.band.min()) / each.bands_per_decade) for each in maps)
        high = max(10.0 ** ((float(each.band.max()) + 1) / each.bands_per_decade) for each in maps)
        if high / low < 10:
            low, high = decades_covering(low, high)
        return cls(
            max(float(each.edges_s[-1]) for each in maps), low, high, max(int(each.count.max()) for each in maps)
        )


def cells(latencies: Latencies, max_cells: int = MAX_CELLS) -> Cells:
    """Gather a histogram into at most `max_cells` cells, finest bands first, then wider columns."""
    return cells_alike([latencies], max_cells)[0]


def cells_alike(several: Sequence[Latencies], max_cells: int = MAX_CELLS) -> list[Cells]:
    """Gather histograms into at most `max_cells` cells each, all by the same bands and as many intervals to a column."""
    intervals = max(1, *(len(latencies.edges_s) - 1 for latencies in several))
    merge = math.ceil(intervals / MAX_COLUMNS)
    for bands_per_decade in BANDS_PER_DECADE:
        gathered = [_gather(latencies, bands_per_decade, merge) for latencies in several]
        if max(len(each.count) for each in gathered) <= max_cells:
            return gathered
    while max(len(each.count) for each in gathered) > max_cells and merge < intervals:
        merge += 1
        gathered = [_gather(latencies, BANDS_PER_DECADE[-1], merge) for latencies in several]
    return gathered


def quantile_steps(latencies: Latencies, intervals_per_column: int, q: Fraction) -> list[Step]:
    """Follow a percentile over time in steps of whole columns; a remainder with too few operations is not drawn."""
    intervals = len(latencies.edges_s) - 1
    per_interval = np.bincount(latencies.interval, weights=latencies.count, minlength=intervals)
    steps: list[Step] = []
    first = 0
    for next_start in [*range(intervals_per_column, intervals, intervals_per_column), intervals]:
        gathered = int(per_interval[first:next_start].sum())
        if gathered == 0:
            # A step that spanned a stall would claim a latency for a time in which nothing was completed.
            first = next_start
        if gathered < samples_needed(q):
            continue
        inside = latencies.between(first, next_start)
        (value_ns,) = quantiles_ns(latencies.value_ns[inside], latencies.count[inside], (q,))
        if value_ns is not None:
            edges = latencies.edges_s
            steps.append(Step(float(edges[first]), float(edges[next_start]), value_ns, gathered))
        first = next_start
    return steps


def _gather(latencies: Latencies, bands_per_decade: int, merge: int) -> Cells:
    column = latencies.interval // merge
    # A latency of 0 ns (below the clock's step) has no logarithm and goes into the lowest band.
    band = np.floor(np.log10(np.maximum(latencies.value_ns, 1.0)) * bands_per_decade).astype(np.int64)
    order = np.lexsort((band, column))
    column, band = column[order], band[order]
    first = np.flatnonzero(np.append(True, (np.diff(column) != 0) | (np.diff(band) != 0))[: len(column)])
    count = np.add.reduceat(latencies.count[order], first) if len(first) else latencies.count[order]
    last = latencies.edges_s[-1:]
    edges = latencies.edges_s[:-1:merge] if len(latencies.edges_s) > 1 else latencies.edges_s
    return Cells(
        bands_per_decade=bands_per_decade,
        intervals_per_column=merge,
        edges_s=np.concatenate([edges, last]),
        column=column[first],
        band=band[first],
        count=count,
    )


# -- words -------------------------------------------------------------------------------------------------------------


def _caption(gathered: Cells, words: str) -> str:
    text = (
        f"The stronger the colour, the more operations in that interval with that {words}; blank: none. Pale: outside the"
        " window."
    )
    if gathered.intervals_per_column > 1:
        text += f" A column gathers {gathered.intervals_per_column} intervals."
    p50, p99 = (samples_needed(q) for q in _LINES.values())
    return text + (
        f" Each step of the p50 line needs {p50} operations, of the p99 line {p99:,};"
        " where intervals have fewer, a step spans several."
    )


def _words(latencies: Latencies, result: Result, name: str, words: str) -> str:
    low, high = float(latencies.value_ns.min()), float(latencies.value_ns.max())
    spread = result.response_ns if words != "latency" and result.response_ns else result.latency_ns
    return (
        f"Heat map of the {words} of {name}: {int(latencies.count.sum()):,} operations between {format_ns(low)} and"
        f" {format_ns(high)}. In the window p50 is {format_ns(spread.p50)}, p99 {format_ns(spread.p99)},"
        f" {trust_words(result)}."
    )


def _table(latencies: Latencies, gathered: Cells) -> Table:
    decade = np.floor(np.log10(np.maximum(latencies.value_ns, 1.0))).astype(int)
    decades = range(int(decade.min()), int(decade.max()) + 1)
    by = gathered.intervals_per_column
    rows = []
    for i, (start, end) in enumerate(zip(gathered.edges_s[:-1], gathered.edges_s[1:], strict=True)):
        mine = latencies.between(i * by, (i + 1) * by)
        value, count = latencies.value_ns[mine], latencies.count[mine]
        found = np.bincount(decade[mine] - decades[0], weights=count, minlength=len(decades))
        in_decades = map(round, found.tolist())
        slowest = float((value + latencies.width_ns[mine] / 2).max()) if len(value) else None
        percentiles = map(format_ns, quantiles_ns(value, count, _LINES.values()))
        rows.append((span_s(start, end), *percentiles, _at_most(slowest), *(f"{n:,}" for n in in_decades)))
    heads = (f"{format_ns(10.0**power)} to {format_ns(10.0 ** (power + 1))}" for power in decades)
    return Table(("Interval", "p50", "p99", "Slowest", *heads), tuple(rows))


def _at_most(value_ns: float | None) -> str:
    return ABSENT if value_ns is None else f"≤ {format_ns(value_ns)}"


# -- chart -------------------------------------------------------------------------------------------------------------


def chart(
    cells: Cells,
    lines: dict[str, list[Step]],
    marks: Sequence[NumberedMark] = (),
    *,
    axis_title: str = "latency",
    window_s: tuple[float, float] | None = None,
    frame: Frame | None = None,
) -> Layered:
    """Draw how many operations took how long when, with percentile lines; empty is white, outside the window pale."""
    frame = frame or Frame.covering([cells])
    low, high = frame.low_ns, frame.high_ns
    x = time_axis(frame.end_s)
    y = vl.Y(
        "low:Q",
        title=axis_title,
        scale=vl.Scale(type="log", domain=[low, high], nice=False),
        axis=vl.Axis(
            values=dense_log_ticks(low, high, HEIGHT_PX), labelExpr=LATENCY_LABEL, grid=True, **SAME_LEFT_EDGE
        ),
    )
    layers: list[vl.Chart] = [
        _cells(cells, frame.most, x, y),
        *(outside_window(window_s, float(cells.edges_s[-1]), x) if window_s else ()),
        *_percentile_lines(lines, (low, high), x, y),
        *mark_lines(marks, x),
    ]
    return Layered(layers, HEIGHT_PX)


def _cells(cells: Cells, most: int, x: vl.X, y: vl.Y) -> vl.Chart:
    start, end = cells.edges_s[:-1], cells.edges_s[1:]
    span_s = float(cells.edges_s[-1])
    right = np.minimum(end + np.minimum((_OVERLAP - 1) * (end - start), _OVERLAP_OF_AXIS * span_s), span_s)
    data = numeric_csv(
        {"t_s": start[cells.column], "right": right[cells.column], "band": cells.band, "operations": cells.count}
    )
    top = int(cells.band.max()) + 1
    legend_values = [10**power for power in range(math.floor(math.log10(most)) + 1)]
    colour = vl.Color(
        "operations:Q",
        scale=vl.Scale(type="log", domain=[1, max(most, 10)], range=list(theme.HEAT_RANGE)),
        legend=vl.Legend(
            title=f"operations in a cell, {most:,} at most",
            orient="top",
            direction="horizontal",
            values=legend_values,
            format=",~r",
            titleLimit=0,
            gradientLength=200,
            gradientThickness=8,
        ),
    )
    tooltip = [
        vl.Tooltip("t_s:Q", title="from, s", format=".2f"),
        vl.Tooltip("low:Q", title="latency from, ns", format=",.3~r"),
        vl.Tooltip("operations:Q", format=","),
    ]
    drawn: vl.Chart = (
        vl.Chart(data)
        .transform_calculate(
            low=f"pow(10, datum.band / {cells.bands_per_decade})",
            high=f"pow(10, min(datum.band + {_OVERLAP}, {top}) / {cells.bands_per_decade})",
        )
        # No cell and no line reaches beyond the axes: clipping them would take most of the time of a PNG.
        .mark_rect()
        .encode(x=x, x2="right:Q", y=y, y2="high:Q", color=colour, tooltip=tooltip)
    )
    return drawn


def _percentile_lines(lines: dict[str, list[Step]], domain: tuple[float, float], x: vl.X, y: vl.Y) -> list[vl.Chart]:
    drawn = {name: steps for name, steps in lines.items() if steps}
    heights = [math.log10(steps[-1].value_ns) for steps in drawn.values()]
    apart = 15 / HEIGHT_PX * math.log10(domain[1] / domain[0])
    layers: list[vl.Chart] = []
    labels = []
    for (name, steps), height in zip(drawn.items(), spread(heights, apart), strict=True):
        colour = theme.PERCENTILE_COLOURS[name]
        line = vl.Chart(numeric_csv(_unbroken(steps))).encode(x=x, y=y, detail="piece:N")
        for ink, width in ((theme.HALO, 3.6), (colour, 1.8)):
            layers.append(line.mark_line(interpolate="step-after", color=ink, strokeWidth=width))
        labels.append({"t_s": steps[-1].end_s, "low": 10.0**height, "label": name, "ink": colour})
    base = vl.Chart(records(labels)).encode(x=x, y=y, text=vl.Text("label:N"))
    place: dict[str, Any] = {"align": "left", "baseline": "middle", "dx": 5, "fontWeight": "bold"}
    layers.append(base.mark_text(stroke=theme.HALO, strokeWidth=3, strokeJoin="round", **place))
    layers.append(base.mark_text(**place).encode(color=vl.Color("ink:N", scale=None)))
    return layers if drawn else []


def _unbroken(steps: Sequence[Step]) -> dict[str, list[float]]:
    # Each piece without a gap is a line of its own, with a second point for its last step.
    columns: dict[str, list[float]] = {"t_s": [], "low": [], "piece": []}
    piece = 0
    for i, step in enumerate(steps):
        ends_here = i + 1 == len(steps) or steps[i + 1].start_s > step.end_s
        for t_s in (step.start_s, step.end_s) if ends_here else (step.start_s,):
            for name, value in (("t_s", t_s), ("low", max(step.value_ns, 1.0)), ("piece", piece)):
                columns[name].append(value)
        piece += ends_here
    return columns
