"""The figures over all results of a run: rates, latencies, and where the workers' time went.

One row a result. Its title stands above its bar, so that figures read the same at any width and no axis of names eats
the room. A result that is not to be trusted is grey and says so.
"""

from collections.abc import Iterator, Sequence

from assay.report import theme
from assay.report.axes import LATENCY_LABEL, Layered, decades_around, linear_ticks, log_ticks, records
from assay.report.numbers import RateUnit, headline
from assay.report.stack import alt
from assay.report.titles import title_of
from assay.report.verdict import stands
from assay.results import Result
from assay.units import format_ns, format_number

_BARS_FROM_ZERO_UP_TO = 100
"""Rates further apart than this factor are dots on a log axis: bars from zero would hide the small ones."""
_ROW_PX = 44
_TALL_ROW_PX = 58


def rate_bars(results: Sequence[Result], unit: RateUnit, named_among: Sequence[Result]) -> Layered:
    """Draw results that count in `unit`: bars from zero, or dots on a log axis where rates lie far apart."""
    rows = []
    for i, result in enumerate(results):
        value = headline(result)[0]
        rows.append(_row(i, result, named_among) | {"value": value, "label": format_number(value)})
    values = [row["value"] for row in rows if isinstance(row["value"], float) and row["value"] > 0]
    base = alt.Chart(records(rows)).encode(y=_rows(len(results)))
    if values and max(values) > _BARS_FROM_ZERO_UP_TO * min(values):
        low, high = decades_around(min(values), max(values))
        scale = alt.Scale(type="log", domain=[low, high * 2.2], nice=False)
        ticks = log_ticks(low, high)
    else:
        scale = alt.Scale(domain=[0, 1.16 * max(values, default=1.0)], nice=False)
        ticks = linear_ticks(max(values, default=1.0), 5)
    x = alt.X("value:Q", title=unit.label, scale=scale, axis=alt.Axis(values=ticks, format=",~r", grid=True))
    shape = (
        base.mark_point(filled=True, size=90, opacity=1, yOffset=8)
        if scale.type == "log"
        else base.mark_bar(height=14, yOffset=8)
    )
    known = "isValid(datum.value) && datum.value > 0"
    drawn = shape.transform_filter(known).encode(x=x, color=alt.Color("ink:N", scale=None))
    value_label = base.transform_filter("isValid(datum.value)").mark_text(align="left", dx=8, dy=8, fontWeight="bold")
    layers = [drawn, value_label.encode(x=x, text=alt.Text("label:N")), _titles(base, len(results))]
    return Layered(layers, alt.Step(_ROW_PX))


def latency_overview(results: Sequence[Result]) -> Layered:
    """Draw p50, p99 and maximum of each result on one logarithmic axis, with the values in words under each title."""
    rows = [_row(i, result, results) | _latency_row(result) for i, result in enumerate(results)]
    known = [
        value for row in rows for key in ("p50", "p99", "max") if isinstance(value := row[key], float) and value > 0
    ]
    low, high = decades_around(min(known, default=1e3), max(known, default=1e6))
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=log_ticks(low, high), labelExpr=LATENCY_LABEL, grid=True)
    base = alt.Chart(records(rows)).encode(y=_rows(len(results)), color=alt.Color("ink:N", scale=None))
    words = alt.Chart(records(rows)).mark_text(align="left", x=2, dy=-4, fontSize=10, color=theme.MUTED_INK)
    layers: list[alt.Chart] = []
    for start, end, width, dash in (("p50", "p99", 4, [1, 0]), ("p99", "max", 1.2, [3, 2])):
        spans = base.transform_filter(f"datum.{start} > 0 && datum.{end} > 0")
        x = alt.X(f"{start}:Q", title="latency", scale=scale, axis=axis)
        layers.append(spans.mark_rule(yOffset=14, strokeWidth=width, strokeDash=dash).encode(x=x, x2=f"{end}:Q"))
    for key, shape, filled in (("p50", "circle", True), ("p99", "stroke", False), ("max", "circle", False)):
        points = base.transform_filter(f"datum.{key} > 0")
        angle = 90 if shape == "stroke" else 0
        mark = points.mark_point(
            shape=shape, filled=filled, size=80, opacity=1, angle=angle, strokeWidth=2.2, yOffset=14
        )
        layers.append(mark.encode(x=alt.X(f"{key}:Q", scale=scale, axis=axis, title="latency")))
    layers += [
        words.encode(y=_rows(len(results)), text=alt.Text("words:N")),
        _titles(alt.Chart(records(rows)), len(results), dy=-19),
    ]
    return Layered(layers, alt.Step(_TALL_ROW_PX))


def time_budget(results: Sequence[Result]) -> Layered:
    """Draw where the wall time of each result's workers went, as shares that fill the row."""
    bars = [segment for i, result in enumerate(results) for segment in _segments(i, result)]
    titles = [_row(i, result, results) for i, result in enumerate(results)]
    kinds = list(theme.BUDGET.values())
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=[words for words, _, _ in kinds], range=[fill for _, fill, _ in kinds]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columns=2, symbolType="square"),
    )
    x = alt.X(
        "start:Q",
        title="share of the workers' wall time",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=False),
    )
    base = alt.Chart(records(bars)).encode(y=_rows(len(results)))
    drawn = base.mark_bar(height=16, yOffset=8).encode(x=x, x2=alt.X2("end:Q"), color=colour)
    labelled = base.transform_filter("datum.end - datum.start >= 0.1").mark_text(dy=8, fontSize=10)
    percent = labelled.encode(
        x=alt.X("middle:Q"), text=alt.Text("share:Q", format=".0%"), color=alt.Color("ink:N", scale=None)
    )
    layers = [drawn, percent, _titles(alt.Chart(records(titles)), len(results))]
    return Layered(layers, alt.Step(_ROW_PX), independent_colours=True)


def _rows(count: int) -> alt.Y:
    # All rows by name: layers that leave some out (no p99, say) must not reorder the others.
    return alt.Y("row:O", axis=None, sort=None, scale=alt.Scale(domain=list(range(count)), paddingOuter=0.05))


def _row(i: int, result: Result, named_among: Sequence[Result]) -> dict[str, object]:
    doubt = "" if stands(result) else " (not to be trusted)"
    ink = theme.MEASURED if stands(result) else theme.UNTRUSTED
    return {"row": i, "title": title_of(result, named_among) + doubt, "ink": ink}


def _latency_row(result: Result) -> dict[str, object]:
    values = {"p50": result.latency_ns.p50, "p99": result.latency_ns.p99, "max": result.latency_ns.max}
    words = ", ".join(f"{name} {format_ns(value)}" for name, value in values.items())
    return {name: None if value is None else float(value) for name, value in values.items()} | {"words": words}


def _segments(i: int, result: Result) -> Iterator[dict[str, object]]:
    at = 0.0
    for field, (words, _, ink) in theme.BUDGET.items():
        part = getattr(result.time_budget, field)
        if part:
            middle = at + part / 2
            yield {"row": i, "kind": words, "start": at, "end": at + part, "middle": middle, "share": part, "ink": ink}
            at += part


def _titles(base: alt.Chart, rows: int, dy: int = -9) -> alt.Chart:
    mark = base.mark_text(align="left", baseline="middle", x=2, dy=dy, color=theme.INK)
    words: alt.Chart = mark.encode(y=_rows(rows), text=alt.Text("title:N"))
    return words
