"""Draw the rates of all results: streams in MiB/s, all else in operations per second."""

from collections.abc import Iterator, Sequence

from assay.report import vega_lite as vl
from assay.report.axes import Layered, decades_covering, linear_ticks, log_ticks, records
from assay.report.by_result import ROW_PX, row, rows, titles
from assay.report.figure import Figure, Table, sentence
from assay.report.numbers import OPS_PER_S, RateUnit, headline, rate, rate_unit
from assay.report.titles import titles_of
from assay.report.verdict import trust_words
from assay.results import Document, Result
from assay.units import format_number

_BARS_FROM_ZERO_UP_TO = 100
"""Rates further apart than this factor are dots on a log axis: bars from zero would hide the small ones."""


def draw(document: Document) -> Iterator[Figure]:
    """Draw the results of each unit."""
    results = document.results
    for is_of_bytes in (True, False):
        named = zip(titles_of(results), results, strict=True)
        chosen = [(t, r) for t, r in named if rate_unit(r).of_bytes == is_of_bytes and headline(r)[0] is not None]
        if chosen:
            units = {rate_unit(result) for _, result in chosen}
            unit = units.pop() if len(units) == 1 else OPS_PER_S
            parts = [(title, rate(*headline(result)), trust_words(result)) for title, result in chosen]
            what = "Throughput of streams" if unit.of_bytes else "Operations per second"
            yield Figure(
                slug="overview-" + ("throughput" if unit.of_bytes else "operations"),
                title=what,
                caption="Mean over each result's window." + (" 1 MiB is 1,048,576 bytes." if unit.of_bytes else ""),
                alt_text=f"{what}. " + sentence(f"{title}: {value}, {trust}" for title, value, trust in parts),
                chart=chart(chosen, unit),
                table=Table(("Result", unit.label, "Trust"), tuple(parts)),
            )


def chart(named: Sequence[tuple[str, Result]], unit: RateUnit) -> Layered:
    """Draw named results that count in `unit`: bars from zero, or dots on a log axis where rates lie far apart."""
    drawn_rows = []
    for i, (title, result) in enumerate(named):
        value = headline(result)[0]
        drawn_rows.append(row(i, result, title) | {"value": value, "label": format_number(value)})
    values = [one["value"] for one in drawn_rows if isinstance(one["value"], float) and one["value"] > 0]
    base = vl.Chart(records(drawn_rows)).encode(y=rows(len(named)))
    is_log = bool(values) and max(values) > _BARS_FROM_ZERO_UP_TO * min(values)
    if is_log:
        low, high = decades_covering(min(values), max(values))
        scale = vl.Scale(type="log", domain=[low, high * 2.2], nice=False)
        ticks = log_ticks(low, high)
    else:
        scale = vl.Scale(domain=[0, 1.16 * max(values, default=1.0)], nice=False)
        ticks = linear_ticks(max(values, default=1.0), 5)
    x = vl.X("value:Q", title=unit.label, scale=scale, axis=vl.Axis(values=ticks, format=",~r", grid=True))
    shape = (
        base.mark_point(filled=True, size=90, opacity=1, yOffset=8) if is_log else base.mark_bar(height=14, yOffset=8)
    )
    known = "isValid(datum.value) && datum.value > 0"
    drawn = shape.transform_filter(known).encode(x=x, color=vl.Color("ink:N", scale=None))
    value_label = base.transform_filter("isValid(datum.value)").mark_text(align="left", dx=8, dy=8, fontWeight="bold")
    layers = [drawn, value_label.encode(x=x, text=vl.Text("label:N")), titles(base, len(named))]
    return Layered(layers, ROW_PX * len(named))
