"""Charts that the classic tools share: lines over a size or a count, and bars or dots in groups.

Names and values are printed at their data; there is no legend. Both kinds can use a linear and a
logarithmic axis: powers of two are the usual axis of I/O sizes, and a linear one shows how much of the range the small
sizes are. Bars have a length only from zero on, so on a logarithmic axis values are dots.
"""

import enum
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, decades_covering, linear_ticks, log_ticks, records, spread
from assay.units import format_number

COLOURS = ("#2166ac", "#b2182b", "#1b7837", "#7b3294", "#b35806", "#01665e")
"""Of series, in order: distinguished by lightness and by their names too. METHOD 6.1 allows six."""
CLIFF = 4.0
"""Neighbouring points of a line that differ by this factor or more are a cliff, and the range between them is shaded."""

HEIGHT_PX = 320
_CHARACTER_PX = 6.6
_LEAST_LABEL_DISTANCE = 0.045
"""Of the axis: closer labels overlap (METHOD 6.2, lesson 5)."""
_BAR_PX = 15
_GAP_PX = 14
_HEADROOM = 1.08
_MOST_TICKS = 14


class Scale(enum.Enum):
    """How an axis goes up."""

    LINEAR = "linear"
    LOG2 = "log2"
    LOG10 = "log10"

    def place(self, value: float) -> float:
        """Place of a value on the axis, in the axis's own measure."""
        return value if self is Scale.LINEAR else math.log2(value)

    def at(self, place: float) -> float:
        """Give the value at a place."""
        return place if self is Scale.LINEAR else 2.0**place


@dataclass(frozen=True, slots=True)
class Axis:
    """The label of an axis, with its unit."""

    title: str
    scale: Scale = Scale.LINEAR


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name, printed at its end, and its points in the order of x."""

    name: str
    points: tuple[tuple[float, float], ...]
    colour: str = ""
    """Empty: the next of `COLOURS`."""
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A value of a group: which, whose and how much. None is a missing value, and is labelled so."""

    group: str
    name: str
    value: float | None
    colour: str = ""
    """Empty: that of the name."""


def lines(series: Sequence[Series], x: Axis, y: Axis) -> Layered:
    """Draw lines with their names at their ends, and shade where one falls off a cliff or climbs it.

    Raises:
        ValueError: there is no point, or a value that a logarithmic axis does not have.
    """
    points = [point for one in series for point in one.points]
    if not points or (x.scale is not Scale.LINEAR and min(px for px, _ in points) <= 0):
        raise ValueError("lines need points, and those on a logarithmic x axis lie above 0")
    if y.scale is not Scale.LINEAR and min(py for _, py in points) <= 0:
        raise ValueError("values on a logarithmic axis lie above 0")
    coloured = _add_colours(series)
    low, high = _bounds([py for _, py in points], y.scale)
    along = vl.X("x:Q", title=x.title, scale=_x_scale(series, x.scale), axis=_x_axis(points, x.scale))
    up = vl.Y("y:Q", title=y.title, scale=_scale(y.scale, low, high), axis=_value_axis(y.scale, low, high))
    layers = [_cliffs(series, along)] if cliffs(series) else []
    for one in coloured:
        layers += _line(one, along, up)
    layers += _end_labels(coloured, y.scale, (low, high), along, up)
    return Layered(layers, HEIGHT_PX)


def cliffs(series: Sequence[Series], factor: float = CLIFF) -> tuple[tuple[float, float], ...]:
    """Give the ranges of x in which a line changes by `factor` or more from one point to the next."""
    found = set()
    for one in series:
        for (start, before), (end, after) in itertools.pairwise(one.points):
            least, most = sorted((before, after))
            if most > 0 and most >= factor * least:
                found.add((start, end))
    return tuple(sorted(found))


def grouped_bars(bars: Sequence[Bar], axis: Axis) -> Layered:
    """Draw bars from zero, or on a logarithmic axis dots, in groups, each with its name and value.

    Raises:
        ValueError: there is no bar.
    """
    if not bars:
        raise ValueError("there is nothing to draw")
    is_bars = axis.scale is Scale.LINEAR
    rows = list(_rows(bars, list(dict.fromkeys(bar.name for bar in bars))))
    height = _height(bars)
    known = [bar.value for bar in bars if bar.value is not None and (is_bars or bar.value > 0)]
    low, high = _bounds(known or [1.0], axis.scale)
    room = max(len(str(row["label"])) for row in rows)
    scale = _scale(axis.scale, low, _with_room(low, high, axis.scale, room))
    along = vl.X("value:Q", title=axis.title, scale=scale, axis=_value_axis(axis.scale, low, high))
    across = vl.Y("at:Q", axis=None, scale=vl.Scale(domain=[height, 0], nice=False))
    base = vl.Chart(records(rows)).encode(y=across)
    has_place = "isValid(datum.value)" if is_bars else "isValid(datum.value) && datum.value > 0"
    shown, absent = base.transform_filter(has_place), base.transform_filter(f"!({has_place})")
    mark = (
        shown.mark_bar(orient="horizontal", height=_BAR_PX - 2)
        if is_bars
        else shown.mark_point(filled=True, size=70, opacity=1)
    )
    label = shown.mark_text(align="left", baseline="middle", dx=6, fontSize=10)
    without = absent.mark_text(align="left", baseline="middle", x=6, fontSize=10, color=theme.MUTED_INK)
    layers: list[vl.Chart] = [
        mark.encode(x=along, color=vl.Color("colour:N", scale=None)),
        label.encode(x=along, text=vl.Text("label:N")),
        without.encode(text=vl.Text("label:N")),
        _group_titles(bars, across),
    ]
    return Layered(layers, height)


# -- lines -------------------------------------------------------------------------------------------------------------


def _add_colours(series: Sequence[Series]) -> list[Series]:
    fills = itertools.cycle(COLOURS)
    return [Series(one.name, one.points, one.colour or next(fills), one.is_dashed) for one in series]


def _line(one: Series, along: vl.X, up: vl.Y) -> list[vl.Chart]:
    base = vl.Chart(records({"x": px, "y": py, "series": one.name} for px, py in one.points)).encode(x=along, y=up)
    dash = [5, 3] if one.is_dashed else [1, 0]
    line = base.mark_line(color=one.colour, strokeWidth=2, strokeDash=dash, strokeJoin="round")
    return [line, base.mark_point(color=one.colour, filled=True, opacity=1, size=28)]


def _end_labels(
    series: Sequence[Series], scale: Scale, bounds: tuple[float, float], along: vl.X, up: vl.Y
) -> list[vl.Chart]:
    low, high = (scale.place(bound) for bound in bounds)
    ends = [one.points[-1] for one in series]
    moved = _keep_inside([scale.place(py) for _, py in ends], low, high)
    rows = [
        {"x": px, "y": scale.at(place), "label": one.name, "colour": one.colour}
        for one, (px, _), place in zip(series, ends, moved, strict=True)
    ]
    base = vl.Chart(records(rows)).encode(x=along, y=up, text=vl.Text("label:N"))
    halo = base.mark_text(align="left", baseline="middle", dx=8, stroke=theme.PAPER, strokeWidth=3)
    words = base.mark_text(align="left", baseline="middle", dx=8)
    return [halo, words.encode(color=vl.Color("colour:N", scale=None))]


def _keep_inside(places: Sequence[float], low: float, high: float) -> list[float]:
    """Move labels apart, off the axis below, and not above the top."""
    least = _LEAST_LABEL_DISTANCE * (high - low)
    moved = spread(places, least)
    order = sorted(range(len(moved)), key=moved.__getitem__)
    floor = low + least / 2
    for i in order:
        moved[i] = max(moved[i], floor)
        floor = moved[i] + least
    ceiling = high
    for i in reversed(order):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - least
    return moved


def _cliffs(series: Sequence[Series], along: vl.X) -> vl.Chart:
    rows = [{"x": start, "end": end} for start, end in cliffs(series)]
    tint: vl.Chart = vl.Chart(records(rows)).mark_rect(color=theme.GRID, opacity=0.7).encode(x=along, x2="end:Q")
    return tint


# -- axes --------------------------------------------------------------------------------------------------------------


def _bounds(values: Sequence[float], scale: Scale) -> tuple[float, float]:
    """Give the ends of a value axis: from zero, or the decades (of two: the powers) around the values."""
    if scale is Scale.LINEAR:
        return min(0.0, *values), _HEADROOM * max(*values, 1e-9)
    if scale is Scale.LOG10:
        return decades_covering(min(values), max(values))
    first = math.floor(math.log2(min(values)) + 1e-9)
    return 2.0**first, 2.0 ** max(first + 1, math.ceil(math.log2(max(values)) - 1e-9))


def _scale(scale: Scale, low: float, high: float) -> dict[str, Any]:
    if scale is Scale.LINEAR:
        return vl.Scale(domain=[low, high], nice=False)
    return vl.Scale(type="log", base=2 if scale is Scale.LOG2 else 10, domain=[low, high], nice=False)


def _with_room(low: float, high: float, scale: Scale, characters: int) -> float:
    """Move the end of an axis outwards so that a label of N characters fits behind the last value."""
    room_px = min(_CHARACTER_PX * characters + 14, theme.WIDTH_PX / 2)
    start, end = scale.place(low), scale.place(high)
    return scale.at(start + (end - start) * theme.WIDTH_PX / (theme.WIDTH_PX - room_px))


def _x_scale(series: Sequence[Series], scale: Scale) -> dict[str, Any]:
    values = [px for one in series for px, _ in one.points]
    low, high = (min(0.0, *values) if scale is Scale.LINEAR else min(values)), max(values)
    if scale.place(high) <= scale.place(low):
        low, high = (low, low + 1.0) if scale is Scale.LINEAR else (low / 2, high * 2)
    return _scale(scale, low, _with_room(low, high, scale, max(len(one.name) for one in series)))


def _x_axis(points: Sequence[tuple[float, float]], scale: Scale) -> dict[str, Any]:
    places = sorted({px for px, _ in points})
    if scale is Scale.LINEAR:
        ticks = linear_ticks(places[-1])
    elif scale is Scale.LOG2:
        ticks = [2.0**power for power in range(math.ceil(math.log2(places[0])), math.floor(math.log2(places[-1])) + 1)]
        ticks = ticks[:: math.ceil(len(ticks) / _MOST_TICKS)] or places
    else:
        ticks = log_ticks(places[0], places[-1]) or places
    return vl.Axis(values=ticks, format=",~r", grid=False)


def _value_axis(scale: Scale, low: float, high: float) -> dict[str, Any]:
    if scale is Scale.LINEAR:
        return vl.Axis(values=linear_ticks(high), format=",~r")
    if scale is Scale.LOG10:
        return vl.Axis(values=log_ticks(low, high), format=",~g")
    powers = range(round(math.log2(low)), round(math.log2(high)) + 1)
    return vl.Axis(values=[2.0**power for power in powers][:: math.ceil(len(powers) / _MOST_TICKS)], format=",~g")


# -- groups ------------------------------------------------------------------------------------------------------------


def _rows(bars: Sequence[Bar], names: Sequence[str]) -> Iterator[dict[str, object]]:
    for bar, at in zip(bars, _places(bars), strict=True):
        colour = bar.colour or COLOURS[names.index(bar.name) % len(COLOURS)]
        yield {
            "at": at,
            "group": bar.group,
            "name": bar.name,
            "value": bar.value,
            "label": f"{bar.name} {format_number(bar.value)}",
            "colour": colour,
        }


def _places(bars: Sequence[Bar]) -> Iterator[float]:
    """Give each bar's middle in pixels from the top; a new group has room for its title."""
    at, group = 0.0, None
    for bar in bars:
        if bar.group != group:
            at, group = at + _GAP_PX + _BAR_PX, bar.group
        yield at + _BAR_PX / 2
        at += _BAR_PX


def _height(bars: Sequence[Bar]) -> float:
    *_, last = _places(bars)
    return last + _BAR_PX


def _group_titles(bars: Sequence[Bar], across: vl.Y) -> vl.Chart:
    first: dict[str, float] = {}
    for bar, at in zip(bars, _places(bars), strict=True):
        first.setdefault(bar.group, at - _BAR_PX)
    data = records({"group": group, "at": at} for group, at in first.items())
    mark = vl.Chart(data).mark_text(align="left", baseline="middle", x=2, fontWeight="bold", color=theme.INK)
    titles: vl.Chart = mark.encode(y=across, text=vl.Text("group:N"))
    return titles
