"""Did the system that was captured hold its load back? Then the rates are what it could do, and not what was asked for.

Hosts wait for their storage: where it is slow they ask for less. A mean response time above the target, or more than
three requests waiting at each disk, while the load is sustained, says so. By Little's law the requests in flight L
would be asked at a rate of L / R if storage answered within R; that is the most that the same hosts could ask for,
were nothing else to slow them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.analysis.arrays import BoolArray, FloatArray
from assay.captures.total import TotalLoad

MOST_LATENCY_S: Final = 20e-3
"""Mean response time from which on storage is taken for overloaded."""
MOST_QUEUED: Final = 3.0
"""Requests at each disk."""


@dataclass(frozen=True)
class HeldBack:
    """That the load was held back.

    Attributes:
        latency_s: Mean over the core; None where it is not known.
        queued: Mean requests in flight over the core; None where that is not known.
        by: `latency` or `queue`.
        most_iops: What the hosts could ask for at the target, by Little's law; None where it cannot be computed, or is
        no more
            than what they did ask for.
    """

    latency_s: float | None
    queued: float | None
    by: str
    most_iops: float | None


def held_back(load: TotalLoad, core: BoolArray, target_s: float, disks: int | None) -> HeldBack | None:
    """Tell whether the captured system was the limit while the load was sustained; None: not as far as can be seen.

    Args:
        load: The captured load.
        core: Which steps are sustained; where none is, all steps count.
        target_s: Mean response time that is asked for.
        disks: Of the captured system; None: not known, so its queue says nothing.
    """
    where = core if core.any() else np.ones(load.steps, dtype=np.bool_)
    iops, latency, queue = (_of(load, name, where) for name in ("iops", "latency_s", "queue_depth"))
    if iops is None:
        return None
    requests = float(iops.sum())
    latency_s = float(np.nansum(latency * iops) / requests) if latency is not None and requests > 0 else None
    queued = float(queue.mean()) if queue is not None else None
    if queued is None and latency_s is not None:
        queued = float(iops.mean()) * latency_s
    if latency_s is not None and latency_s > MOST_LATENCY_S:
        by = "latency"
    elif disks is not None and queued is not None and queued > MOST_QUEUED * disks:
        by = "queue"
    else:
        return None
    most = None if queued is None else queued / target_s
    return HeldBack(latency_s, queued, by, most if most is not None and most > float(iops.mean()) else None)


def _of(load: TotalLoad, name: str, where: BoolArray) -> FloatArray | None:
    column = load.columns.get(name)
    if column is None:
        return None
    chosen = column[where]
    return chosen[np.isfinite(chosen)] if name != "latency_s" else chosen
