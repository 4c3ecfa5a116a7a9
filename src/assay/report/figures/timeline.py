"""Draw the throughput of one result over time.

A rate over a few milliseconds is noise, so a last interval of less than half the grid joins its neighbour. Long runs
are gathered; the lowest and highest interval of each gathered step are kept, so that a stall does not vanish.
Throughput starts at zero; what lies outside the window that the numbers are from is grey.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.arrays import FloatArray, IntArray
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, numeric_csv, records
from assay.report.figure import Figure, Table
from assay.report.numbers import RateUnit, is_with_flush, rate, rate_unit, span_s, window_rate
from assay.report.over_time import SAME_LEFT_EDGE, mark_lines, time_axis
from assay.report.recording import NumberedMark, OneResult, Timeline
from assay.report.verdict import is_usable, trust_words
from assay.results import Result
from assay.units import format_number

MAX_STEPS = 600
HEIGHT_PX = 180


def draw(one: OneResult) -> Iterator[Figure]:
    """Draw the rate in every interval; nothing where the run has no intervals of it."""
    timeline, result = one.recording.timeline(one.result), one.result
    if timeline is None:
        return
    series = rates(timeline, rate_unit(result))
    yield Figure(
        slug=f"{one.slug}-throughput",
        title=f"{one.name}: throughput over time",
        caption=_caption(series, result),
        alt_text=_words(series, result, one.name),
        chart=chart(series, result, one.marks),
        table=_table(series, result),
        is_over_time=True,
    )


# -- series ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rates:
    """Rate over time in steps, in one unit; arrays of shape `(steps,)`."""

    unit: RateUnit
    start_s: FloatArray
    end_s: FloatArray
    mean: FloatArray
    lowest: FloatArray
    highest: FloatArray
    is_gathered: bool

    def inside(self, window_s: tuple[float, float] | None) -> IntArray:
        """Return the steps whose middle is in a window; none if the window is unknown."""
        if window_s is None:
            return np.zeros(0, np.int64)
        middle = (self.start_s + self.end_s) / 2
        return np.flatnonzero((middle >= window_s[0]) & (middle <= window_s[1])).astype(np.int64)


def rates(timeline: Timeline, unit: RateUnit, most_steps: int = MAX_STEPS) -> Rates:
    """Turn work per interval into rates of at most `most_steps` steps."""
    work = (timeline.bytes if unit.of_bytes else timeline.ops).astype(np.float64) / unit.per_unit
    start, end, work = _join_short_end(timeline.start_s, timeline.end_s, work)
    each = work / (end - start)
    merge = max(math.ceil(len(work) / most_steps), 1)
    firsts = np.arange(0, len(work), merge)
    if len(work) == 0:
        return Rates(unit, start, end, each, each, each, is_gathered=False)
    lasts = np.append(firsts[1:], len(work)) - 1
    return Rates(
        unit=unit,
        start_s=start[firsts],
        end_s=end[lasts],
        mean=np.add.reduceat(work, firsts) / (end[lasts] - start[firsts]),
        lowest=np.minimum.reduceat(each, firsts),
        highest=np.maximum.reduceat(each, firsts),
        is_gathered=merge > 1,
    )


def _join_short_end(start: FloatArray, end: FloatArray, work: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    length = end - start
    if len(work) < 2 or length[-1] >= 0.5 * np.median(length):
        return start, end, work
    return start[:-1], np.append(end[:-2], end[-1]), np.append(work[:-2], work[-2] + work[-1])


# -- words -------------------------------------------------------------------------------------------------------------


def _caption(series: Rates, result: Result) -> str:
    text = "Each step is the mean over one interval; the dashed line is the result."
    if series.is_gathered:
        text += " Each step gathers several intervals of this long run; the band spans the slowest and fastest of them."
    if len(series.inside(result.window_s)) < len(series.mean):
        text += " Blue: inside the window that the result is from. Grey: outside it, not counted."
    return text


def _words(series: Rates, result: Result, name: str) -> str:
    value, unit = window_rate(result)
    words = f"Throughput of {name} over {format_number(float(series.end_s[-1]))} seconds. "
    inside = series.inside(result.window_s)
    if len(inside) and result.window_s is not None:
        slowest = int(inside[np.argmin(series.lowest[inside])])
        words += (
            f"In the window {span_s(*result.window_s)} intervals lie between {rate(float(series.lowest[slowest]), unit)}"
            f" and {rate(float(series.highest[inside].max()), unit)}, the lowest at {series.start_s[slowest]:.2f} s. "
        )
    return words + f"Result: {rate(value, unit)}, {trust_words(result)}."


def _table(series: Rates, result: Result) -> Table:
    inside = set(series.inside(result.window_s).tolist())
    rows = [
        (span_s(start, end), format_number(mean), "yes" if i in inside else "no")
        for i, (start, end, mean) in enumerate(zip(series.start_s, series.end_s, series.mean, strict=True))
    ]
    return Table(("Interval", series.unit.label, "In the window"), tuple(rows))


# -- chart -------------------------------------------------------------------------------------------------------------


def chart(series: Rates, result: Result, marks: Sequence[NumberedMark] = ()) -> Layered:
    """Draw the rate in every interval, the window that the result is from, and the result as a line across it."""
    end_s = float(series.end_s[-1])
    top = 1.18 * max(float(series.highest.max()), window_rate(result)[0] or 0.0, 1e-9)
    x = time_axis(end_s)
    y = vl.Y(
        "rate:Q",
        title=series.unit.label,
        scale=vl.Scale(domain=[0, top], nice=False),
        axis=vl.Axis(tickCount=4, format=",~r", **SAME_LEFT_EDGE),
    )
    layers = _window(result, top, x)
    if series.is_gathered:
        layers.append(_extremes(series, x, y))
    layers += _steps(series, None, theme.OUTSIDE, x, y)
    layers += _steps(series, result.window_s, theme.MEASURED, x, y)
    layers += _result_line(series, result, top, x)
    layers += mark_lines(marks, x)
    return Layered(layers, HEIGHT_PX)


def _window(result: Result, top: float, x: vl.X) -> list[vl.Chart]:
    if result.window_s is None:
        return []
    start_s, end_s = result.window_s
    data = records([{"t_s": start_s, "end_s": end_s, "rate": top, "label": f"window {span_s(start_s, end_s)}"}])
    base = vl.Chart(data)
    tint = base.mark_rect(color=theme.WINDOW_TINT).encode(x=x, x2="end_s:Q")
    label = base.mark_text(align="left", baseline="top", dx=4, dy=3, color=theme.MUTED_INK, fontSize=10)
    return [tint, label.encode(x=x, y=vl.Y("rate:Q"), text=vl.Text("label:N"))]


def _steps(series: Rates, window_s: tuple[float, float] | None, colour: str, x: vl.X, y: vl.Y) -> list[vl.Chart]:
    start, end, mean = series.start_s, series.end_s, series.mean
    if window_s is not None:
        inside = series.inside(window_s)
        start, end, mean = start[inside], end[inside], mean[inside]
    # The last step needs a second point, or it would have no length.
    data = numeric_csv({"t_s": [*start, *end[-1:]], "rate": [*mean, *mean[-1:]]})
    area = vl.Chart(data).mark_area(interpolate="step-after", color=colour, opacity=0.18)
    line = vl.Chart(data).mark_line(interpolate="step-after", color=colour, strokeWidth=1.8)
    tooltip = [vl.Tooltip("t_s:Q", title="from, s", format=".2f"), vl.Tooltip("rate:Q", title=series.unit.label)]
    return [area.encode(x=x, y=y), line.encode(x=x, y=y, tooltip=tooltip)]


def _extremes(series: Rates, x: vl.X, y: vl.Y) -> vl.Chart:
    data = numeric_csv({"t_s": series.start_s, "rate": series.lowest, "highest": series.highest})
    band = vl.Chart(data).mark_area(interpolate="step-after", color=theme.OUTSIDE, opacity=0.35)
    drawn: vl.Chart = band.encode(x=x, y=y, y2="highest:Q")
    return drawn


def _result_line(series: Rates, result: Result, top: float, x: vl.X) -> list[vl.Chart]:
    value, unit = window_rate(result)
    if value is None or unit != series.unit or result.window_s is None:
        return []
    text = rate(value, unit) + (" without the flush" if is_with_flush(result) else "")
    text += "" if is_usable(result) else ", not trusted"
    row = {"t_s": result.window_s[0], "end_s": result.window_s[1], "rate": value, "label": text}
    base = vl.Chart(records([row])).encode(x=x, y=vl.Y("rate:Q"))
    rule = base.mark_rule(color=theme.INK, strokeDash=[5, 3]).encode(x2="end_s:Q")
    # Only pale areas are below the line; a value near zero has no room there.
    below: dict[str, Any] = {"baseline": "top", "dy": 5} if value > 0.2 * top else {"baseline": "bottom", "dy": -4}
    place: dict[str, Any] = {"align": "left", "dx": 6, "fontWeight": "bold"} | below
    halo = base.mark_text(stroke=theme.PAPER, strokeWidth=3, strokeJoin="round", **place).encode(
        text=vl.Text("label:N")
    )
    return [rule, halo, base.mark_text(color=theme.INK, **place).encode(text=vl.Text("label:N"))]
