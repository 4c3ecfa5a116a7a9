"""Draw the throughput of one result over time for all runs: a line per run, in the colour of its side.

The whole phase is drawn, pale outside the window that each number is from. All lines have one number of intervals to a step.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.compare.arms import THROUGHPUT, rate_metric
from assay.report import vega_lite as vl
from assay.report.axes import Layered, names_above, numeric_csv
from assay.report.comparison.compared_runs import ComparedSide, Measurement, left_out_note
from assay.report.figure import Figure, Table, sentence
from assay.report.figures.timeline import Rates, rates
from assay.report.numbers import IOPS, MIB_PER_S, OPS_PER_S, RateUnit, rate, span_s
from assay.report.over_time import SAME_LEFT_EDGE, time_axis
from assay.report.verdict import trust_words
from assay.results import Result, moves_data
from assay.units import ABSENT

_HEIGHT_PX = 240
_LEAST_STEPS = 30


@dataclass(frozen=True)
class _Line:
    side: ComparedSide
    measured: Measurement
    series: Rates
    window_s: tuple[float, float]


def draw(sides: Sequence[ComparedSide], label: str, title: str, slug: str, most_steps: int) -> Iterator[Figure]:
    """Draw the rate of every run in every interval; nothing where no run has intervals of it.

    Args:
        sides: All of them.
        label: Of the result.
        title: Of the result, for people.
        slug: Of the result.
        most_steps: Of each line.
    """
    lines = _lines(sides, label, max(most_steps, _LEAST_STEPS))
    if not lines:
        return
    parts = [_cells(line) for line in lines]
    yield Figure(
        slug=f"{slug}-rates",
        title=f"{title}: throughput over time",
        caption=_caption(sides, lines, label),
        alt_text=f"Throughput of {title} over time, a line a run. "
        + sentence(f"{name}: {value}, intervals from {low} to {high}" for name, value, low, _, high, *_ in parts),
        chart=_chart(sides, lines),
        table=Table(
            ("Run", "Rate of the window", "Lowest interval of the window", "At", "Highest interval", "Window", "Trust"),
            tuple(parts),
        ),
    )


def _lines(sides: Sequence[ComparedSide], label: str, most_steps: int) -> list[_Line]:
    found = []
    for side in sides:
        for measured in side.measured(label):
            timeline = measured.recording.timeline(measured.result)
            window_s = measured.result.window_s
            if timeline is not None and window_s is not None:
                found.append((side, measured, timeline, window_s))
    if not found:
        return []
    unit = _unit([result for side in sides for result in side.results(label)])
    intervals = max(len(timeline.ops) for _, _, timeline, _ in found)
    merge = math.ceil(intervals / most_steps)
    return [
        _Line(side, measured, rates(timeline, unit, max(math.ceil(len(timeline.ops) / merge), 1)), window_s)
        for side, measured, timeline, window_s in found
    ]


def _unit(results: Sequence[Result]) -> RateUnit:
    """Choose one unit for all, as the comparison chooses one metric."""
    if rate_metric(results) is THROUGHPUT:
        return MIB_PER_S
    return IOPS if any(map(moves_data, results)) else OPS_PER_S


def _cells(line: _Line) -> tuple[str, ...]:
    series, result = line.series, line.measured.result
    value = series.unit.of(result.iops, result.throughput_bytes_per_s)
    name = f"{line.side.letter}, {line.measured.name}"
    inside = series.inside(line.window_s)
    window, trust = span_s(*line.window_s), trust_words(result)
    if not len(inside):
        return (name, rate(value, series.unit), ABSENT, ABSENT, ABSENT, window, trust)
    slowest = int(inside[np.argmin(series.lowest[inside])])
    return (
        name,
        rate(value, series.unit),
        rate(float(series.lowest[slowest]), series.unit),
        f"{series.start_s[slowest]:.2f} s",
        rate(float(series.highest[inside].max()), series.unit),
        window,
        trust,
    )


def _caption(sides: Sequence[ComparedSide], lines: Sequence[_Line], label: str) -> str:
    text = "A line a run, in the colour of its side; pale: outside the window that its number is from."
    if not all(line.measured.counts for line in lines):
        text += " Dotted: left out, because it is not trusted."
    if any(line.series.is_gathered for line in lines):
        text += " Each step is the mean over several intervals; the table has the lowest and the highest single one."
    return text + left_out_note(sides, label)


def _chart(sides: Sequence[ComparedSide], lines: Sequence[_Line]) -> Layered:
    top = 1.08 * max(1e-9, *(float(line.series.mean.max()) for line in lines))
    x = time_axis(max(float(line.series.end_s[-1]) for line in lines))
    y = vl.Y(
        "rate:Q",
        title=lines[0].series.unit.label,
        scale=vl.Scale(domain=[0, top], nice=False),
        axis=vl.Axis(tickCount=5, format=",~r", **SAME_LEFT_EDGE),
    )
    layers = []
    for is_inside, opacity, width in ((False, 0.3, 1.2), (True, 0.8, 1.6)):
        layers += [_drawn(line, x, y, opacity, width, is_inside=is_inside) for line in lines]
    shown = [side for side in sides if any(line.side is side for line in lines)]
    return Layered([*layers, *names_above([(side.name, side.ink) for side in shown])], _HEIGHT_PX)


def _drawn(line: _Line, x: vl.X, y: vl.Y, opacity: float, width: float, *, is_inside: bool) -> vl.Chart:
    series = line.series
    start, end, mean = series.start_s, series.end_s, series.mean
    if is_inside:
        inside = series.inside(line.window_s)
        start, end, mean = start[inside], end[inside], mean[inside]
    # The last step needs a second point, or it would have no length.
    data = numeric_csv({"t_s": [*start, *end[-1:]], "rate": [*mean, *mean[-1:]]})
    name, value, *_ = _cells(line)
    mark = vl.Chart(data).mark_line(
        interpolate="step-after",
        color=line.side.ink,
        strokeWidth=width,
        strokeDash=[1, 0] if line.measured.counts else [2, 3],
        opacity=opacity,
        tooltip=f"{name}: {value}",
    )
    drawn: vl.Chart = mark.encode(x=x, y=y)
    return drawn
