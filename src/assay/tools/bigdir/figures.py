"""The figure of bigdir: a time over the number of entries, with the range of the clients and the changes of level."""

import numpy as np

from assay.analysis.arrays import FloatArray
from assay.analysis.statistics.levels import SHORTEST_PIECE, find_levels
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, numeric_csv, records
from assay.report.figure import Figure, Table
from assay.units import format_ns

_HEIGHT_PX = 220
_MOST_POINTS = 500
"""Neighbouring steps of longer runs are gathered into one point."""


def growth_figure(name: str, series: FloatArray, *, step: int, words: str, until: int | None) -> Figure:
    """Draw one time.

    Args:
        name: What is timed.
        series: In ns, shape (clients, steps).
        step: Entries of a step.
        words: The description of its changes.
        until: Entries up to which all clients were at work; None for a single client.
    """
    clients, count = series.shape
    by = -(-count // _MOST_POINTS)
    edges = np.arange(0, count, by)
    last = np.append(edges[1:], count)
    low = np.minimum.reduceat(series.min(axis=0), edges)
    high = np.maximum.reduceat(series.max(axis=0), edges)
    mean = np.add.reduceat(series.mean(axis=0), edges) / (last - edges)
    entries = step * last
    return Figure(
        slug="bigdir-" + "-".join(name.replace("_", " ").split()),
        title=f"Time of {name} by entries in the directory",
        caption=_caption(clients, by, until) + " " + words,
        alt_text=f"Line of the time of {name} from {format_ns(float(mean[0]))} at {entries[0]} entries to"
        f" {format_ns(float(mean[-1]))} at {entries[-1]}. {words}",
        chart=Layered([*_curve(entries, low, mean, high), *_rules(_edges(series, step), until)], _HEIGHT_PX),
        table=Table(
            ("Entries", "Fastest", "Mean", "Slowest"),
            tuple(
                (f"{at}", *(format_ns(float(value)) for value in values))
                for at, *values in zip(entries.tolist(), low, mean, high, strict=True)
            ),
        ),
    )


def _edges(series: FloatArray, step: int) -> list[int]:
    if series.shape[1] < 2 * SHORTEST_PIECE:
        return []
    return [level.end * step for level in find_levels(series.mean(axis=0)).levels[:-1]]


def _caption(clients: int, by: int, until: int | None) -> str:
    band = f"Line: mean of {clients} clients; band: fastest to slowest." if clients > 1 else "Line: mean of each step."
    if by > 1:
        band += f" A point gathers {by} steps; the band spans the fastest and slowest of them."
    if until is not None:
        band += f" Up to {until} entries (grey line) all clients were at work."
    return band + " Dashed: where the level changes."


def _curve(
    entries: "np.typing.NDArray[np.int64]", low: FloatArray, mean: FloatArray, high: FloatArray
) -> list[vl.Chart]:
    top = 1.1 * float(high.max()) / 1e3
    y = vl.Y(
        "mean:Q",
        title="µs",
        scale=vl.Scale(domain=[0, top], nice=False),
        axis=vl.Axis(values=linear_ticks(top, 5), format=",~r"),
    )
    end = float(entries[-1])
    x = vl.X(
        "entries:Q",
        title="entries in the directory",
        scale=vl.Scale(domain=[0, end], nice=False),
        axis=vl.Axis(values=linear_ticks(end), format=",~r", grid=False),
    )
    data = numeric_csv({"entries": entries, "low": low / 1e3, "mean": mean / 1e3, "high": high / 1e3})
    base = vl.Chart(data)
    band = base.mark_area(color=theme.MEASURED, opacity=0.18).encode(x=x, y=vl.Y("low:Q", title="µs"), y2="high:Q")
    mark = base.mark_line(color=theme.MEASURED, strokeWidth=1.8) if len(entries) > 1 else base.mark_point(filled=True)
    return [band, mark.encode(x=x, y=y)]


def _rules(changes: list[int], until: int | None) -> list[vl.Chart]:
    drawn: list[vl.Chart] = []
    for places, ink, dash in (
        (changes, theme.INK, [5, 3]),
        ([until] if until is not None else [], theme.OUTSIDE, [1, 0]),
    ):
        if places:
            rows = records([{"entries": place} for place in places])
            drawn.append(vl.Chart(rows).mark_rule(color=ink, strokeDash=dash).encode(x=vl.X("entries:Q")))
    return drawn
