"""PostMark's figures as they were: rates by nanosecond clocks, in the columns that its results are published in.

    seconds    creation, transactions and deletion, without what is between them
    IOPS       transactions per second of transactions
    creation   files made before the transactions, per second of making them
    reads, appends      per second of transactions
    deletes    files deleted after the transactions, per second of deleting them
    MB/s       2^20 bytes per second of all
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from assay.analysis import histogram
from assay.analysis.record import PhaseRecord, RecordedRun, read
from assay.frontends.postmark.sequence import APPEND, CREATE, DELETE, READ
from assay.frontends.postmark.to_plan import CREATING, DELETING, TITLES, TRANSACTIONS
from assay.report import theme
from assay.report.axes import LATENCY_LABEL, decades_around, layered, linear_ticks, log_ticks, records
from assay.report.classic import measured
from assay.report.classic.postmark import Totals, totals_of
from assay.report.figures import Figure, Table
from assay.report.stack import alt
from assay.units import ABSENT, format_ns, format_number

_MIB = 1 << 20
_ROW_PX = 44
_DIGITS = 4


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of a table of PostMark results; None: not published."""

    config: str
    time_s: float | None = None
    iops: float | None = None
    creation_s: float | None = None
    reads_s: float | None = None
    appends_s: float | None = None
    deletes_s: float | None = None
    read_mb_s: float | None = None
    write_mb_s: float | None = None


HEADINGS = ("config", "Time", "IOPS", "Creation", "Reads", "Appends", "Deletes", "Read MB/s", "Write MB/s")


def table(rows: Sequence[Row]) -> str:
    """Print results below each other."""
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = []
    for first, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        lines.append("  ".join((first.ljust(widths[0]), *numbers)).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    values = dataclasses.astuple(row)[1:]
    return (row.config, *(ABSENT if value is None else f"{value:.10g}" for value in values))


# -- where rows come from ----------------------------------------------------------------------------------------------


def row_of(run: RecordedRun) -> Row:
    """Return the row of a run; None where there was nothing to time."""
    totals = totals_of(run)
    mixed = totals.part(TRANSACTIONS)
    return Row(
        config=run.plan.name,
        time_s=_rounded(totals.seconds),
        iops=_rate(totals.transactions, mixed.seconds),
        creation_s=_alone(totals, CREATING, CREATE),
        reads_s=_rate(mixed.count(READ), mixed.seconds),
        appends_s=_rate(mixed.count(APPEND), mixed.seconds),
        deletes_s=_alone(totals, DELETING, DELETE),
        read_mb_s=_rate(totals.bytes(READ) / _MIB, totals.seconds),
        write_mb_s=_rate(totals.bytes(CREATE, APPEND) / _MIB, totals.seconds),
    )


def _alone(totals: Totals, phase: str, kind: str) -> float | None:
    part = totals.part(phase)
    return _rate(part.count(kind), part.seconds)


def _rate(amount: float, seconds: float) -> float | None:
    return _rounded(amount / seconds) if seconds > 0 else None


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") if value < 10**_DIGITS else float(round(value))


_NUMBER = r"([0-9.]+)"
_VERBOSE = {
    "time_s": rf"{_NUMBER} seconds total",
    "iops": rf"seconds of transactions \({_NUMBER} per second",
    "creation_s": rf"Creation alone: [0-9]+ files \({_NUMBER} per second",
    "reads_s": rf"[0-9]+ read \({_NUMBER} per second",
    "appends_s": rf"[0-9]+ appended \({_NUMBER} per second",
    "deletes_s": rf"Deletion alone: [0-9]+ files \({_NUMBER} per second",
    "read_mb_s": rf" read \({_NUMBER} (\w+) per second",
    "write_mb_s": rf" written \({_NUMBER} (\w+) per second",
}
_TERSE_PLACES = {
    "time_s": 0,
    "iops": 2,
    "creation_s": 4,
    "reads_s": 6,
    "appends_s": 7,
    "deletes_s": 9,
    "read_mb_s": 11,
    "write_mb_s": 12,
}
_UNIT_BYTES = {"megabytes": _MIB, "kilobytes": 1 << 10, "bytes": 1}


def row_of_report(text: str, config: str) -> Row:
    """Read the report that PostMark printed, verbose or terse; raises ValueError if it is none."""
    terse = [line.split() for line in text.splitlines() if re.fullmatch(r"[0-9]+ [0-9]+( [0-9.]+){11}", line.strip())]
    if terse:
        values = {name: float(terse[-1][place]) for name, place in _TERSE_PLACES.items()}
        values |= {name: values[name] / _MIB for name in ("read_mb_s", "write_mb_s")}
        return Row(config=config, **values)
    values = {}
    for name, pattern in _VERBOSE.items():
        found = re.search(pattern, text)
        if found is None:
            raise ValueError(f"{config}: this is no report of PostMark: it has no '{name}'")
        scale = _UNIT_BYTES[found[2]] / _MIB if found.re.groups > 1 else 1.0
        values[name] = float(found[1]) * scale
    return Row(config=config, **values)


# -- figures -----------------------------------------------------------------------------------------------------------

_RATES = {
    "iops": "Transactions",
    "creation_s": "Creation alone",
    "reads_s": "Reads",
    "appends_s": "Appends",
    "deletes_s": "Deletion alone",
}


def figures(run: RecordedRun) -> Sequence[Figure]:
    """Draw the rates of the columns above, and the latency of each operation in each phase."""
    drawn = [_rates_figure(run)]
    latencies = [latency for phase in read(run).phases for latency in _latencies(phase)]
    if latencies:
        drawn.append(_latency_figure(latencies))
    return drawn


def _rates_figure(run: RecordedRun) -> Figure:
    row = row_of(run)
    shown = {title: getattr(row, field) for field, title in _RATES.items()}
    rows = [{"row": i, "title": title, "value": value} for i, (title, value) in enumerate(shown.items())]
    highest = max((value for value in shown.values() if value), default=1.0)
    labelled = [row | {"label": format_number(row["value"])} for row in rows]
    base = alt.Chart(records(labelled)).encode(y=_rows(len(rows)))
    scale = alt.Scale(domain=[0, 1.16 * highest], nice=False)
    x = alt.X(
        "value:Q", title="per second", scale=scale, axis=alt.Axis(values=linear_ticks(highest, 5), format=",~r")
    )
    known = base.transform_filter("isValid(datum.value)")
    layers = [
        known.mark_bar(height=14, yOffset=8, color=theme.MEASURED).encode(x=x),
        known.mark_text(align="left", dx=8, dy=8, fontWeight="bold").encode(x=x, text="label:N"),
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
        chart=layered(layers, alt.Step(_ROW_PX)),
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
        rows = phase.histograms.filter(pl.col("operation") == kind, pl.col("series") == "latency")
        buckets = rows.group_by("bucket").agg(pl.col("n").sum()).sort("bucket")
        if buckets.is_empty():
            continue
        index, count = (buckets[name].to_numpy().astype(np.int64) for name in ("bucket", "n"))
        slowest = float(measured.totals(phase, kind).latency_max_ns)
        p50, p99 = (histogram.percentile_ns(index, count, quantile, slowest) for quantile in (0.5, 0.99))
        title = f"{TITLES[phase.phase.name]}: {kind}"
        found.append(_Latency(title=title, count=int(count.sum()), p50_ns=p50, p99_ns=p99, max_ns=slowest))
    return found


def _latency_figure(latencies: Sequence[_Latency]) -> Figure:
    rows = [
        {"row": i, "title": one.title, "p50": one.p50_ns, "p99": one.p99_ns, "max": one.max_ns}
        for i, one in enumerate(latencies)
    ]
    known = [value for one in latencies for value in (one.p50_ns, one.p99_ns, one.max_ns) if value]
    low, high = decades_around(min(known), max(known))
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=log_ticks(low, high), labelExpr=LATENCY_LABEL, grid=True)
    base = alt.Chart(records(rows)).encode(y=_rows(len(rows)))
    layers = [
        base.transform_filter("isValid(datum.p50)")
        .mark_bar(height=14, yOffset=8, color=theme.MEASURED)
        .encode(x=alt.X("p50:Q", title="latency: bar p50, stroke p99, ring slowest", scale=scale, axis=axis)),
        *(
            base.transform_filter(f"isValid(datum.{key})")
            .mark_point(shape=shape, angle=angle, size=80, opacity=1, strokeWidth=2.2, yOffset=8, color=theme.INK)
            .encode(x=alt.X(f"{key}:Q", scale=scale, axis=axis))
            for key, shape, angle in (("p99", "stroke", 90), ("max", "circle", 0))
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
        chart=layered(layers, alt.Step(_ROW_PX)),
        table=Table(("Phase and operation", "Operations", "p50", "p99", "Slowest"), cells),
    )


def _rows(count: int) -> alt.Y:
    return alt.Y("row:O", axis=None, sort=None, scale=alt.Scale(domain=list(range(count)), paddingOuter=0.05))


def _titles(base: alt.Chart, rows: int) -> alt.Chart:
    mark = base.mark_text(align="left", baseline="middle", x=2, dy=-9, color=theme.INK)
    words: alt.Chart = mark.encode(y=_rows(rows), text="title:N")
    return words


# -- words -------------------------------------------------------------------------------------------------------------


def beside(run: RecordedRun) -> Sequence[str]:
    """Say on standard error what PostMark's own text cannot."""
    said = ["PostMark's text counts whole seconds and rounds down. By nanosecond clocks:"]
    said += [f"  {line}" for line in table([row_of(run)]).splitlines()]
    facts = {fact.key: fact.value for fact in run.facts}
    skipped = {
        "postmark.appends_skipped": "met a file of full size and appended nothing",
        "postmark.creates_skipped": "found no place for a new file and made none",
    }
    for key, what in skipped.items():
        count = facts.get(key)
        if isinstance(count, int) and count:
            said.append(f"{count} transactions {what}; PostMark counts them like all others")
    return said
