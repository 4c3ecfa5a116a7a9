"""PostMark's rates and the latency of its operations, drawn."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from assay.analysis import histogram
from assay.analysis.record import PhaseRecord, RunRecord
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import LATENCY_LABEL, Layered, decades_covering, linear_ticks, log_ticks, records
from assay.report.figure import Figure, Table
from assay.tools import measured
from assay.tools.postmark.plan import TITLES
from assay.tools.postmark.rates import HEADINGS, ResultRow, row_of
from assay.tools.postmark.sequence import APPEND, CREATE, DELETE, READ
from assay.tools.postmark.totals import RunTotals
from assay.units import format_ns, format_number

_ROW_PX = 44

_RATES = {
    "iops": "Transactions",
    "creation_s": "Creation alone",
    "reads_s": "Reads",
    "appends_s": "Appends",
    "deletes_s": "Deletion alone",
}


def figures(run: RunRecord, totals: RunTotals) -> Sequence[Figure]:
    """Draw the rates of the columns above, and the latency of each operation in each phase."""
    drawn = [_rates_figure(row_of(totals))]
    latencies = [latency for phase in run.phases for latency in _latencies(phase)]
    if latencies:
        drawn.append(_latency_figure(latencies))
    return drawn


def _rates_figure(row: ResultRow) -> Figure:
    shown = {title: getattr(row, field) for field, title in _RATES.items()}
    rows = [{"row": i, "title": title, "value": value} for i, (title, value) in enumerate(shown.items())]
    highest = max((value for value in shown.values() if value), default=1.0)
    labelled = [row | {"label": format_number(row["value"])} for row in rows]
    base = vl.Chart(records(labelled)).encode(y=_rows(len(rows)))
    scale = vl.Scale(domain=[0, 1.16 * highest], nice=False)
    x = vl.X("value:Q", title="per second", scale=scale, axis=vl.Axis(values=linear_ticks(highest, 5), format=",~r"))
    known = base.transform_filter("isValid(datum.value)")
    layers = [
        known.mark_bar(height=14, yOffset=8, color=theme.MEASURED).encode(x=x),
        known.mark_text(align="left", dx=8, dy=8, fontWeight="bold").encode(x=x, text=vl.Text("label:N")),
        _titles(base, len(rows)),
    ]
    numbers = zip(HEADINGS[1:], dataclasses.astuple(row)[1:], strict=True)
    words = "; ".join(f"{title}: {format_number(value)} per second" for title, value in shown.items())
    return Figure(
        slug="postmark-rates",
        title="PostMark's rates, by nanosecond clocks",
        caption="Reads and appends are counted over the transactions, of which they are a part."
        " PostMark itself prints whole numbers over whole seconds.",
        alt_text=f"Bars of PostMark's rates. {words}.",
        chart=Layered(layers, _ROW_PX * len(rows)),
        table=Table(("Column", "Value"), tuple((name, format_number(value)) for name, value in numbers)),
    )


@dataclasses.dataclass(frozen=True)
class _Latency:
    title: str
    count: int
    p50_ns: float | None
    p99_ns: float | None
    max_ns: float


def _latencies(phase: PhaseRecord) -> list[_Latency]:
    found = []
    for kind in (CREATE, READ, APPEND, DELETE):
        buckets = [phase.buckets(job.name, kind, "latency") for job in phase.phase.jobs]
        index, count = (np.concatenate([rows.column(name) for rows in buckets]) for name in ("bucket", "n"))
        if not len(index):
            continue
        slowest = float(measured.totals(phase, kind).latency_max_ns)
        wanted = [histogram.QUANTILES[name] for name in ("p50", "p99")]
        p50, p99 = histogram.percentiles_ns(index, count, wanted, slowest)
        title = f"{TITLES[phase.phase.name]}: {kind}"
        found.append(_Latency(title=title, count=int(count.sum()), p50_ns=p50, p99_ns=p99, max_ns=slowest))
    return found


def _latency_figure(latencies: Sequence[_Latency]) -> Figure:
    rows = [
        {"row": i, "title": one.title, "p50": one.p50_ns, "p99": one.p99_ns, "max": one.max_ns}
        for i, one in enumerate(latencies)
    ]
    known = [value for one in latencies for value in (one.p50_ns, one.p99_ns, one.max_ns) if value]
    low, high = decades_covering(min(known), max(known))
    scale = vl.Scale(type="log", domain=[low, high], nice=False)
    axis = vl.Axis(values=log_ticks(low, high), labelExpr=LATENCY_LABEL, grid=True)
    base = vl.Chart(records(rows)).encode(y=_rows(len(rows)))
    layers = [
        *(
            base.transform_filter(f"isValid(datum.{start}) && isValid(datum.{end})")
            .mark_rule(yOffset=8, strokeWidth=width, strokeDash=dash, color=theme.MEASURED)
            .encode(
                x=vl.X(f"{start}:Q", title="latency: dot p50, stroke p99, ring slowest", scale=scale, axis=axis), x2=end
            )
            for start, end, width, dash in (("p50", "p99", 4, [1, 0]), ("p99", "max", 1.2, [3, 2]))
        ),
        *(
            base.transform_filter(f"isValid(datum.{key})")
            .mark_point(
                shape=shape,
                angle=angle,
                filled=key == "p50",
                size=80,
                opacity=1,
                strokeWidth=2.2,
                yOffset=8,
                color=theme.MEASURED,
            )
            .encode(x=vl.X(f"{key}:Q", scale=scale, axis=axis))
            for key, shape, angle in (("p50", "circle", 0), ("p99", "stroke", 90), ("max", "circle", 0))
        ),
        _titles(base, len(rows)),
    ]
    cells = tuple(
        (one.title, f"{one.count:,}", *(format_ns(value) for value in (one.p50_ns, one.p99_ns, one.max_ns)))
        for one in latencies
    )
    words = "; ".join(f"{title}: p50 {p50}, p99 {p99}, slowest {slowest}" for title, _, p50, p99, slowest in cells)
    return Figure(
        slug="postmark-latency",
        title="Latency of PostMark's operations",
        caption="From before the open to after the close, as one operation. A percentile needs enough operations.",
        alt_text=f"Latency of each operation in each phase. {words}.",
        chart=Layered(layers, _ROW_PX * len(rows)),
        table=Table(("Phase and operation", "Operations", "p50", "p99", "Slowest"), cells),
    )


def _rows(count: int) -> vl.Y:
    return vl.Y("row:O", axis=None, sort=None, scale=vl.Scale(domain=list(range(count)), paddingOuter=0.05))


def _titles(base: vl.Chart, rows: int) -> vl.Chart:
    mark = base.mark_text(align="left", baseline="middle", x=2, dy=-9, color=theme.INK)
    words: vl.Chart = mark.encode(y=_rows(rows), text=vl.Text("title:N"))
    return words
