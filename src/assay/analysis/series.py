"""How did the rate of a job go, interval by interval?

The operations of a job, each counted once, in the intervals of a phase that lie in the time in which all its workers were
at work. The first and the last interval are shorter than the others and hold start and end: one that lies outside by more
than a tenth is not counted. Neither is the last one where it follows the time of the phase: the last operations complete in
it, and none begins. Where an interval has few operations, chance alone makes the rates differ, so neighbours are gathered
until each has 20 on average.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Rows, Span, shares_inside
from assay.events import StoppedBy

OPS_EACH = 20
"""Operations that an interval has on average: with fewer, counting alone (1 / sqrt(20)) varies it by more than a fifth, and
neighbours are gathered."""


@dataclasses.dataclass(frozen=True)
class RateSeries:
    """Operations in consecutive intervals."""

    edges_ns: IntArray
    """Begin of the first, then the ends of all, shape `(n + 1,)`."""
    ops: IntArray
    """Shape `(n,)`."""

    def __len__(self) -> int:
        """Count the intervals."""
        return len(self.ops)

    @property
    def rates(self) -> FloatArray:
        """Operations per second."""
        lengths_s = np.diff(self.edges_ns) / NS_PER_S
        rates: FloatArray = self.ops / lengths_s
        return rates

    @property
    def unit(self) -> float:
        """The rate that a single operation more in an interval is."""
        length_s = float(np.diff(self.edges_ns).mean()) / NS_PER_S if len(self) else 0.0
        return 1 / length_s if length_s > 0 else 0.0

    def span(self, begin: int, end: int) -> Span:
        """Give the time of intervals `begin` up to before `end`."""
        return Span(int(self.edges_ns[begin]), int(self.edges_ns[end]))

    def gathered(self, count: int) -> "RateSeries":
        """Put each `count` neighbours together; the last ones that make no whole interval are left out."""
        whole = len(self) // count
        ops = self.ops[: whole * count].reshape(whole, count).sum(axis=1)
        return RateSeries(self.edges_ns[: whole * count + 1 : count], ops)


def series_of(record: PhaseRecord, job: str, common: Span) -> RateSeries:
    """Give the series of a job, over the time that its workers share."""
    edges = series_edges(record, common)
    return gathered_rates(edges, ops_within(edges, [record.rows(job, name) for name in record.counted_once(job)]))


def series_edges(record: PhaseRecord, common: Span) -> IntArray:
    """Give the intervals that a series is made of: begin of the first, then all ends; one edge where there are none."""
    inside = np.flatnonzero(shares_inside(record.edges_ns, common) >= thresholds.NEARLY_ALL)
    begins, ends = record.edges_ns[inside], record.edges_ns[inside + 1]
    lengths = ends - begins
    is_short = len(lengths) and lengths[-1] < thresholds.NEARLY_ALL * float(np.median(lengths))
    # No more than one: a longer wait lowers the rate of the phase, and has to show.
    if is_short or (len(lengths) and _follows_its_time(int(begins[-1]), record)):
        begins, ends = begins[:-1], ends[:-1]
    return np.concatenate([begins[:1], ends]) if len(ends) else np.zeros(1, dtype=np.int64)


def _follows_its_time(begin_ns: int, record: PhaseRecord) -> bool:
    """Whether an interval begins once the time of its phase was over: no operation begins there."""
    finished, seconds = record.finished, record.phase.longest_s
    if finished is None or finished.stopped_by is not StoppedBy.TIME or seconds is None:
        return False
    return begin_ns >= record.start_ns + int(seconds * NS_PER_S)


def gathered_rates(edges_ns: IntArray, ops: IntArray) -> RateSeries:
    """Make a series of intervals, with neighbours put together where they hold too few operations."""
    series = RateSeries(edges_ns, ops)
    if not len(series):
        return series
    mean = series.ops.sum() / len(series)
    if not 0 < mean < OPS_EACH:
        return series
    # As many as the shortest series that can be judged needs stay, unless they have less than an operation each: a series of
    # zeros and ones shows no level.
    most = max(1, len(series) // thresholds.STEADY_VALUES, math.ceil(1 / mean))
    return series.gathered(min(math.ceil(OPS_EACH / mean), most))


def ops_within(edges_ns: IntArray, operations: Sequence[Rows], column: str = "ops") -> IntArray:
    """Sum a column of operations up between consecutive edges."""
    ops = np.zeros(len(edges_ns) - 1, dtype=np.int64)
    for rows in operations:
        places = np.searchsorted(edges_ns, rows.t_ns, side="left") - 1
        inside = (places >= 0) & (places < len(ops))
        np.add.at(ops, places[inside], rows.column(column)[inside])
    return ops
