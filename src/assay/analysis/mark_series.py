"""The rate of one operation around a mark: levels of stretches of time, and the way of the rate after the mark.

A level is that of the whole intervals inside its stretch: one that a mark cuts in two belongs to neither side. Its rate is
all operations by all time, with the 95 % interval of the mean of the intervals (`statistics/mean.py`).
"""

import dataclasses
import functools

import numpy as np

from assay.analysis.latency import OperationLatency
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.series import RateSeries, gathered_rates, ops_within, series_edges
from assay.analysis.statistics import recovery, steady
from assay.analysis.statistics.mean import mean_interval
from assay.results import MarkedLevel, Recovery
from assay.verdicts import SteadyVerdict

_EDGE_NS = 1000
"""Times of the tables are seconds as floats: edges are known to the microsecond."""


@dataclasses.dataclass(frozen=True)
class MarkSeries:
    """One operation of a job, over the time in which all workers were at work."""

    record: PhaseRecord
    job: str
    operation: str
    common: Span
    moves_data: bool

    @functools.cached_property
    def fine(self) -> RateSeries:
        """As it was sampled."""
        edges = series_edges(self.record, self.common)
        return RateSeries(edges, ops_within(edges, [self.record.rows(self.job, self.operation)]))

    @functools.cached_property
    def samples(self) -> RateSeries:
        """With neighbours put together where they hold too few operations to distinguish a change from chance."""
        return gathered_rates(self.fine.edges_ns, self.fine.ops)

    @property
    def span(self) -> Span:
        """All of it."""
        return Span(int(self.fine.edges_ns[0]), int(self.fine.edges_ns[-1]))

    @property
    def interval_s(self) -> float:
        """Length of an interval as it was sampled."""
        return float(np.median(np.diff(self.fine.edges_ns))) / NS_PER_S if len(self.fine) else 0.0

    def level(self, span: Span) -> MarkedLevel | None:
        """Give the level of a stretch; None where no whole interval lies in it."""
        first, stop = _places(self.fine, span)
        if stop <= first:
            return None
        inside = self.fine.span(first, stop)
        ops = int(self.fine.ops[first:stop].sum())
        iops = ops / inside.seconds
        mean = mean_interval(self.fine.rates[first:stop])
        latency = OperationLatency(self.record, self.job, self.operation, "latency", inside)
        values, intervals = latency.values, latency.intervals
        moved = self.record.rows(self.job, self.operation).total("bytes", inside) if self.moves_data else None
        return MarkedLevel(
            window_s=self.since_start_s(inside),
            intervals=stop - first,
            iops=iops,
            iops_interval=None if mean is None else (max(0.0, iops - mean.half_width), iops + mean.half_width),
            throughput_bytes_per_s=None if moved is None else moved / inside.seconds,
            p50_ns=values.p50,
            p50_interval_ns=intervals.p50 if intervals else None,
            p99_ns=values.p99,
            p99_interval_ns=intervals.p99 if intervals else None,
            max_ns=values.max,
        )

    def settled(self, span: Span) -> Span:
        """Leave out of a stretch what came before its rate was steady, where it came to be that."""
        first, stop = _places(self.samples, span)
        found = steady.judge(self.samples.rates[first:stop], unit=self.samples.unit)
        if found.verdict is not SteadyVerdict.STEADY or found.last is None or not found.last.begin:
            return span
        return Span(int(self.samples.edges_ns[first + found.last.begin]), span.end_ns)

    def recovery(self, before: Span, mark_ns: int) -> tuple[Recovery, Span | None] | None:
        """Follow the rate after a mark: what became of it, and from when until when it was off; None: there is no before."""
        first, stop = _places(self.samples, before)
        rates = self.samples.rates
        if stop <= first or rates[first:stop].mean() <= 0:
            return None
        level = float(rates[first:stop].mean())
        band = recovery.band_of(rates[first:stop])
        # From the sample on in which the mark was.
        edges = self.samples.edges_ns
        place = int(np.searchsorted(edges[1:], mark_ns + _EDGE_NS))
        found = recovery.find_recovery(level, band, rates[place:])
        left_ns, back_ns = (
            None if at is None else max(mark_ns, int(edges[place + at])) for at in (found.left, found.back)
        )
        within_s = float(np.median(np.diff(edges))) / NS_PER_S
        lasting = Recovery(
            verdict=found.verdict,
            left_s=None if left_ns is None else (left_ns - mark_ns) / NS_PER_S,
            seconds=None if back_ns is None else (back_ns - mark_ns) / NS_PER_S,
            within_s=within_s,
            band=band,
        )
        if left_ns is None:
            return lasting, None
        return lasting, Span(mark_ns, self.span.end_ns if back_ns is None else back_ns)

    def since_start_s(self, span: Span) -> tuple[float, float]:
        """Give a stretch in seconds since the phase began."""
        start_ns = self.record.start_ns
        return (span.begin_ns - start_ns) / NS_PER_S, (span.end_ns - start_ns) / NS_PER_S


def _places(series: RateSeries, span: Span) -> tuple[int, int]:
    """Give the first interval that lies inside a span, and the one after the last."""
    edges = series.edges_ns
    first = int(np.searchsorted(edges, span.begin_ns - _EDGE_NS))
    stop = int(np.searchsorted(edges, span.end_ns + _EDGE_NS, side="right")) - 1
    return min(first, len(series)), min(max(stop, 0), len(series))
