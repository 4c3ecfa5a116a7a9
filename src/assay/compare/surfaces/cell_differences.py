"""Find the cells of a surface that differ, and test whether B is worse anywhere by more than what matters.

A cell is the logarithm of the ratio of the medians of its runs. Its variance is moderated by that of all cells of the
test (`statistics/moderated.py`), because three runs do not determine it; with t = ratio / error there are an interval of
the cell alone, a p, and a mark after Benjamini and Hochberg over all cells. "Never worse" is held where the lower bounds
of all m cells, each at 1 - 0.05 / m (Bonferroni), lie above the difference that matters: then all of them hold at once at
95 %.

Runs that took turns are compared within their round: the cell is the median of the ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, variance

from assay.analysis import thresholds
from assay.analysis.statistics.beta import student_p, student_quantile
from assay.analysis.statistics.moderated import adjusted, common_variance, median_inflation
from assay.analysis.statistics.ratio import LEAST_PAIRED
from assay.compare.comparison import Rounds
from assay.compare.surfaces.cell_runs import CellRuns
from assay.compare.surfaces.surface import ClaimState, NeverWorse
from assay.verdicts import ComparisonVerdict

_LEAST_RUNS = 3


@dataclass(frozen=True)
class CellDifference:
    """What is known of a cell that counts; logarithms."""

    log_ratio: float
    error: float | None = None
    """None: fewer than three runs of a side."""
    freedom: float = 0.0
    p: float | None = None
    adjusted_p: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether it is marked."""
        return self.adjusted_p is not None and self.adjusted_p <= thresholds.FALSE_MARKS

    def bounds(self, share: float) -> tuple[float, float] | None:
        """Give the bounds that a share of what is possible lies below, and above; None: it is unknown."""
        if self.error is None:
            return None
        half = student_quantile(share, self.freedom) * self.error if self.error else 0.0
        return self.log_ratio - half, self.log_ratio + half

    def verdict(self, effect: float) -> ComparisonVerdict:
        """Assess the cell among all: there is a winner only where it is marked and all its interval is beyond the effect."""
        ends = self.bounds(0.5 + thresholds.CONFIDENCE / 2)
        if ends is None:
            return ComparisonVerdict.INDICATIVE
        low, high = math.exp(ends[0]), math.exp(ends[1])
        if self.is_significant and low > 1 + effect:
            return ComparisonVerdict.BETTER
        if self.is_significant and high < 1 - effect:
            return ComparisonVerdict.WORSE
        if low >= 1 - effect and high <= 1 + effect:
            return ComparisonVerdict.DIFFERENT_SMALL if self.is_significant else ComparisonVerdict.EQUIVALENT
        return ComparisonVerdict.INCONCLUSIVE


@dataclass(frozen=True)
class _Raw:
    """A cell before it is moderated."""

    log_ratio: float
    variance: float
    freedom: float
    inflation: float
    """Squared error of the ratio by the variance."""


def differences_of(cells: Sequence[CellRuns], rounds: Rounds) -> tuple[dict[str, CellDifference], float | None]:
    """Test every cell that counts.

    Returns:
        By label, and the degrees of freedom that each borrowed; None: there are too few runs.
    """
    raw = {cell.label: _raw(cell, rounds) for cell in cells if cell.counts}
    known = {label: one for label, one in raw.items() if one is not None}
    common = common_variance([(one.variance, one.freedom) for one in known.values()])
    tested: dict[str, CellDifference] = {}
    for label, one in known.items():
        moderated, freedom = common.moderated(one.variance, one.freedom)
        error = math.sqrt(moderated * one.inflation)
        tested[label] = CellDifference(one.log_ratio, error, freedom, _p(one.log_ratio, error, freedom))
    of_all = adjusted([1.0 if test.p is None else test.p for test in tested.values()])
    marked = {
        label: CellDifference(test.log_ratio, test.error, test.freedom, test.p, p)
        for (label, test), p in zip(tested.items(), of_all, strict=True)
    }
    untested = {
        cell.label: CellDifference(cell.log_ratio) for cell in cells if cell.counts and cell.label not in marked
    }
    return {**marked, **untested}, common.freedom if marked else None


def _p(log_ratio: float, error: float, freedom: float) -> float:
    if not error:
        return 1.0 if log_ratio == 0 else 0.0
    return student_p(log_ratio / error, freedom)


def _raw(cell: CellRuns, rounds: Rounds) -> _Raw | None:
    """Compute the difference of a cell from its own runs; None: too few."""
    apart = [cell.b[other] - cell.a[one] for one, other in rounds if one in cell.a and other in cell.b]
    if len(apart) >= LEAST_PAIRED:
        n = len(apart)
        return _Raw(median(apart), variance(apart), n - 1, median_inflation(n) / n)
    of_a, of_b = list(cell.a.values()), list(cell.b.values())
    n, m = len(of_a), len(of_b)
    if min(n, m) < _LEAST_RUNS:
        return None
    pooled = ((n - 1) * variance(of_a) + (m - 1) * variance(of_b)) / (n + m - 2)
    return _Raw(cell.log_ratio, pooled, n + m - 2, median_inflation(n) / n + median_inflation(m) / m)


def never_worse(tests: dict[str, CellDifference], effect: float) -> NeverWorse:
    """Assess the claim that B is in no cell worse than A by more than a share."""
    # Nothing is worse by all of itself.
    floor, count = math.log(1 - effect) if effect < 1 else -math.inf, len(tests)
    bounds = {label: test.bounds(1 - thresholds.FALSE_MARKS / count) for label, test in tests.items()}
    if not tests or any(ends is None for ends in bounds.values()):
        against = tuple(label for label, test in tests.items() if test.log_ratio < floor)
        state = ClaimState.CONTRADICTED if against else ClaimState.OPEN
        left = tuple(label for label in tests if label not in against)
        return NeverWorse(state=state, is_shown=False, cells=count, against=against, open=left)
    against = tuple(label for label, ends in bounds.items() if ends is not None and ends[1] < floor)
    left = tuple(label for label, ends in bounds.items() if ends is not None and ends[0] < floor <= ends[1])
    state = ClaimState.CONTRADICTED if against else ClaimState.OPEN if left else ClaimState.HELD
    return NeverWorse(state=state, is_shown=True, cells=count, against=against, open=left)
