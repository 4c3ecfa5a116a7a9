"""How do two series of figures that were measured in turn compare?"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.statistics.beta import student_quantile


@dataclass(frozen=True)
class Ratio:
    """A geometric mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it for the page."""
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """Give the ratio of two series, value by value; at least two."""
    logs = [math.log(over / under) for over, under in zip(above, below, strict=True)]
    mean = statistics.fmean(logs)
    half = student_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


@dataclass(frozen=True)
class Compared:
    """What the rounds of a pair gave."""

    iops: float
    """Of Assay, the median."""
    by_fio: Ratio
    fio_by_itself: Ratio
