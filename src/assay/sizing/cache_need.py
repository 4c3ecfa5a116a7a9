"""How much cache takes the writes of spikes, while disks drain it at a steady rate."""

import numpy as np

from assay.analysis.arrays import FloatArray


def largest_backlog(arrivals_per_s: FloatArray, drained_per_s: float, step_s: float) -> float:
    """Give the largest amount that waits when arrivals above a rate are kept until there is room.

    The amount grows by (arrivals - drained) of each step and is never below 0; its maximum is the largest rise of the
    sum from any earlier minimum. A step without samples adds nothing.

    Args:
        arrivals_per_s: Shape `(steps,)`, NaN where there are no samples.
        drained_per_s: In the same unit.
        step_s: Length of a step.
    """
    changes = np.where(np.isfinite(arrivals_per_s), arrivals_per_s - drained_per_s, 0.0) * step_s
    sums = np.concatenate([[0.0], np.cumsum(changes)])
    return float((sums - np.minimum.accumulate(sums)).max())
