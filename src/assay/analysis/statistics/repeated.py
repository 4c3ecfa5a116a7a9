"""What is typical of a few repeats of one measurement, how well is that known, and does a repeat or the time spoil it?

The unit is the repeat: intervals of one run show nothing about the next. Rates and latencies vary by factors, so all is
of their logarithms.

    one                  the value alone: nobody knows what another repeat would give
    two                  the geometric mean, and no interval: the two values are all that is known
    three to five        the geometric mean with the interval of Student's t
    six and more         the median of the geometric means of all pairs (Hodges-Lehmann), with the interval of the exact
                         distribution of Wilcoxon's signed ranks, which a few outliers do not move

Signed ranks have no 95 % interval for five values: all that lies between the least and the largest is 93.75 %.
tests/unit/test_repeated.py holds the coverage.
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

import numpy as np

from assay.analysis import thresholds
from assay.analysis.statistics import signed_rank
from assay.analysis.statistics.beta import student_quantile

_INTERVAL_FROM, _RANKS_FROM, _RANKS_TO = 3, 6, 100
"""Beyond the last there are too many pairs; the mean of that number of values is as good as normal."""
_STANDS_OUT_FROM = 5
"""Values from where on the spread of the others says anything of one."""
_TREND_FROM = 4


class TypicalMethod(enum.StrEnum):
    """How the typical value was found."""

    SINGLE = "single"
    GEOMETRIC_MEAN = "geometric_mean"
    HODGES_LEHMANN = "hodges_lehmann"
    MEAN = "mean"


@dataclass(frozen=True)
class Typical:
    """The typical value of a sample."""

    value: float
    interval: tuple[float, float] | None
    """At 95 % confidence; None: so few values have none."""
    method: TypicalMethod


def typical(values: Sequence[float]) -> Typical:
    """Find what repeats stand for.

    Args:
        values: One a repeat, above 0.

    Raises:
        ValueError: there is none, or one is not above 0.
    """
    if not values or min(values) <= 0:
        raise ValueError("repeats have values above 0")
    logs = [math.log(x) for x in values]
    n = len(logs)
    if n >= _RANKS_FROM and n <= _RANKS_TO:
        value, low, high = map(math.exp, signed_rank.centre(logs, thresholds.CONFIDENCE))
        return Typical(value, (low, high), TypicalMethod.HODGES_LEHMANN)
    mean = fmean(logs)
    if n < _INTERVAL_FROM:
        method = TypicalMethod.SINGLE if n == 1 else TypicalMethod.GEOMETRIC_MEAN
        return Typical(math.exp(mean), None, method)
    half = student_quantile(0.5 + thresholds.CONFIDENCE / 2, n - 1) * stdev(logs) / math.sqrt(n)
    return Typical(math.exp(mean), (math.exp(mean - half), math.exp(mean + half)), TypicalMethod.GEOMETRIC_MEAN)


def mean_of(values: Sequence[float]) -> Typical:
    """Give the arithmetic mean of rounds, as SNIA SSS PTS has it, with the interval of Student's t from three on."""
    n, mean = len(values), fmean(values)
    if n < _INTERVAL_FROM:
        return Typical(mean, None, TypicalMethod.SINGLE if n == 1 else TypicalMethod.MEAN)
    half = student_quantile(0.5 + thresholds.CONFIDENCE / 2, n - 1) * stdev(values) / math.sqrt(n)
    return Typical(mean, (max(0.0, mean - half), mean + half), TypicalMethod.MEAN)


def variation(values: Sequence[float]) -> float | None:
    """Coefficient of variation: standard deviation by mean; None for fewer than two values."""
    return stdev(values) / fmean(values) if len(values) > 1 else None


def stands_out(values: Sequence[float]) -> list[int]:
    """Name the places of values that stand out: `|x - median| / MAD` above a threshold, as hyperfine has it.

    Where most values are as good as equal the smallest step would stand out, so it has to be a difference that matters, too.
    """
    if len(values) < _STANDS_OUT_FROM:
        return []
    middle = median(values)
    apart = [abs(x - middle) for x in values]
    far = max(thresholds.REPEAT_STANDS_OUT * median(apart), thresholds.REPEATS_MATTER * middle)
    return [place for place, distance in enumerate(apart) if distance > far]


def trend(values: Sequence[float | None]) -> float | None:
    """Share by which values rise or fall from the first to the last.

    A line is fitted to the logarithms. Told is a change that matters, whose 95 % interval excludes none at all; else None.

    Args:
        values: One a repeat, in order; None: it does not count.
    """
    known = [(place, math.log(value)) for place, value in enumerate(values) if value]
    n = len(known)
    if n < _TREND_FROM:
        return None
    at = np.array([place for place, _ in known], dtype=np.float64) / (len(values) - 1)
    logs = np.array([log for _, log in known])
    from_middle = at - at.mean()
    power = float(from_middle @ from_middle)
    slope = float(from_middle @ logs) / power
    rest = logs - logs.mean() - slope * from_middle
    error = math.sqrt(float(rest @ rest) / (n - 2) / power)
    sure = student_quantile(0.5 + thresholds.CONFIDENCE / 2, n - 2) * error
    return math.expm1(slope) if abs(slope) > max(math.log1p(thresholds.REPEATS_MATTER), sure) else None
