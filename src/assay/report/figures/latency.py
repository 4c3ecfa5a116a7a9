"""Draw median, tail and slowest operation of all results."""

from collections.abc import Iterator, Sequence

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import LATENCY_LABEL, Layered, decades_covering, log_ticks, records
from assay.report.by_result import row, rows, titles
from assay.report.figure import Figure, Table, sentence
from assay.report.titles import titles_of
from assay.report.verdict import trust_words
from assay.results import Document, LatencyNs, Result
from assay.units import format_ns

_TALL_ROW_PX = 58


def draw(document: Document) -> Iterator[Figure]:
    """Draw the latencies of every result."""
    results = document.results
    if not results:
        return
    parts = []
    for title, result, spread in _spreads(results):
        values = (format_ns(value) for value in (spread.p50, spread.p99, spread.max))
        parts.append((title, *values, trust_words(result)))
    has_response = any(result.response_ns for result in results)
    yield Figure(
        slug="overview-latency",
        title="Response time from the scheduled arrival, and latency"
        if has_response
        else "Latency, from issue to completion",
        caption="Dot: p50. Upright stroke: p99. Ring: the slowest operation. n/a: too few operations for it"
        " (10 / (1 - q) are needed).",
        alt_text="Latency. " + sentence(f"{r[0]}: p50 {r[1]}, p99 {r[2]}, slowest {r[3]}, {r[4]}" for r in parts),
        chart=chart(results),
        table=Table(("Result", "p50", "p99", "Slowest", "Trust"), tuple(parts)),
    )


def _spreads(results: Sequence[Result]) -> Iterator[tuple[str, Result, LatencyNs]]:
    """Give what each result has: of an open loop the response times, then the latencies."""
    for title, result in zip(titles_of(results), results, strict=True):
        if result.response_ns is not None:
            yield f"{title}: response", result, result.response_ns
            yield f"{title}: latency", result, result.latency_ns
        else:
            yield title, result, result.latency_ns


def chart(results: Sequence[Result]) -> Layered:
    """Draw p50, p99 and maximum of each result on one logarithmic axis, with the values in words under each title."""
    drawn_rows = [
        row(i, result, title) | _latency_row(spread) for i, (title, result, spread) in enumerate(_spreads(results))
    ]
    known = [
        value
        for one in drawn_rows
        for key in ("p50", "p99", "max")
        if isinstance(value := one[key], float) and value > 0
    ]
    low, high = decades_covering(min(known, default=1e3), max(known, default=1e6))
    scale = vl.Scale(type="log", domain=[low, high], nice=False)
    axis = vl.Axis(values=log_ticks(low, high), labelExpr=LATENCY_LABEL, grid=True)
    base = vl.Chart(records(drawn_rows)).encode(y=rows(len(drawn_rows)), color=vl.Color("ink:N", scale=None))
    words = vl.Chart(records(drawn_rows)).mark_text(align="left", x=2, dy=-4, fontSize=10, color=theme.MUTED_INK)
    layers: list[vl.Chart] = []
    for start, end, width, dash in (("p50", "p99", 4, [1, 0]), ("p99", "max", 1.2, [3, 2])):
        spans = base.transform_filter(f"datum.{start} > 0 && datum.{end} > 0")
        x = vl.X(f"{start}:Q", title="latency", scale=scale, axis=axis)
        layers.append(spans.mark_rule(yOffset=14, strokeWidth=width, strokeDash=dash).encode(x=x, x2=f"{end}:Q"))
    for key, shape, filled in (("p50", "circle", True), ("p99", "stroke", False), ("max", "circle", False)):
        points = base.transform_filter(f"datum.{key} > 0")
        angle = 90 if shape == "stroke" else 0
        mark = points.mark_point(
            shape=shape, filled=filled, size=80, opacity=1, angle=angle, strokeWidth=2.2, yOffset=14
        )
        layers.append(mark.encode(x=vl.X(f"{key}:Q", scale=scale, axis=axis, title="latency")))
    layers += [
        words.encode(y=rows(len(drawn_rows)), text=vl.Text("words:N")),
        titles(vl.Chart(records(drawn_rows)), len(drawn_rows), dy=-19),
    ]
    return Layered(layers, _TALL_ROW_PX * len(drawn_rows))


def _latency_row(spread: LatencyNs) -> dict[str, object]:
    values = {"p50": spread.p50, "p99": spread.p99, "max": spread.max}
    words = ", ".join(f"{name} {format_ns(value)}" for name, value in values.items())
    return {name: None if value is None else float(value) for name, value in values.items()} | {"words": words}
