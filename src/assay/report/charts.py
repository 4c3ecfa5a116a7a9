"""The figures of one result: throughput over time, and the latency heat map.

Each function is pure and gives an Altair chart. Times are seconds since the start of the phase; latency axes are
logarithmic, throughput starts at zero. What lies outside the window that the numbers are from is grey.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.report import theme
from assay.report.axes import (
    LATENCY_LABEL,
    Layered,
    decades_around,
    linear_ticks,
    log_ticks,
    numeric_csv,
    records,
    spread,
)
from assay.report.heat import Cells, Step
from assay.report.numbers import headline, span_s
from assay.report.rates import Rates
from assay.report.recording import NumberedMark
from assay.report.stack import alt
from assay.report.verdict import stands
from assay.results import Result
from assay.units import format_number

TIMELINE_HEIGHT_PX = 180
HEAT_MAP_HEIGHT_PX = 240
_LABEL_ROOM = 1.07
"""The time axis is longer than the phase by this factor: end labels stand in the room that this leaves."""
_OVERLAP = 1.06
"""Neighbouring cells overlap by 6 %, or hairlines of paper show between them (METHOD 6.2, lesson 1)."""
_OVERLAP_OF_AXIS = 0.0015
"""No more than about a pixel: a few wide columns must not seem to last longer than they did."""


def throughput_timeline(series: Rates, result: Result, marks: Sequence[NumberedMark] = ()) -> Layered:
    """Draw the rate in every interval, the window that the result is from, and the result as a line across it."""
    end_s = float(series.end_s[-1])
    top = 1.18 * max(float(series.highest.max()), headline(result)[0] or 0.0, 1e-9)
    x = _time_axis(end_s)
    y = alt.Y(
        "rate:Q",
        title=series.unit.label,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(tickCount=4, format=",~r"),
    )
    layers = _window(result, top, x)
    if series.is_gathered:
        layers.append(_extremes(series, x, y))
    layers += _steps(series, None, theme.OUTSIDE, x, y)
    layers += _steps(series, result.window_s, theme.MEASURED, x, y)
    layers += _result_line(series, result, top, x)
    layers += _marks(marks, x)
    return Layered(layers, TIMELINE_HEIGHT_PX)


def latency_heat_map(
    cells: Cells, lines: dict[str, list[Step]], marks: Sequence[NumberedMark] = (), *, axis_title: str = "latency"
) -> Layered:
    """Draw how many operations took how long when, with percentile lines over it; empty is white."""
    low = 10.0 ** (float(cells.band.min()) / cells.bands_per_decade)
    high = 10.0 ** ((float(cells.band.max()) + 1) / cells.bands_per_decade)
    if high / low < 10:
        low, high = decades_around(low, high)
    x = _time_axis(float(cells.edges_s[-1]))
    y = alt.Y(
        "low:Q",
        title=axis_title,
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=log_ticks(low, high), labelExpr=LATENCY_LABEL, grid=True),
    )
    layers: list[alt.Chart] = [
        _cells(cells, x, y),
        *_percentile_lines(lines, (low, high), x, y),
        *_marks(marks, x),
    ]
    return Layered(layers, HEAT_MAP_HEIGHT_PX)


def _time_axis(end_s: float) -> alt.X:
    return alt.X(
        "t_s:Q",
        title="seconds since the start of the phase",
        scale=alt.Scale(domain=[0, end_s * _LABEL_ROOM], nice=False),
        axis=alt.Axis(values=linear_ticks(end_s), grid=False),
    )


def _window(result: Result, top: float, x: alt.X) -> list[alt.Chart]:
    start_s, end_s = result.window_s
    data = records([{"t_s": start_s, "end_s": end_s, "rate": top, "label": f"window {span_s(start_s, end_s)}"}])
    base = alt.Chart(data)
    tint = base.mark_rect(color=theme.WINDOW_TINT).encode(x=x, x2=alt.X2("end_s:Q"))
    label = base.mark_text(align="left", baseline="top", dx=4, dy=3, color=theme.MUTED_INK, fontSize=10)
    return [tint, label.encode(x=x, y=alt.Y("rate:Q"), text=alt.Text("label:N"))]


def _steps(series: Rates, window_s: tuple[float, float] | None, colour: str, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    start, end, mean = series.start_s, series.end_s, series.mean
    if window_s is not None:
        inside = series.inside(window_s)
        start, end, mean = start[inside], end[inside], mean[inside]
    # The last step needs a second point, or it would have no length.
    data = numeric_csv({"t_s": [*start, *end[-1:]], "rate": [*mean, *mean[-1:]]})
    area = alt.Chart(data).mark_area(interpolate="step-after", color=colour, opacity=0.18)
    line = alt.Chart(data).mark_line(interpolate="step-after", color=colour, strokeWidth=1.8)
    tooltip = [alt.Tooltip("t_s:Q", title="from, s", format=".2f"), alt.Tooltip("rate:Q", title=series.unit.label)]
    return [area.encode(x=x, y=y), line.encode(x=x, y=y, tooltip=tooltip)]


def _extremes(series: Rates, x: alt.X, y: alt.Y) -> alt.Chart:
    data = numeric_csv({"t_s": series.start_s, "rate": series.lowest, "highest": series.highest})
    band = alt.Chart(data).mark_area(interpolate="step-after", color=theme.OUTSIDE, opacity=0.35)
    drawn: alt.Chart = band.encode(x=x, y=y, y2=alt.Y2("highest:Q"))
    return drawn


def _result_line(series: Rates, result: Result, top: float, x: alt.X) -> list[alt.Chart]:
    value, unit = headline(result)
    if value is None or unit != series.unit:
        return []
    text = f"{format_number(value)} {unit.label}" + ("" if stands(result) else ", not to be trusted")
    row = {"t_s": result.window_s[0], "end_s": result.window_s[1], "rate": value, "label": text}
    base = alt.Chart(records([row])).encode(x=x, y=alt.Y("rate:Q"))
    rule = base.mark_rule(color=theme.INK, strokeDash=[5, 3]).encode(x2=alt.X2("end_s:Q"))
    # Below the line stand only pale areas; a value near zero has no room there.
    below: dict[str, Any] = {"baseline": "top", "dy": 5} if value > 0.2 * top else {"baseline": "bottom", "dy": -4}
    place: dict[str, Any] = {"align": "left", "dx": 6, "fontWeight": "bold"} | below
    halo = base.mark_text(stroke=theme.PAPER, strokeWidth=3, strokeJoin="round", **place).encode(
        text=alt.Text("label:N")
    )
    return [rule, halo, base.mark_text(color=theme.INK, **place).encode(text=alt.Text("label:N"))]


def _cells(cells: Cells, x: alt.X, y: alt.Y) -> alt.Chart:
    start, end = cells.edges_s[:-1], cells.edges_s[1:]
    span_s = float(cells.edges_s[-1])
    right = np.minimum(end + np.minimum((_OVERLAP - 1) * (end - start), _OVERLAP_OF_AXIS * span_s), span_s)
    data = numeric_csv(
        {"t_s": start[cells.column], "right": right[cells.column], "band": cells.band, "operations": cells.count}
    )
    most = int(cells.count.max())
    legend_values = [10**power for power in range(math.floor(math.log10(most)) + 1)]
    colour = alt.Color(
        "operations:Q",
        scale=alt.Scale(type="log", domain=[1, max(most, 10)], range=list(theme.HEAT_RANGE)),
        legend=alt.Legend(
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
        alt.Tooltip("t_s:Q", title="from, s", format=".2f"),
        alt.Tooltip("low:Q", title="latency from, ns", format=",.3~r"),
        alt.Tooltip("operations:Q", format=","),
    ]
    drawn: alt.Chart = (
        alt.Chart(data)
        .transform_calculate(
            low=f"pow(10, datum.band / {cells.bands_per_decade})",
            high=f"pow(10, (datum.band + {_OVERLAP}) / {cells.bands_per_decade})",
        )
        .mark_rect(clip=True)
        .encode(x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("high:Q"), color=colour, tooltip=tooltip)
    )
    return drawn


def _percentile_lines(lines: dict[str, list[Step]], domain: tuple[float, float], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    drawn = {name: steps for name, steps in lines.items() if steps}
    heights = [math.log10(steps[-1].value_ns) for steps in drawn.values()]
    apart = 15 / HEAT_MAP_HEIGHT_PX * math.log10(domain[1] / domain[0])
    layers: list[alt.Chart] = []
    labels = []
    for (name, steps), height in zip(drawn.items(), spread(heights, apart), strict=True):
        colour = theme.PERCENTILE_COLOURS[name]
        line = alt.Chart(numeric_csv(_unbroken(steps))).encode(x=x, y=y, detail=alt.Detail("piece:N"))
        for ink, width in ((theme.HALO, 3.6), (colour, 1.8)):
            layers.append(line.mark_line(interpolate="step-after", color=ink, strokeWidth=width, clip=True))
        labels.append({"t_s": steps[-1].end_s, "low": 10.0**height, "label": name, "ink": colour})
    base = alt.Chart(records(labels)).encode(x=x, y=y, text=alt.Text("label:N"))
    place: dict[str, Any] = {"align": "left", "baseline": "middle", "dx": 5, "fontWeight": "bold"}
    layers.append(base.mark_text(stroke=theme.HALO, strokeWidth=3, strokeJoin="round", **place))
    layers.append(base.mark_text(**place).encode(color=alt.Color("ink:N", scale=None)))
    return layers if drawn else []


def _unbroken(steps: Sequence[Step]) -> dict[str, list[float]]:
    # Each piece without a gap is a line of its own, with a second point for its last step.
    columns: dict[str, list[float]] = {"t_s": [], "low": [], "piece": []}
    piece = 0
    for i, step in enumerate(steps):
        ends_here = i + 1 == len(steps) or steps[i + 1].start_s > step.end_s
        for t_s in (step.start_s, step.end_s) if ends_here else (step.start_s,):
            for name, value in (("t_s", t_s), ("low", step.value_ns), ("piece", piece)):
                columns[name].append(value)
        piece += ends_here
    return columns


def _marks(marks: Sequence[NumberedMark], x: alt.X) -> list[alt.Chart]:
    if not marks:
        return []
    base = alt.Chart(records({"t_s": mark.t_s, "label": str(mark.number)} for mark in marks)).encode(x=x)
    rule = base.mark_rule(color=theme.MARK, strokeWidth=1.2)
    place: dict[str, Any] = {"align": "left", "baseline": "top", "dx": 3, "y": 2, "fontWeight": "bold"}
    halo = base.mark_text(stroke=theme.PAPER, strokeWidth=3, **place).encode(text=alt.Text("label:N"))
    return [rule, halo, base.mark_text(color=theme.MARK, **place).encode(text=alt.Text("label:N"))]
