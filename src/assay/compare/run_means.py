"""Compute the factor by which all rates of two sides differ together, with its interval.

The unit is the run: a run has one number, the mean of the logarithms of its rates, and those of the two sides are compared
as the rates of one result are (METHOD 2.6: runs are what is drawn again, never cells). With three to ten runs of a side a
percentile bootstrap of such means holds the truth in 80 to 92 of 100 cases (METHOD 2.4), so the interval is that of
`statistics/ratio.py`, which holds it in 95.

A rate that a run does not have would move its mean by where that rate lies, so each counts by how far it lies from its
middle on its side, and the mean of the middles is added.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.analysis.statistics.ratio import (
    LEAST_PAIRED,
    Ratio,
    p_by_t,
    p_of_pairs_by_t,
    ratio_between,
    ratio_of_pairs,
)

ByRun = Mapping[str, float]
"""Logarithm of a rate in each run that has it."""
_LEAST_SHARE = 0.5
"""Of the weight of all rates, that a run has to have to count."""


@dataclass(frozen=True)
class RunMeans:
    """Geometric means of the rates of each run."""

    a: tuple[float, ...]
    b: tuple[float, ...]
    pairs: tuple[tuple[float, float], ...]
    """Of the two runs of a round, where three rounds and more have both."""

    @property
    def ratio(self) -> Ratio:
        """B by A."""
        return ratio_of_pairs(self.pairs) if self.pairs else ratio_between(self.a, self.b)

    @property
    def p(self) -> float | None:
        """Of the hypothesis that both are alike, by Student's t: means of many rates are near to normal. None: one run."""
        return p_of_pairs_by_t(self.pairs) if self.pairs else p_by_t(self.a, self.b)


def run_means(
    a: Sequence[ByRun],
    b: Sequence[ByRun],
    weights: Sequence[float] | None = None,
    rounds: Sequence[tuple[str, str]] = (),
) -> RunMeans | None:
    """Find the geometric mean of the rates of each run.

    Args:
        a: The rates of the first side, each by run.
        b: Those of the other, in the same order.
        weights: Of each rate, above 0; None: all alike.
        rounds: Names of the two runs of each round, where they took turns.

    Returns:
        None where a side has no run with half of them.
    """
    used = [1.0] * len(a) if weights is None else list(weights)
    of_a, of_b = ({run: math.exp(x) for run, x in _by_run(side, used).items()} for side in (a, b))
    if not of_a or not of_b:
        return None
    pairs = tuple((of_a[one], of_b[other]) for one, other in rounds if one in of_a and other in of_b)
    return RunMeans(tuple(of_a.values()), tuple(of_b.values()), pairs if len(pairs) >= LEAST_PAIRED else ())


def _by_run(rates: Sequence[ByRun], weights: Sequence[float]) -> dict[str, float]:
    """Give the weighted mean of the logarithms of each run that has enough of them."""
    known = [(by_run, weight) for by_run, weight in zip(rates, weights, strict=True) if by_run]
    if not known:
        return {}
    whole = sum(weight for _, weight in known)
    middles = [fmean(by_run.values()) for by_run, _ in known]
    level = sum(weight * middle for (_, weight), middle in zip(known, middles, strict=True)) / whole
    found: dict[str, float] = {}
    for run in dict.fromkeys(run for by_run, _ in known for run in by_run):
        mine = [(w, by_run[run] - middle) for (by_run, w), middle in zip(known, middles, strict=True) if run in by_run]
        share = sum(weight for weight, _ in mine)
        if share >= _LEAST_SHARE * whole:
            found[run] = level + sum(weight * apart for weight, apart in mine) / share
    return found
