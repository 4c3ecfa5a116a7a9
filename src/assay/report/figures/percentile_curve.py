"""Draw the whole latency distribution, with the tail drawn wide.

The axis of percentiles is that of "nines": each nine more has the same room, so that what is at 99.9 % is as well to
be seen as the median (Gil Tene's percentile plots; HdrHistogram). It is of the window that the result's own percentiles are
from, and by the same rank: the dots are those percentiles. A percentile is only stated from at least 10 / (1 - q) operations
(METHOD 2.5); the rest of the way to the slowest operation is dashed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.arrays import FloatArray
from assay.analysis.recorded_operations import WHOLE_LOOP
from assay.analysis.thresholds import TAIL_SAMPLES
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import (
    LATENCY_LABEL,
    Layered,
    dense_log_ticks,
    enclosing_steps,
    names_above,
    numeric_csv,
    records,
)
from assay.report.figure import Figure, Table, sentence
from assay.report.recording import Latencies, OneResult, Recording
from assay.report.titles import slug_of, titles_of
from assay.report.verdict import is_usable, trust_words
from assay.results import Document, LatencyNs, Result
from assay.units import format_ns

HEIGHT_PX = 300
_PARTS = 24
"""Points of a curve for each nine."""
_MOST_LINES = len(theme.SERIES)
_TICK_LABEL = "datum.value == 0 ? '0 %' : format(100 * (1 - pow(10, -datum.value)), '.6~f') + ' %'"
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class Curve:
    """A distribution; arrays of shape `(points,)`, in the order of the percentiles."""

    name: str
    nines: FloatArray
    """-log10(1 - q)."""
    value_ns: FloatArray
    stated: float
    """Nines up to which there are operations enough."""

    def at(self, share: float) -> float | None:
        """Give a percentile; None where too few operations are behind it."""
        nines = -math.log10(1 - share)
        stated, value_ns = self.up_to_stated()
        if not len(stated) or nines > stated[-1] + 1e-6:
            return None
        return float(value_ns[int(np.argmin(np.abs(stated - nines)))])

    def up_to_stated(self) -> tuple[FloatArray, FloatArray]:
        """Give the part that is drawn solid."""
        inside = self.nines <= self.stated + 1e-9
        return self.nines[inside], self.value_ns[inside]

    def beyond(self) -> tuple[FloatArray, FloatArray]:
        """Give the part that is dashed, from the last stated point on."""
        first = max(int(np.searchsorted(self.nines, self.stated + 1e-9)) - 1, 0)
        return self.nines[first:], self.value_ns[first:]


@dataclass(frozen=True)
class Band:
    """Where several distributions lie, from the lowest to the highest; arrays of shape `(points,)`."""

    nines: FloatArray
    low_ns: FloatArray
    high_ns: FloatArray


def band_of(curves: Sequence[Curve]) -> Band | None:
    """Enclose distributions, as far as each of them has operations enough; None where that is nowhere."""
    stated = min(curve.stated for curve in curves) + 1e-9
    each = [dict(zip(curve.nines.tolist(), curve.value_ns.tolist(), strict=True)) for curve in curves]
    nines = [place for place in sorted(each[0]) if place <= stated and all(place in one for one in each)]
    if not nines:
        return None
    values = np.array([[one[place] for place in nines] for one in each])
    return Band(np.array(nines), values.min(axis=0), values.max(axis=0))


def curve_of(recording: Recording, result: Result, series: str, name: str) -> Curve | None:
    """Give the distribution in the window of a result; `series` is `latency` or `response`. None where it is empty."""
    latencies = recording.latencies(result, series)
    values = result.response_ns if series == "response" else result.latency_ns
    if latencies is None or values is None or result.window_s is None:
        return None
    return curve_from(latencies, result.window_s, values.max, name)


def curve_from(latencies: Latencies, window_s: tuple[float, float], max_ns: float | None, name: str) -> Curve | None:
    """Give the distribution of what was completed in a window; nothing in it is above `max_ns`, which is exact."""
    mine = latencies.in_window(window_s)
    order = np.argsort(latencies.value_ns[mine], kind="stable")
    value_ns = latencies.value_ns[mine][order]
    ranks = np.cumsum(latencies.count[mine][order])
    total = int(ranks[-1]) if len(ranks) else 0
    if total == 0:
        return None
    last = math.log10(total)
    places = {
        *(i / _PARTS for i in range(math.ceil(last * _PARTS))),
        last,
        *(-math.log10(1 - q) for q in PERCENTILES.values()),
    }
    nines = np.array(sorted(place for place in places if place <= last), dtype=np.float64)
    wanted = np.clip(np.ceil(np.round((1 - 10.0**-nines) * total, 6)), 1, total)
    wanted[-1] = total  # the slowest has no place on an axis of nines: draw it at the end
    found = value_ns[np.searchsorted(ranks, wanted)]
    if max_ns is not None:
        found = np.minimum(found, max_ns)
    return Curve(name, nines, found, stated=max(math.log10(total / TAIL_SAMPLES), 0.0))


def draw(one: OneResult) -> Iterator[Figure]:
    """Draw the distribution of a result; of an open loop its response times too."""
    result = one.result
    named = (("latency", "latency"), ("response", "response time"))
    curves = [found for key, name in named if (found := curve_of(one.recording, result, key, name))]
    if not curves:
        return
    inks = [theme.MEASURED, theme.SERIES[1]] if is_usable(result) else [theme.UNTRUSTED, theme.MUTED_INK]
    text = _cells([(name, spread_ns, result) for name, spread_ns in _spreads(result)])
    yield Figure(
        slug=f"{one.slug}-percentiles",
        title=f"{one.name}: {' and '.join(curve.name for curve in curves)} by percentile",
        caption="How long the fastest share of the operations in the window took at most. Dots: p50, p90, p99, p99.9."
        " Dashed: too few operations for a percentile, up to the slowest.",
        alt_text=f"Percentiles of {one.name}. "
        + sentence(f"{r[0]}: p50 {r[1]}, p90 {r[2]}, p99 {r[3]}, p99.9 {r[4]}, slowest {r[5]}, {r[6]}" for r in text),
        chart=chart(curves, inks[: len(curves)]),
        table=Table(("Of", "p50", "p90", "p99", "p99.9", "Slowest", "Trust"), tuple(text)),
    )


def overlaid(recording: Recording, document: Document) -> Iterator[Figure]:
    """Draw the distributions of results of one kind over each other."""
    results = document.results
    titles = titles_of(results)
    groups: dict[str, list[int]] = {}
    for i, result in enumerate(results):
        groups.setdefault(_kind(recording, result), []).append(i)
    for kind, members in groups.items():
        for first in range(0, len(members), _MOST_LINES):
            named = [(f"{i + 1}: {titles[i]}", results[i]) for i in members[first : first + _MOST_LINES]]
            slug = f"{slug_of(kind)}-{first // _MOST_LINES + 1}" if first else slug_of(kind)
            yield from _overlay(recording, kind, slug, named)


def _overlay(recording: Recording, kind: str, slug: str, named: Sequence[tuple[str, Result]]) -> Iterator[Figure]:
    curves, inks, text = [], [], []
    for (name, result), ink in zip(named, theme.SERIES, strict=False):
        found = curve_of(recording, result, "response" if result.response_ns else "latency", name)
        if found:
            curves.append(found)
            inks.append(ink if is_usable(result) else theme.UNTRUSTED)
            text.append((name, result.response_ns or result.latency_ns, result))
    if len(curves) < 2:
        return
    rows = _cells(text)
    has_response = any(result.response_ns for _, result in named)
    yield Figure(
        slug=f"overview-percentiles-{slug}",
        title=f"{kind}: {'response time, or latency of closed loops,' if has_response else 'latency'} by percentile",
        caption="How long the fastest share of the operations took at most. Grey: not trusted. Dashed: too few"
        " operations for a percentile, up to the slowest.",
        alt_text=f"Percentiles of {kind.lower()}. "
        + sentence(f"{r[0]}: p50 {r[1]}, p90 {r[2]}, p99 {r[3]}, p99.9 {r[4]}, slowest {r[5]}, {r[6]}" for r in rows),
        chart=chart(curves, inks),
        table=Table(("Result", "p50", "p90", "p99", "p99.9", "Slowest", "Trust"), tuple(rows)),
    )


def _kind(recording: Recording, result: Result) -> str:
    phase = recording.phase_of(result)
    operation = phase.operations.get(result.job, {}).get(result.operation) if phase else None
    if operation is None:
        return "Whole loops" if result.operation == WHOLE_LOOP else "Operations"
    if operation.direction is not None:
        return "Reads" if operation.direction == "read" else "Writes"
    return "Reads and writes" if operation.reads_too else "Files and names"


def _spreads(result: Result) -> list[tuple[str, LatencyNs]]:
    return [("latency", result.latency_ns), *([("response time", result.response_ns)] if result.response_ns else [])]


def _cells(named: Sequence[tuple[str, LatencyNs, Result]]) -> list[tuple[str, ...]]:
    return [
        (name, *(format_ns(v) for v in (s.p50, s.p90, s.p99, s.p99_9, s.max)), trust_words(result))
        for name, s, result in named
    ]


# -- chart -------------------------------------------------------------------------------------------------------------


def chart(curves: Sequence[Curve], inks: Sequence[str], bands: Sequence[tuple[Band, str]] = ()) -> Layered:
    """Draw curves, each in its colour with its name above, over bands; the axis goes up to the nines of the longest."""
    end = max(1.0, *(float(curve.nines[-1]) for curve in curves))
    ends = [values for band, _ in bands for values in (band.low_ns, band.high_ns)]
    values = np.concatenate([curve.value_ns for curve in curves] + ends)
    low, high = enclosing_steps(max(float(values.min()), 1.0), max(float(values.max()), 1.0))
    x = vl.X(
        "nines:Q",
        title="share of the operations",
        scale=vl.Scale(domain=[0, end], nice=False),
        axis=vl.Axis(values=list(range(math.floor(end) + 1)), labelExpr=_TICK_LABEL, labelFlush=True, grid=True),
    )
    y = vl.Y(
        "ns:Q",
        title="took at most",
        scale=vl.Scale(type="log", domain=[low, high], nice=False),
        axis=vl.Axis(values=dense_log_ticks(low, high, HEIGHT_PX), labelExpr=LATENCY_LABEL, grid=True),
    )
    layers = [_band(band, ink, x, y) for band, ink in bands]
    for curve, ink in zip(curves, inks, strict=True):
        for (nines, ns), dash in ((curve.up_to_stated(), [1, 0]), (curve.beyond(), [3, 3])):
            if len(nines) > 1:
                base = vl.Chart(numeric_csv({"nines": nines, "ns": ns})).encode(x=x, y=y)
                layers.append(base.mark_line(color=ink, strokeWidth=2, strokeDash=dash, interpolate="step-before"))
        layers.append(_dots(curve, ink, x, y))
    return Layered([*layers, *(_names(curves, inks) if len(curves) > 1 else ())], HEIGHT_PX)


def _band(band: Band, ink: str, x: vl.X, y: vl.Y) -> vl.Chart:
    data = numeric_csv({"nines": band.nines, "ns": band.low_ns, "high": band.high_ns})
    area = vl.Chart(data).mark_area(interpolate="step-before", color=ink, opacity=0.2)
    drawn: vl.Chart = area.encode(x=x, y=y, y2="high:Q")
    return drawn


def _dots(curve: Curve, ink: str, x: vl.X, y: vl.Y) -> vl.Chart:
    rows: list[dict[str, object]] = []
    for label, share in PERCENTILES.items():
        if (ns := curve.at(share)) is not None:
            nines = -math.log10(1 - share)
            rows.append({"nines": nines, "ns": ns, "percentile": label, "value": format_ns(ns), "curve": curve.name})
    tooltip = [vl.Tooltip("curve:N"), vl.Tooltip("percentile:N"), vl.Tooltip("value:N")]
    base = vl.Chart(records(rows)).encode(x=x, y=y, tooltip=tooltip)
    return base.mark_point(color=ink, filled=True, opacity=1, size=45)


def _names(curves: Sequence[Curve], inks: Sequence[str]) -> list[vl.Chart]:
    """Write the names above the picture, in the order in which the curves end: the slowest first."""
    order = sorted(range(len(curves)), key=lambda k: -float(curves[k].value_ns[-1]))
    return names_above([(curves[k].name, inks[k]) for k in order])
