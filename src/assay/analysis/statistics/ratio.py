"""By which factor does B differ from A, by a few runs of each, and how sure is that?

The unit is the run: intervals of one run show nothing about the next. Ratios are differences of logarithms.

    one of either                the ratio alone: nobody knows what another run would give
    two of the fewer             the range of the ratios of any two
    three or four                Welch's t of the logarithms
    five and more                the median of all ratios of one of B by one of A (Hodges-Lehmann of the logarithms), with
                                 the interval of the exact Mann-Whitney distribution

Runs that took turns come in pairs, one of each in a round, whose ratios hold nothing of what changed between rounds:

    three to five pairs          Student's t of the logarithms of the ratios
    six pairs and more           the median of the means of any two of them (Hodges-Lehmann of the logarithms), with the
                                 interval of the exact distribution of the signed ranks

In simulations a percentile bootstrap of means has far less than its coverage with so few runs (METHOD 2.4), so there is
none. tests/unit/test_ratio.py holds the coverage.
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev, variance

from assay.analysis import thresholds
from assay.analysis.statistics import rank_sum, signed_rank
from assay.analysis.statistics.beta import student_p, student_quantile

_RANGE_FROM, _WELCH_FROM, _RANKS_FROM = 2, 3, 5
LEAST_PAIRED = 3
"""Pairs from where on they are compared as such."""


class RatioMethod(enum.StrEnum):
    """How an interval was found."""

    SINGLE = "single"
    RANGE = "range"
    WELCH = "welch"
    RANKS = "ranks"
    PAIRED_T = "paired_t"
    SIGNED_RANKS = "signed_ranks"


@dataclass(frozen=True)
class Ratio:
    """B by A."""

    ratio: float
    low: float | None
    """Ends of the 95 % interval; of two runs those of what was seen; None for one."""
    high: float | None
    p: float | None
    """Of the hypothesis that both are alike; None below five runs, and below six pairs."""
    method: RatioMethod

    @property
    def is_interval(self) -> bool:
        """Whether its ends are those of an interval at 95 % confidence."""
        return self.method not in {RatioMethod.SINGLE, RatioMethod.RANGE}


def ratio_between(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Compare two samples of values above 0, a value a run.

    Raises:
        ValueError: one is empty, or a value is not above 0.
    """
    if not a or not b or min(*a, *b) <= 0:
        raise ValueError("ratios are of values above 0")
    logs_a, logs_b = [math.log(x) for x in a], [math.log(x) for x in b]
    fewer = min(len(a), len(b))
    if fewer < _RANGE_FROM:
        return Ratio(math.exp(fmean(logs_b) - fmean(logs_a)), None, None, None, RatioMethod.SINGLE)
    if fewer < _WELCH_FROM:
        middle = math.exp(fmean(logs_b) - fmean(logs_a))
        return Ratio(middle, min(b) / max(a), max(b) / min(a), None, RatioMethod.RANGE)
    if fewer < _RANKS_FROM:
        return _welch(logs_a, logs_b)
    middle, low, high = map(math.exp, rank_sum.shift(logs_a, logs_b, thresholds.CONFIDENCE))
    return Ratio(middle, low, high, rank_sum.p_value(a, b), RatioMethod.RANKS)


def ratio_of_pairs(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Compare values above 0 that were measured in turns, a pair (of A, of B) a round.

    Raises:
        ValueError: there are fewer than three pairs, or a value is not above 0.
    """
    if len(pairs) < LEAST_PAIRED or min(min(pair) for pair in pairs) <= 0:
        raise ValueError("ratios of pairs are of three and more, of values above 0")
    apart = [math.log(of_b) - math.log(of_a) for of_a, of_b in pairs]
    if len(apart) < signed_rank.LEAST_PAIRS:
        middle = fmean(apart)
        half = student_quantile(0.5 + thresholds.CONFIDENCE / 2, len(apart) - 1) * stdev(apart) / math.sqrt(len(apart))
        return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), None, RatioMethod.PAIRED_T)
    middle, low, high = map(math.exp, signed_rank.centre(apart, thresholds.CONFIDENCE))
    return Ratio(middle, low, high, signed_rank.p_value(apart), RatioMethod.SIGNED_RANKS)


def p_by_t(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Give the two-sided p of Welch's t of the logarithms, for means that are near to normal; None below two of either."""
    if min(len(a), len(b)) < _RANGE_FROM:
        return None
    logs_a, logs_b = [math.log(x) for x in a], [math.log(x) for x in b]
    squared, freedom = _welch_error(logs_a, logs_b)
    apart = fmean(logs_b) - fmean(logs_a)
    if not squared:
        return 1.0 if apart == 0 else 0.0
    return student_p(apart / math.sqrt(squared), freedom)


def p_of_pairs_by_t(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Give the two-sided p of Student's t of the logarithms of the ratios of pairs; None below two."""
    if len(pairs) < _RANGE_FROM:
        return None
    apart = [math.log(of_b) - math.log(of_a) for of_a, of_b in pairs]
    error, middle = stdev(apart) / math.sqrt(len(apart)), fmean(apart)
    if not error:
        return 1.0 if middle == 0 else 0.0
    return student_p(middle / error, len(apart) - 1)


def _welch_error(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Give the variance of the difference of two means, and its degrees of freedom (Welch, Satterthwaite)."""
    of_a, of_b = variance(a) / len(a), variance(b) / len(b)
    squared = of_a + of_b
    return squared, squared**2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1)) if squared > 0 else 1.0


def _welch(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Welch's t, with the degrees of freedom of Welch and Satterthwaite."""
    squared, freedom = _welch_error(a, b)
    apart = fmean(b) - fmean(a)
    half = student_quantile(0.5 + thresholds.CONFIDENCE / 2, freedom) * math.sqrt(squared) if squared > 0 else 0.0
    return Ratio(math.exp(apart), math.exp(apart - half), math.exp(apart + half), None, RatioMethod.WELCH)


def spread(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pooled standard deviation of the logarithms, their coefficient of variation while small; None: unknown."""
    freedom = len(a) + len(b) - 2
    if freedom < 1:
        return None
    squares = 0.0
    for sample in (a, b):
        logs = [math.log(x) for x in sample]
        squares += sum((x - fmean(logs)) ** 2 for x in logs)
    return math.sqrt(squares / freedom)


def spread_of_pairs(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Standard deviation of one of a pair within its round, as `spread` has it for runs; None: unknown.

    The logarithm of a ratio varies by the deviations of both, so it is that of the logarithms of the ratios by sqrt(2).
    """
    if len(pairs) < LEAST_PAIRED:
        return None
    return stdev(math.log(of_b) - math.log(of_a) for of_a, of_b in pairs) / math.sqrt(2)


def runs_needed(cv: float, effect: float) -> int:
    """Runs of each that find an effect (0.03: 3 %) in 80 of 100 cases at 95 % confidence, where runs vary by `cv`.

    N = 2 (1.96 + 0.84)^2 cv^2 / ln(1 + effect)^2, rounded up (METHOD 2.4).
    """
    normal = NormalDist()
    sure = normal.inv_cdf(0.5 + thresholds.CONFIDENCE / 2) + normal.inv_cdf(0.8)
    return max(_RANKS_FROM, math.ceil(2 * sure**2 * cv**2 / math.log1p(effect) ** 2))
