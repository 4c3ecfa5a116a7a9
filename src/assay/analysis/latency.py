"""How long did operations take, and how well are the percentiles known?

Percentiles are those of the operations in a span (`histogram.py`); each has a 95 % interval from order statistics, for
the number of independent operations that give as much information (`statistics/quantile.py`).
"""

import dataclasses
import functools

import numpy as np

from assay.analysis import histogram
from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import Rows, Span, runs_of
from assay.analysis.statistics.quantile import enclosing_shares
from assay.results import LatencyEstimatesNs, LatencyNs

_NONE = LatencyNs(mean=None, p50=None, p90=None, p99=None, p99_9=None, max=None)


@dataclasses.dataclass(frozen=True)
class OperationLatency:
    """OperationLatency or response times of one operation in a span."""

    record: PhaseRecord
    job: str
    operation: str
    series: str
    """`latency` or `response`."""
    span: Span

    @property
    def _buckets(self) -> tuple[IntArray, IntArray, IntArray]:
        """Bucket, operations in it, and the end of their interval."""
        buckets = self.record.buckets(self.job, self.operation, self.series)
        inside = buckets.within(self.span)
        return buckets.column("bucket")[inside], buckets.column("n")[inside], buckets.t_ns[inside]

    @property
    def _rows(self) -> Rows:
        return self.record.rows(self.job, self.operation)

    @functools.cached_property
    def _summed(self) -> tuple[IntArray, IntArray]:
        """Filled buckets in order, and the operations in each."""
        index, count, _ = self._buckets
        return histogram.summed(index, count)

    def buckets(self) -> tuple[FloatArray, IntArray]:
        """Give latencies in nanoseconds in order, each with how many operations had it."""
        index, count = self._summed
        return histogram.bucket_middle_ns(index), count

    @functools.cached_property
    def values(self) -> LatencyNs:
        """Mean, percentiles and the largest."""
        index, count = self._summed
        samples = int(count.sum())
        if samples == 0:
            return _NONE
        percentiles = histogram.percentiles_ns(index, count, histogram.QUANTILES.values(), self.largest_ns)
        return LatencyNs(
            mean=float(self._rows.total(f"{self.series}_sum_ns", self.span)) / samples,
            max=self.largest_ns,
            **dict(zip(histogram.QUANTILES, percentiles, strict=True)),
        )

    @functools.cached_property
    def intervals(self) -> LatencyEstimatesNs | None:
        """Give the intervals of the percentiles; None where there are none."""
        index, count, t_ns = self._buckets
        if not len(index):
            return None
        begins, _ = runs_of(t_ns)
        total = np.add.reduceat(count, begins)
        filled, counts = self._summed
        ranks, values_ns = np.cumsum(counts), histogram.bucket_middle_ns(filled)
        found: dict[str, tuple[float, float] | None] = {}
        for name, quantile in histogram.QUANTILES.items():
            found[name] = None
            value_ns = getattr(self.values, name)
            if value_ns is None:
                continue
            above = np.add.reduceat(count * (index >= histogram.first_above(value_ns)), begins)
            shares = enclosing_shares(float(quantile), above, total)
            if shares is None or shares[1] is None:
                continue
            places = np.searchsorted(ranks, np.ceil(np.array(shares, dtype=np.float64) * ranks[-1]))
            low_ns, high_ns = (min(float(values_ns[place]), self.largest_ns) for place in places)
            found[name] = (low_ns, high_ns)
        return LatencyEstimatesNs(**found)

    @functools.cached_property
    def largest_ns(self) -> float:
        """Largest value inside the span, from maxima that run since the phase began; 0 where there is no operation in it.

        If the maximum grew inside the span, that is its largest value. If not, the largest value is in the highest bucket.
        """
        if not len(self._buckets[0]):
            return 0.0
        column = f"{self.series}_max_ns"
        at_end, at_begin = (self._rows.latest(column, t_ns) for t_ns in (self.span.end_ns, self.span.begin_ns))
        last = float("inf") if at_end is None else float(at_end)
        if at_begin is None or at_end != at_begin:
            return last
        return min(last, float(histogram.bucket_middle_ns(self._buckets[0].max(keepdims=True))[0]))
