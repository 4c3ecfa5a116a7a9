"""Find out whether the backlog of an open loop grows throughout a phase.

The lateness of an operation is the time from its scheduled arrival to its issue. Above capacity it grows by rho - 1 seconds
a second (rho: offered load by capacity): at 0.6 % above, operations are 120 ms late after 20 s, although 99.4 % were issued.
A stall or a burst of arrivals raises it only for a while.

The lateness grows when all of this holds:

- the line through it rises by more than 2.6 standard errors, corrected for autocorrelation (`trend.py`);
- it rises, over all, by more than the mean latency: below that no operation waits for another;
- its minimum in the last fifth is above its maximum in the first fifth.
"""

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray
from assay.analysis.statistics.trend import trend

_LEAST = 10
"""Values: with fewer, a fifth is a single one."""


def grows(lateness: FloatArray, latency: float) -> bool:
    """Decide whether lateness grows from the first value to the last.

    Args:
        lateness: Mean lateness of the operations of consecutive intervals, in order, shape `(n,)`.
        latency: Mean latency of the operations, in the same unit.
    """
    if len(lateness) < _LEAST:
        return False
    line, fifth = trend(lateness), len(lateness) // 5
    rises = line.over_all > max(latency, thresholds.CHANCE_ERRORS * line.error)
    return rises and bool(lateness[-fifth:].min() > lateness[:fifth].max())
