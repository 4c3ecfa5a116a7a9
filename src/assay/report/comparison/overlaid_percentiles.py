"""Draw the latency distribution of one result for all sides: a line per side, with a band of its runs.

A line is of the operations of all runs that count together, merged losslessly; the band goes from the lowest to the highest
of them, as far as each has operations enough for a percentile. The median of the runs' p99, which is compared,
is another number than the p99 of all their operations; the table has both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from assay.report.comparison.compared_runs import ComparedSide, Measurement, left_out_note
from assay.report.figure import Figure, Table, sentence
from assay.report.figures.percentile_curve import (
    PERCENTILES,
    Band,
    Curve,
    band_of,
    chart,
    curve_from,
)
from assay.report.recording import Latencies
from assay.report.verdict import trust_words
from assay.results import LatencyNs
from assay.units import format_ns

_WHOLE_S = (0.0, 1.0)


@dataclass(frozen=True)
class _OfSide:
    side: ComparedSide
    together: Curve
    band: Band | None
    runs: tuple[Measurement, ...]


def draw(sides: Sequence[ComparedSide], label: str, title: str, slug: str) -> Iterator[Figure]:
    """Draw the distribution of each side; nothing where no run has latencies of it."""
    series = series_of(sides, label)
    drawn = [found for side in sides if (found := _of_side(side, label, series))]
    if not drawn:
        return
    words = "response time" if series == "response" else "latency"
    together = [_together(one) for one in drawn]
    parts = [row for one in drawn for row in (_together(one), *_of_runs(one, series))]
    yield Figure(
        slug=f"{slug}-percentiles",
        title=f"{title}: {words} by percentile",
        caption="How long the fastest share of the operations in the windows took at most, all runs of a side that"
        " count together. Band: from the lowest to the highest of them. Dashed: too few operations for a percentile, up to"
        " the slowest." + left_out_note(sides, label),
        alt_text=f"Percentiles of the {words} of {title}. "
        + sentence(f"{r[0]}: p50 {r[1]}, p90 {r[2]}, p99 {r[3]}, p99.9 {r[4]}, slowest {r[5]}" for r in together),
        chart=chart(
            [one.together for one in drawn],
            [one.side.ink for one in drawn],
            [(one.band, one.side.ink) for one in drawn if one.band],
        ),
        table=Table(("Of", "p50", "p90", "p99", "p99.9", "Slowest", "Trust"), tuple(parts)),
    )


def series_of(sides: Sequence[ComparedSide], label: str) -> str:
    """Name what is drawn: response times if every run has them, else latencies."""
    results = [measured.result for side in sides for measured in side.measured(label)]
    return "response" if results and all(result.response_ns for result in results) else "latency"


def _of_side(side: ComparedSide, label: str, series: str) -> _OfSide | None:
    parts, curves, runs = [], [], []
    for measured in side.measured(label):
        result = measured.result
        latencies = measured.recording.latencies(result, series)
        if latencies is None or result.window_s is None or not measured.counts:
            continue
        spread_ns = _spread(measured, series)
        curve = curve_from(latencies, result.window_s, spread_ns.max, measured.name)
        if curve is not None:
            parts.append((latencies, latencies.in_window(result.window_s)))
            curves.append(curve)
            runs.append(measured)
    if not curves:
        return None
    value_ns = np.concatenate([latencies.value_ns[inside] for latencies, inside in parts])
    pooled = Latencies(
        edges_s=np.array(_WHOLE_S),
        interval=np.zeros(len(value_ns), dtype=np.int64),
        value_ns=value_ns,
        width_ns=np.concatenate([latencies.width_ns[inside] for latencies, inside in parts]),
        count=np.concatenate([latencies.count[inside] for latencies, inside in parts]),
    )
    slowest = [_spread(measured, series).max for measured in runs]
    most = None if None in slowest else max(value for value in slowest if value is not None)
    together = curve_from(pooled, _WHOLE_S, most, side.name)
    if together is None:
        return None
    return _OfSide(side, together, band_of(curves) if len(curves) > 1 else None, tuple(runs))


def _spread(measured: Measurement, series: str) -> LatencyNs:
    result = measured.result
    return result.response_ns if series == "response" and result.response_ns else result.latency_ns


def _together(one: _OfSide) -> tuple[str, ...]:
    at = [one.together.at(share) for share in PERCENTILES.values()]
    slowest = format_ns(float(one.together.value_ns[-1]))
    return (f"{one.side.letter}, {len(one.runs)} runs together", *map(format_ns, at), slowest, "")


def _of_runs(one: _OfSide, series: str) -> Iterator[tuple[str, ...]]:
    """Give the medians of the runs, which are what is compared, then each run."""
    letter, count = one.side.letter, len(one.runs)
    spreads = [_spread(measured, series) for measured in one.runs]
    each = [[s.p50, s.p90, s.p99, s.p99_9, s.max] for s in spreads]
    if count > 1:
        middles = [median(known) if len(known) == count else None for known in map(_known, zip(*each, strict=True))]
        yield (f"{letter}, median of its runs", *map(format_ns, middles), "")
    for measured, values in zip(one.runs, each, strict=True):
        yield (f"{letter}, {measured.name}", *map(format_ns, values), trust_words(measured.result))


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
