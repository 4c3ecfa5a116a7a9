"""The exact null distribution of Mann and Whitney's U, and what it says of two small samples.

U counts the pairs (one of each sample) in which the second is the larger. If both samples are of one distribution, every
order of all n + m values is as likely, so P(U <= u) is the number of orders with at most u such pairs by C(n + m, n). The
numbers of orders are the coefficients of the Gaussian binomial [n + m choose n]; they are whole and below 2**53 for samples
of up to 20, so that doubles hold them exactly.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist, median

import numpy as np

from assay.analysis.arrays import FloatArray

EXACT_TO = 20
"""Values of the larger sample up to which the distribution is exact; a normal one stands for it beyond."""


@functools.cache
def _orders(n: int, m: int) -> FloatArray:
    """Count the orders by U, shape `(n m + 1,)`: prod (1 - x^(m + i)) / (1 - x^i) for i of 1 to n."""
    size = n * m + 1
    counts = np.zeros(size)
    counts[0] = 1.0
    for i in range(1, n + 1):
        counts[m + i :] -= counts[: size - (m + i)].copy() if m + i < size else 0.0
        for start in range(i, size):
            counts[start] += counts[start - i]
    return counts


def at_most(u: int, n: int, m: int) -> float:
    """P(U <= u) for samples of n and m from one distribution."""
    if u < 0:
        return 0.0
    if max(n, m) <= EXACT_TO:
        return float(_orders(n, m)[: u + 1].sum()) / math.comb(n + m, n)
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    return NormalDist(n * m / 2, spread).cdf(u + 0.5)


def p_value(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the hypothesis that both are of one distribution; where values are equal, never too small."""
    pairs = [(x, y) for x in a for y in b]
    above = sum(y > x for x, y in pairs) + 0.5 * sum(y == x for x, y in pairs)
    smaller = math.ceil(min(above, len(pairs) - above))
    return min(1.0, 2 * at_most(smaller, len(a), len(b)))


def shift(a: Sequence[float], b: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Give the Hodges-Lehmann estimate of how far `b` lies above `a`, and its interval.

    The estimate is the median of all differences between one of `b` and one of `a`, and the ends of the interval are those
    differences that the exact distribution of U leaves (Lehmann, Nonparametrics, 2.5).

    Returns:
        Estimate, lower and upper end.

    Raises:
        ValueError: so few values can have no such interval (3 and 3 at 95 %).
    """
    n, m = len(a), len(b)
    apart = sorted(y - x for x, y in itertools.product(a, b))
    outside = 0
    while at_most(outside, n, m) <= (1 - confidence) / 2:
        outside += 1
    if outside == 0:
        raise ValueError(f"{n} and {m} values have no interval at this confidence")
    return median(apart), apart[outside - 1], apart[n * m - outside]
