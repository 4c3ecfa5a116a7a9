"""Latency histograms: bucket indices to nanoseconds, and percentiles.

The engine's buckets have the HdrHistogram layout (Gil Tene; `hdrhistogram` crate 7) for 1 ns to 1 h with 3 significant
digits: indices 0 to 2047 are single nanoseconds, then each doubling of the value has 1024 buckets, so that no bucket is
wider than 1/1024 of its lowest value. Longer values are counted in the last bucket.

A percentile is the value of rank `ceil(q n)` (the inverse of the empirical distribution, Hyndman & Fan type 1), known
to its bucket: the middle of the bucket is returned, never more than the exact largest value. The error is thus at most
half a bucket, 0.05 %.
"""

import functools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import numpy as np

from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.thresholds import TAIL_SAMPLES
from assay.bundle.contents import BUCKETS

LINEAR_BUCKETS: Final = 2048
BUCKETS_PER_DOUBLING: Final = 1024

QUANTILES: Final = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p99": Fraction(99, 100),
    "p99_9": Fraction(999, 1000),
}
"""Exact, so that the rank is not a matter of rounding."""


def _shift(index: IntArray) -> IntArray:
    return np.where(index < LINEAR_BUCKETS, 0, index // BUCKETS_PER_DOUBLING - 1).astype(np.int64)


def bucket_lowest_ns(index: IntArray) -> IntArray:
    """Smallest value of each bucket, in nanoseconds."""
    mantissa = np.where(index < LINEAR_BUCKETS, index, index % BUCKETS_PER_DOUBLING + BUCKETS_PER_DOUBLING)
    return np.left_shift(mantissa.astype(np.int64), _shift(index))


def bucket_width_ns(index: IntArray) -> IntArray:
    """Number of whole nanoseconds that each bucket holds."""
    return np.left_shift(np.ones_like(index), _shift(index))


def bucket_middle_ns(index: IntArray) -> FloatArray:
    """Middle of the whole nanoseconds of each bucket: for buckets of one value, that value."""
    return _middles_ns()[index]


@functools.cache
def _middles_ns() -> FloatArray:
    """Middles of all buckets."""
    index = np.arange(BUCKETS)
    return bucket_lowest_ns(index) + (bucket_width_ns(index) - 1) / 2


def first_above(value_ns: float) -> int:
    """First bucket whose middle is above a value."""
    return int(np.searchsorted(_middles_ns(), value_ns, side="right"))


def summed(index: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Add buckets up: those that are filled, in order, and what each holds."""
    if not len(index):
        return index, count
    first = int(index.min())
    sums = np.bincount(index - first, count).astype(np.int64)
    filled = np.flatnonzero(sums)
    return filled + first, sums[filled]


@functools.cache
def samples_needed(quantile: Fraction) -> int:
    """Samples below which a percentile would rest on fewer than ten values beyond it: 10 / (1 - q)."""
    return int(TAIL_SAMPLES / (1 - quantile))


def quantiles_ns(value_ns: FloatArray, count: IntArray, quantiles: Iterable[Fraction]) -> list[float | None]:
    """Values of percentiles in nanoseconds.

    Args:
        value_ns: Values in any order; one may stand there more than once.
        count: How often each was met.
        quantiles: Shares of the values at or below, above 0 and below 1.

    Returns:
        The percentiles; None for one that there are too few samples for.
    """
    order = np.argsort(value_ns, kind="stable")
    ranks = np.cumsum(count[order])
    total = int(ranks[-1]) if len(ranks) else 0
    return [
        float(value_ns[order[np.searchsorted(ranks, math.ceil(quantile * total))]])
        if total >= samples_needed(quantile)
        else None
        for quantile in quantiles
    ]


def shares_at_most(count: IntArray) -> FloatArray:
    """Share of all values up to each of them, the last exactly 1; `count` is in the order of the values.

    It is a division of arrays: a table's division by one number multiplies by its reciprocal, and of 49 values all
    would be a little less than 1.
    """
    up_to = np.cumsum(count)
    return up_to / up_to[-1:]


def percentiles_ns(
    index: IntArray, count: IntArray, quantiles: Iterable[Fraction], max_ns: float
) -> list[float | None]:
    """Values of percentiles of buckets in nanoseconds, never more than `max_ns`; None: too few samples."""
    found = quantiles_ns(bucket_middle_ns(index), count, quantiles)
    return [None if value_ns is None else min(value_ns, max_ns) for value_ns in found]
