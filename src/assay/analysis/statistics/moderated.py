"""What is the variance of a cell of which there are three runs, and which of many cells differ?

A variance of few runs is itself hardly known, so it borrows from those of the other cells (moderated t; Smyth, Statistical
Applications in Genetics and Molecular Biology 3, 2004, article 3):

    s~^2 = (d0 s0^2 + d s^2) / (d0 + d), with d0 + d degrees of freedom

s0^2 is the median of the cells' variances, divided by that of chi^2(d) / d, which is below 1. d0 is 4, or less where
the variances differ by more than chance would have it (Smyth's estimate from their logarithms): where cells differ,
none may borrow much. Of many cells, those differ whose p passes Benjamini and Hochberg (J. R. Statist. Soc. B 57,
1995): of all cells that are marked, the expected share of wrong ones is at most the rate; where none differs, any is
marked at that rate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

_PRIOR_FREEDOM = 4.0
"""Degrees of freedom that the variance of a cell borrows from the others, at most."""

_LEAST_CELLS = 3
_ASYMPTOTIC_FROM = 10.0


@dataclass(frozen=True)
class CommonVariance:
    """What the cells of a surface have in common."""

    variance: float
    freedom: float
    """0: nothing."""

    def moderated(self, own: float, freedom: float) -> tuple[float, float]:
        """Give the variance of a cell and its degrees of freedom."""
        both = self.freedom + freedom
        return (self.freedom * self.variance + freedom * own) / both, both


def common_variance(cells: Sequence[tuple[float, float]]) -> CommonVariance:
    """Find what cells have in common.

    Args:
        cells: Variance and degrees of freedom of each.
    """
    known = [(own, freedom) for own, freedom in cells if own > 0 and freedom > 0]
    if len(known) < _LEAST_CELLS:
        return CommonVariance(0.0, 0.0)
    middle = median(own / _median_of_chi2(freedom) for own, freedom in known)
    logs = [math.log(own) - digamma(freedom / 2) + math.log(freedom / 2) for own, freedom in known]
    beyond_chance = variance(logs) - fmean(trigamma(freedom / 2) for _, freedom in known)
    most = _PRIOR_FREEDOM
    if beyond_chance <= trigamma(most / 2):
        return CommonVariance(middle, most)
    low, high = 1e-6, most / 2
    for _ in range(60):
        half = (low + high) / 2
        low, high = (half, high) if trigamma(half) > beyond_chance else (low, half)
    return CommonVariance(middle, 2 * low)


def adjusted(p: Sequence[float]) -> list[float]:
    """Adjust the p of a family as Benjamini and Hochberg do: those at most the rate are the ones that stand."""
    order = sorted(range(len(p)), key=p.__getitem__)
    found, least = [1.0] * len(p), 1.0
    for rank in range(len(p), 0, -1):
        at = order[rank - 1]
        least = min(least, p[at] * len(p) / rank)
        found[at] = least
    return found


_MEDIAN_VARIANCES = (1.0, 1.0, 1.3460, 1.1928, 1.4342, 1.2885, 1.4731, 1.3454, 1.4949, 1.3833)
"""Variance of the median of n normal values by that of their mean, n from 1 to 10 (order statistics of the normal)."""


def median_inflation(n: int) -> float:
    """How many times the variance of a median of n values is that of their mean; pi / 2, the limit, beyond ten."""
    return _MEDIAN_VARIANCES[n - 1] if n <= len(_MEDIAN_VARIANCES) else math.pi / 2


def _median_of_chi2(freedom: float) -> float:
    """Median of chi^2 by its mean (Wilson and Hilferty; within 1 % from two degrees of freedom on)."""
    return (1 - 2 / (9 * freedom)) ** 3


def digamma(x: float) -> float:
    """Derivative of ln gamma, for x above 0 (DLMF 5.5.2, 5.11.2)."""
    total = 0.0
    while x < _ASYMPTOTIC_FROM:
        total -= 1 / x
        x += 1
    square = 1 / (x * x)
    return total + math.log(x) - 1 / (2 * x) - square * (1 / 12 - square * (1 / 120 - square / 252))


def trigamma(x: float) -> float:
    """Second derivative of ln gamma, for x above 0 (DLMF 5.15.5, 5.15.8)."""
    total = 0.0
    while x < _ASYMPTOTIC_FROM:
        total += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    return total + 1 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square / 42))
