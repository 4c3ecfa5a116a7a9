"""The exact null distribution of Wilcoxon's signed ranks, and the interval that it gives for the middle of a small sample.

W is the sum of the ranks, by size, of those values that lie above the middle. If a distribution is symmetric, every value is
as likely above as below, so P(W <= w) is the number of sets of whole numbers up to n with a sum of at most w, by 2**n. The
numbers of sets are the coefficients of prod (1 + x^i) for i of 1 to n; doubles hold them exactly for samples of up to 50.
"""

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from assay.analysis.arrays import FloatArray

EXACT_TO = 50
"""Values up to which the distribution is exact; a normal one stands for it beyond."""


@functools.cache
def _sets(n: int) -> FloatArray:
    """Count the sets by their sum, shape `(n (n + 1) / 2 + 1,)`."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for i in range(1, n + 1):
        counts[i:] += counts[:-i].copy()
    return counts


def sum_at_most(w: int, n: int) -> float:
    """P(W <= w) for a sample of n from a symmetric distribution."""
    if w < 0:
        return 0.0
    if n <= EXACT_TO:
        return float(_sets(n)[: w + 1].sum()) / 2.0**n
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return NormalDist(n * (n + 1) / 4, spread).cdf(w + 0.5)


def middle(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Give the Hodges-Lehmann estimate of the middle of a sample, and its interval.

    The estimate is the median of the means of all pairs of values, each with itself too, and the ends of the interval are
    those means that the exact distribution of W leaves (Lehmann, Nonparametrics, 4.2).

    Returns:
        Estimate, lower and upper end.

    Raises:
        ValueError: so few values can have no such interval (5 at 95 %: all between the least and the largest is 93.75 %).
    """
    n = len(values)
    sample = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(n)
    means = np.sort((sample[first] + sample[second]) / 2)
    outside = 0
    while sum_at_most(outside, n) <= (1 - confidence) / 2:
        outside += 1
    if outside == 0:
        raise ValueError(f"{n} values have no interval at this confidence")
    return float(np.median(means)), float(means[outside - 1]), float(means[len(means) - outside])
