"""The exact null distribution of Mann and Whitney's U, and what it says of two small samples.

U counts the pairs (one of each sample) in which the second is the larger. If both samples are of one distribution, every
order of all n + m values is as likely, so P(U <= u) is the number of orders with at most u such pairs by C(n + m, n). The
numbers of orders are the coefficients of the Gaussian binomial [n + m choose n]; they are whole and below 2**53 for samples
of up to 20, so that doubles hold them exactly.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist, median

import numpy as np

from assay.analysis.arrays import FloatArray

EXACT_TO = 20
"""Values of the larger sample up to which the distribution is exact; a normal one replaces it beyond."""


@functools.cache
def _orders(n: int, m: int) -> FloatArray:
    """Count the orders by U, shape `(n m + 1,)`: prod (1 - x^(m + i)) / (1 - x^i) for i of 1 to n."""
    size = n * m + 1
    counts = np.zeros(size)
    counts[0] = 1.0
    for i in range(1, n + 1):
        counts[m + i :] -= counts[: size - (m + i)].copy()
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
    """Two-sided p of the hypothesis that both are of one distribution.

    Where values are equal, it is that of all ways to deal out the values that there are, as likely each: exact for samples
    of up to 20, normal with the variance of ties beyond.
    """
    if len({*a, *b}) < len(a) + len(b):
        return _p_of_ties(a, b) if max(len(a), len(b)) <= EXACT_TO else p_normal(a, b)
    above = sum(y > x for x, y in itertools.product(a, b))
    smaller = min(above, len(a) * len(b) - above)
    return min(1.0, 2 * at_most(smaller, len(a), len(b)))


def p_normal(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p by the normal distribution, as many programs give it, corrected for continuity and for ties.

    The variance of U is n m (N + 1 - sum (t^3 - t) / (N (N - 1))) / 12, with N = n + m and t the sizes of groups of equal
    values (Lehmann, Nonparametrics, 1.4). It is 1 where all values are equal.
    """
    n, m = len(a), len(b)
    total = n + m
    ties = sum(size**3 - size for size in Counter((*a, *b)).values())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    apart = max(abs(_pairs_above(a, b) / 2 - n * m / 2) - 0.5, 0.0)
    return 2 * NormalDist().cdf(-apart / math.sqrt(variance))


def _pairs_above(a: Sequence[float], b: Sequence[float]) -> int:
    """Give 2 U, a whole number: a pair of equal values counts half."""
    return sum(2 * (y > x) + (y == x) for x, y in itertools.product(a, b))


def _p_of_ties(a: Sequence[float], b: Sequence[float]) -> float:
    """Count the ways to deal out the values, group of equal ones by group, by how many `b` has so far and by 2 U."""
    n, m = len(a), len(b)
    groups = Counter((*a, *b))
    ways: dict[tuple[int, int], int] = {(0, 0): 1}
    dealt = 0
    for value in sorted(groups):
        size, more = groups[value], Counter[tuple[int, int]]()
        for (of_b, twice_u), count in ways.items():
            of_a = dealt - of_b
            for take in range(max(0, size - (n - of_a)), min(size, m - of_b) + 1):
                gained = 2 * take * of_a + take * (size - take)
                more[of_b + take, twice_u + gained] += count * math.comb(size, take)
        ways, dealt = dict(more), dealt + size
    apart = abs(_pairs_above(a, b) - n * m)
    as_far = sum(count for (_, twice_u), count in ways.items() if abs(twice_u - n * m) >= apart)
    return as_far / math.comb(n + m, n)


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
