"""From operations per interval to the rates that a timeline shows.

A rate over a few milliseconds is noise, so a last interval of less than half the grid joins its neighbour. Long runs
are gathered; the lowest and highest interval of each gathered step are kept, so that a stall does not vanish.
"""

import math
from dataclasses import dataclass

import numpy as np

from assay.analysis.histogram import FloatArray, IntArray
from assay.report.numbers import RateUnit
from assay.report.recording import Timeline

MAX_STEPS = 600


@dataclass(frozen=True, slots=True)
class Rates:
    """Rate over time in steps, in one unit; arrays of shape `(steps,)`."""

    unit: RateUnit
    start_s: FloatArray
    end_s: FloatArray
    mean: FloatArray
    lowest: FloatArray
    highest: FloatArray
    is_gathered: bool

    def inside(self, window_s: tuple[float, float]) -> "IntArray":
        """Give the steps whose middle lies in a window."""
        middle = (self.start_s + self.end_s) / 2
        return np.flatnonzero((middle >= window_s[0]) & (middle <= window_s[1])).astype(np.int64)


def rates(timeline: Timeline, unit: RateUnit) -> Rates:
    """Turn work per interval into rates of at most `MAX_STEPS` steps."""
    work = (timeline.bytes if unit.of_bytes else timeline.ops).astype(np.float64) / unit.per_unit
    start, end, work = _join_short_end(timeline.start_s, timeline.end_s, work)
    each = work / (end - start)
    merge = max(math.ceil(len(work) / MAX_STEPS), 1)
    firsts = np.arange(0, len(work), merge)
    if len(work) == 0:
        return Rates(unit, start, end, each, each, each, is_gathered=False)
    lasts = np.append(firsts[1:], len(work)) - 1
    return Rates(
        unit=unit,
        start_s=start[firsts],
        end_s=end[lasts],
        mean=np.add.reduceat(work, firsts) / (end[lasts] - start[firsts]),
        lowest=np.minimum.reduceat(each, firsts),
        highest=np.maximum.reduceat(each, firsts),
        is_gathered=merge > 1,
    )


def _join_short_end(start: FloatArray, end: FloatArray, work: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    length = end - start
    if len(work) < 2 or length[-1] >= 0.5 * np.median(length):
        return start, end, work
    return start[:-1], np.append(end[:-2], end[-1]), np.append(work[:-2], work[-2] + work[-1])
