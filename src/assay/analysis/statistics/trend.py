"""The least-squares line through a series, and how much of it is chance."""

import math
from dataclasses import dataclass

import numpy as np

from assay.analysis.arrays import FloatArray, dot
from assay.analysis.statistics.mean import correlation


@dataclass(frozen=True)
class Trend:
    """The line through a series."""

    over_all: float
    """By how much it rises from the first value to the last."""
    error: float
    """Standard error of that, the correlation of neighbours allowed for."""
    squares: float
    """Sum of the squared distances to it."""
    variance: float
    """Long-run variance of these."""


def trend(values: FloatArray) -> Trend:
    """Put a line through a series, shape `(n,)`, in order."""
    n = len(values)
    at: FloatArray = np.arange(n, dtype=np.float64) - (n - 1) / 2
    power = dot(at, at)
    slope = dot(at, values) / power if power else 0.0
    rest = values - values.mean() - slope * at
    variance = long_run_variance(rest, n - 2)
    error = math.sqrt(variance / power) * (n - 1) if power else math.inf
    return Trend(slope * (n - 1), error, dot(rest, rest), variance)


def long_run_variance(rest: FloatArray, freedom: int) -> float:
    """Variance of what is left of a series, times what the correlation of neighbours adds to that of a mean."""
    p = correlation(rest)
    return dot(rest, rest) / max(freedom, 1) * (1 + p) / (1 - p)
