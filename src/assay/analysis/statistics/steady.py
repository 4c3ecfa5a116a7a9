"""Is a series of rates steady, and from where to where?

The series is that of the time in which all workers were at work. In the logarithm of its rates, so that a change is a
ratio:

1. `levels` cuts it where its level changes. A pattern that repeats (`period`) is no change of level: it is taken out, and
   the series cut anew.
2. Levels that go one way to the end, and that a line fits as well as the steps do, are a drift.
3. The last level counts. What is left of a start in it is left out, as far as MSER-5 finds it (White 1997), if it
   differs by 1 % and by more than chance.
4. A last level of fewer than ten values, or of less than 30 % of the series, is a late shift: it may be steady, but nothing
   shows that it is. So is one at which nothing is done any more. What came before it has no number either.
5. Inside, five batch means may differ by 20 % of their mean, their line by 10 % (SNIA SSS PTS 2.0.2, 5.3), unless they
   differ by chance: their variance is less than 4 times what that of the intervals in them leaves to it (F test, 1 %). A
   line through all may rise by 5 %, unless it is within 2.6 standard errors of none.

Then the window is what is left, without what is no whole period at its beginning.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, dot
from assay.analysis.statistics.levels import LEVEL_PENALTY, Levels, find_levels
from assay.analysis.statistics.mean import correlation
from assay.analysis.statistics.period import find_period, without_period
from assay.analysis.statistics.trend import Trend, long_run_variance, trend
from assay.verdicts import SteadyVerdict

BATCHES = 5
"""Batch means that are compared (SNIA SSS PTS: five rounds)."""
_BATCH_VARIANCE = 4.0
"""Times the variance that chance leaves to batch means, below which they do not differ: F(4, 25 to 60) at 1 %."""
_LINE_COST = 0.7
"""What a line costs, where a step costs 1: it has no place."""
_START_ERRORS = 2.0
"""Standard errors by which the beginning of the last level differs, to be left out."""


@dataclass(frozen=True)
class Stretch:
    """Values `begin` up to before `end` of a series, which were at one level."""

    begin: int
    end: int
    mean: float


@dataclass(frozen=True)
class Steadiness:
    """What a series is, and where."""

    verdict: SteadyVerdict
    last: Stretch | None = None
    """The level at its end: the window where it is steady, else what was looked at; None: too little to look at."""
    before: tuple[Stretch, ...] = ()
    """Its earlier levels, in order."""
    trend: float | None = None
    """By which share the line through `last` rises or falls from its first value to its last."""
    period: int | None = None
    """Number of values after which it repeats itself."""
    mser_mean: float | None = None
    """Mean by MSER-5 of the whole series; None: it found no end of the start in the first half."""


def judge(values: FloatArray, *, unit: float = 0.0) -> Steadiness:
    """Judge a series of rates, shape `(n,)`, in order, none below zero; of zeros alone it is no data.

    `unit` is the rate of a single operation in an interval: levels that differ by less than two of them are one.
    """
    if not len(values) or values.max() <= 0:
        return Steadiness(SteadyVerdict.NO_DATA)
    if len(values) < thresholds.STEADY_VALUES:
        return Steadiness(SteadyVerdict.TOO_SHORT, Stretch(0, len(values), float(values.mean())))
    z = np.log(np.maximum(values, values[values > 0].min() / 2))
    found, period, adjusted = _cut(z, max(thresholds.SAME_LEVEL, 2 * unit / float(values.mean())))
    edges = [level.begin for level in found.levels]
    drift_begin = staircase(adjusted, found)
    begin = edges[-1] = _last_edge(adjusted, found)
    if drift_begin is None:
        begin += _rest_of_start(np.exp(adjusted[begin:]))
    if period and len(values) - begin >= 2 * period:
        begin += (len(values) - begin) % period
    earlier = [edge for edge in edges if edge < begin]
    before = [_stretch(values, a, b) for a, b in itertools.pairwise([*earlier, begin])]
    last = _stretch(values, begin, len(values))
    line = trend(adjusted[begin:])
    if np.median(values[begin:]) <= 0:
        verdict = SteadyVerdict.LATE_SHIFT
    elif drift_begin is not None:
        verdict = SteadyVerdict.DRIFTING
    elif len(values) - begin < max(thresholds.STEADY_LAST_VALUES, thresholds.SETTLED_SHARE * len(values)):
        verdict = SteadyVerdict.LATE_SHIFT
    elif _moves(np.exp(adjusted[begin:])) or _matters(line):
        verdict = SteadyVerdict.DRIFTING
    else:
        verdict = SteadyVerdict.STEADY
    cut = mser_cut(values)
    return Steadiness(
        verdict,
        last=last,
        before=tuple(before),
        trend=math.expm1(line.over_all),
        period=period,
        mser_mean=None if cut is None else float(values[cut:].mean()),
    )


def _stretch(values: FloatArray, begin: int, end: int) -> Stretch:
    return Stretch(begin, end, float(values[begin:end].mean()))


def _cut(z: FloatArray, same: float) -> tuple[Levels, int | None, FloatArray]:
    """Cut a series into levels: those, the period in it, and the series without that."""
    found = find_levels(np.exp(z), same=same)
    rest = _rest(z, found)
    period = find_period(rest)
    if period is None:
        return found, None, z
    adjusted = without_period(z, rest, period)
    return find_levels(np.exp(adjusted), same=same), period, adjusted


def _last_edge(z: FloatArray, found: Levels) -> int:
    """Place the begin of the last level among single values, where levels were found among medians of several.

    A median of three values of which one is of the level before is of the last level: its first value is not. The place with
    the least squares about the two levels is taken.
    """
    last, reach = found.levels[-1], found.gathered - 1
    if reach == 0 or last.begin == 0:
        return last.begin
    first, end = last.begin - reach, min(last.begin + reach + 1, len(z))
    to_before, to_last = ((z[first:end] - math.log(level.value)) ** 2 for level in found.levels[-2:])
    squares = [to_before[:place].sum() + to_last[place:].sum() for place in range(end - first)]
    return first + int(np.argmin(squares))


def _rest(z: FloatArray, found: Levels) -> FloatArray:
    """What is left of a series without its levels."""
    return np.concatenate([z[level.begin : level.end] - z[level.begin : level.end].mean() for level in found.levels])


# -- a line ------------------------------------------------------------------------------------------------------------


def _matters(line: Trend) -> bool:
    """Whether the line through logarithms is neither flat nor by chance."""
    is_large = abs(line.over_all) > math.log1p(thresholds.SAME_LEVEL)
    return is_large and abs(line.over_all) > thresholds.CHANCE_ERRORS * line.error


def staircase(z: FloatArray, found: Levels) -> int | None:
    """Return where levels begin that are a drift; None: none are.

    Args:
        z: Logarithms of the series.
        found: Its levels.
    """
    levels = found.levels
    for first in range(len(levels) - 1):
        steps = np.diff([math.log(level.value) for level in levels[first:]])
        if not (np.all(steps > 0) or np.all(steps < 0)):
            continue
        begin = levels[first].begin
        line = trend(z[begin:])
        rest = np.concatenate([z[a.begin : a.end] - z[a.begin : a.end].mean() for a in levels[first:]])
        variance = min(line.variance, long_run_variance(rest, len(rest) - len(levels) + first))
        penalty = LEVEL_PENALTY * math.log(len(rest)) * variance
        by_steps = dot(rest, rest) + penalty * len(steps)
        by_line = line.squares + penalty * _LINE_COST
        if by_line <= by_steps and _matters(line):
            return begin
    return None


# -- the start ---------------------------------------------------------------------------------------------------------

_BATCH = 5


def mser_cut(values: FloatArray) -> int | None:
    """Values at the beginning of a series that MSER-5 leaves out; None where it finds no end of them in its first half.

    The cut d of the means of five that has the least sum of squares about the mean of the rest over (n - d)^2.
    """
    batches = values[: len(values) // _BATCH * _BATCH].reshape(-1, _BATCH).mean(axis=1)
    n = len(batches)
    if n < 4:
        return None
    left = n - np.arange(n - 1)
    sums, squares = (np.cumsum(part[::-1])[::-1][: n - 1] for part in (batches, batches**2))
    cut = int(np.argmin((squares - sums**2 / left) / left**2))
    return cut * _BATCH if cut <= n // 2 else None


def _rest_of_start(values: FloatArray) -> int:
    """Values at the beginning of a level that belong to a start that has not quite ended."""
    cut = mser_cut(values)
    if not cut:
        return 0
    start, rest = values[:cut], values[cut:]
    p = correlation(rest)
    error = rest.std(ddof=1) * math.sqrt((1 + p) / (1 - p) * (1 / len(start) + 1 / len(rest)))
    apart = abs(start.mean() - rest.mean())
    # Where each interval has as many operations as the next, the error is next to none.
    is_large = apart > thresholds.NEGLIGIBLE_SHARE * rest.mean()
    return cut if is_large and apart > _START_ERRORS * error else 0


def _moves(values: FloatArray) -> bool:
    """Whether the batch means of a level move more than the performance test specification of SNIA allows, and than chance.

    Means of a few intervals that vary by tens of per cent differ by more than it allows without anything having changed.
    """
    batches = np.array_split(values, BATCHES)
    means = np.array([batch.mean() for batch in batches])
    at = np.arange(len(means)) - (len(means) - 1) / 2
    line = abs(float(at @ means) / float(at @ at)) * (len(means) - 1)
    middle = float(values.mean())
    is_large = means.max() - means.min() > thresholds.STEADY_RANGE * middle or line > thresholds.STEADY_SLOPE * middle
    # The median: a batch that holds what is left of a start varies by more than chance.
    p = correlation(np.concatenate([batch - batch.mean() for batch in batches]))
    noise = float(np.median([batch.var(ddof=1) for batch in batches])) * (1 + p) / (1 - p)
    by_chance = noise * len(batches) / len(values)
    return bool(is_large and means.var(ddof=1) > _BATCH_VARIANCE * by_chance)
