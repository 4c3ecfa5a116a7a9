"""Does the backlog of an open loop grow?

The lateness of an operation is the time from when it was due to when it was issued. Where less is served than comes, it
grows all the time: by rho - 1 seconds a second at a load of rho times what is served, so that after 20 s at 0.6 % too much
operations are 120 ms late, although 99.4 % were served. A stall, or a burst of arrivals, makes it rise and fall again.

The lateness grows where all of this holds:

- the line through it rises by more than 2.6 standard errors, neighbours being alike allowed for (`trend.py`);
- it rises, over all, by more than one operation takes: else nobody waits for anybody;
- in the last fifth it never was as small as the largest of the first fifth.
"""

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray
from assay.analysis.statistics.trend import trend

_LEAST = 10
"""Values; of fewer, a fifth is a single one."""


def grows(lateness: FloatArray, latency: float) -> bool:
    """Say whether lateness grows from the first value to the last.

    Args:
        lateness: Mean lateness of the operations of consecutive intervals, in order, shape `(n,)`.
        latency: What an operation takes, in the same unit.
    """
    if len(lateness) < _LEAST:
        return False
    line, fifth = trend(lateness), len(lateness) // 5
    rises = line.over_all > max(latency, thresholds.STEADY_TREND_ERRORS * line.error)
    return rises and bool(lateness[-fifth:].min() > lateness[:fifth].max())
