"""The exact null distribution of Wilcoxon's signed ranks, and what it says of differences of pairs.

W counts the means of two of the differences (each with itself, too: Walsh's averages) that lie above 0. If the differences
are symmetric about 0, every choice of signs is as likely, so P(W <= w) is the number of subsets of 1 to n whose sum is at
most w, by 2^n. The numbers are whole and below 2**53 for up to 50 pairs, so that doubles hold them exactly.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist, median

import numpy as np

from assay.analysis.arrays import FloatArray

EXACT_PAIRS = 50
"""Pairs up to which the distribution is exact; a normal one replaces it beyond."""
LEAST_PAIRS = 6
"""Pairs from where on there is an interval at 95 %: of five, all that was seen is one at 93.75 %."""


@functools.cache
def _subsets(n: int) -> FloatArray:
    """Count the subsets of 1 to n by their sum, shape `(n (n + 1) / 2 + 1,)`."""
    size = n * (n + 1) // 2 + 1
    counts = np.zeros(size)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] += counts[: size - rank].copy()
    return counts


def at_most(w: int, n: int) -> float:
    """P(W <= w) for n differences that are symmetric about 0."""
    if w < 0:
        return 0.0
    if n <= EXACT_PAIRS:
        return float(_subsets(n)[: w + 1].sum()) / float(2**n)
    mean = n * (n + 1) / 4
    return NormalDist(mean, math.sqrt(mean * (2 * n + 1) / 6)).cdf(w + 0.5)


def p_value(differences: Sequence[float]) -> float:
    """Two-sided p of the hypothesis that they are symmetric about 0; where some are equal or 0, never too small."""
    averages = _averages(differences)
    above = sum(x > 0 for x in averages) + 0.5 * sum(x == 0 for x in averages)
    smaller = math.ceil(min(above, len(averages) - above))
    return min(1.0, 2 * at_most(smaller, len(differences)))


def centre(differences: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Give the Hodges-Lehmann estimate of the middle, and its interval.

    The estimate is the median of Walsh's averages, and the ends of the interval are those of them that the exact
    distribution of W leaves (Lehmann, Nonparametrics, 4.3).

    Returns:
        Estimate, lower and upper end.

    Raises:
        ValueError: so few differences can have no such interval (five at 95 %).
    """
    n = len(differences)
    averages = sorted(_averages(differences))
    outside = 0
    while at_most(outside, n) <= (1 - confidence) / 2:
        outside += 1
    if outside == 0:
        raise ValueError(f"{n} differences have no interval at this confidence")
    return median(averages), averages[outside - 1], averages[len(averages) - outside]


def _averages(differences: Sequence[float]) -> list[float]:
    return [(x + y) / 2 for x, y in itertools.combinations_with_replacement(differences, 2)]
