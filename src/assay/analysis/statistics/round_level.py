"""Decide whether the results of consecutive rounds are steady (SNIA SSS PTS 2.0.2, "Steady State").

Of the results y(0) to y(k-1) with mean m they are steady where

    max(y) - min(y) <= range_share * m        |b| * (k - 1) <= slope_share * m

b is the slope of the line of least squares: over the window, of k - 1 distances, it rises or falls by b * (k - 1).
"""

from collections.abc import Sequence
from typing import NamedTuple

from assay.plan import Rounds


class RoundsLevel(NamedTuple):
    """Mean, range and slope of the results of a window of rounds."""

    mean: float
    range_share: float
    """Largest minus smallest, as a share of the mean."""
    slope_share: float
    """Rise (or, below 0, fall) of the line of least squares over the window, as a share of the mean."""

    def is_steady(self, rule: Rounds) -> bool:
        """Whether both are within the rule."""
        return self.range_share <= rule.range_share and abs(self.slope_share) <= rule.slope_share


def level_of(values: Sequence[float]) -> RoundsLevel | None:
    """Describe the results of a window; None for fewer than two, or where their mean is not above 0."""
    count = len(values)
    if count < 2 or (mean := sum(values) / count) <= 0:
        return None
    middle = (count - 1) / 2
    slope = sum((place - middle) * value for place, value in enumerate(values))
    slope /= sum((place - middle) ** 2 for place in range(count))
    return RoundsLevel(mean, (max(values) - min(values)) / mean, slope * (count - 1) / mean)
