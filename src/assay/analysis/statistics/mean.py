"""How well is the mean of a series of intervals known?

Neighbouring intervals of a run are alike, so n of them give less information than n independent ones. With the
correlation of neighbours

    p = sum r_t r_(t-1) / sum r_t^2,   p += (1 + 3 p) / n,   0 <= p <= 0.95

(the second step takes back Kendall's bias), the mean is as good as one of n_eff = n (1 - p) / (1 + p) values, at least 3,
and its 95 % interval is +- t(0.975, n_eff - 1) s / sqrt(n_eff). From 100 intervals on, that of ten batch means is taken
where it is wider: it does not lean on the noise being AR(1), and sees a rate that wanders slowly.
tests/unit/test_statistics.py holds it to its coverage.
"""

import math
from dataclasses import dataclass

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, dot
from assay.analysis.statistics.beta import student_quantile

_BATCHED_FROM = 100
"""Values from which on ten batches have ten values each."""

_MOST_CORRELATION = 0.95
_LEAST_EFFECTIVE = 3.0
_BATCHES = 10


@dataclass(frozen=True)
class MeanInterval:
    """A mean and its 95 % interval."""

    mean: float
    half_width: float
    effective: float
    """Number of independent values that would give as much information."""

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width


def mean_interval(values: FloatArray) -> MeanInterval | None:
    """Give the interval of the mean of a series, shape `(n,)`, in order; None for fewer than three values."""
    n = len(values)
    if n < _LEAST_EFFECTIVE:
        return None
    effective = effective_count(values)
    half = _half_width(values, effective)
    if n >= _BATCHED_FROM:
        batches = np.array([batch.mean() for batch in np.array_split(values, _BATCHES)])
        half = max(half, _half_width(batches, _BATCHES))
    return MeanInterval(float(values.mean()), half, effective)


def effective_count(values: FloatArray) -> float:
    """Return how many independent values give as much information about the mean as a series does."""
    n = len(values)
    p = correlation(values)
    return float(max(n * (1 - p) / (1 + p), min(_LEAST_EFFECTIVE, n)))


def correlation(values: FloatArray) -> float:
    """Correlation of neighbours, Kendall's bias taken back, from 0 to 0.95."""
    rest = values - values.mean()
    power = dot(rest, rest)
    if power <= 0:
        return 0.0
    p = dot(rest[1:], rest[:-1]) / power
    return min(max(p + (1 + 3 * p) / len(values), 0.0), _MOST_CORRELATION)


def _half_width(values: FloatArray, effective: float) -> float:
    t = student_quantile((1 + thresholds.CONFIDENCE) / 2, effective - 1)
    return float(t * values.std(ddof=1) / math.sqrt(effective))
