"""When did a rate leave the level that it had before an event, and when was it back?

A sample is at the level while it is off by 5 % of it at most, or by three standard deviations of the samples before the
event where that is more (1.4826 times their median distance from the median): nothing is asked to be steadier than it was.
The rate has left once a sample is off by twice that, or three in a row are off on one side. It is back at the first of ten
samples in a row that are no further off on that side: a rate that fell and comes back to more than before is back, too.

Limits: what is over within a sample is seen as that sample. What moves the rate by less than the band is not seen at all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray
from assay.verdicts import RecoveryVerdict

_SAMPLES, _DEVIATIONS = 10, 3.0
"""Samples in a row at the level, for a rate to be back; standard deviations of those before, within which one is at it."""
_MOVED_TIMES, _MOVED_SAMPLES = 2.0, 3
"""Times that distance from which on one sample has left the level; samples in a row beyond the distance that have."""

_MAD_TO_SPREAD = 1.4826


@dataclass(frozen=True)
class Found:
    """What became of a rate after an event; places are of the samples after it."""

    verdict: RecoveryVerdict
    left: int | None = None
    """Where it left its level."""
    back: int | None = None
    """The first of the samples that are at it again."""


def band_of(before: FloatArray) -> float:
    """Return how far a sample may be off the level of some, shape `(n,)`, n above 0, as a share of a mean above 0."""
    spread = _MAD_TO_SPREAD * float(np.median(np.abs(before - np.median(before))))
    return max(thresholds.SAME_LEVEL, _DEVIATIONS * spread / float(before.mean()))


def find_recovery(level: float, band: float, after: FloatArray) -> Found:
    """Follow a rate after an event.

    Args:
        level: What it was before, above 0.
        band: As `band_of` gives it.
        after: The samples from that on in which the event was, shape `(n,)`, in order.
    """
    off = after / level - 1
    left = _left(off, band)
    if left is None:
        is_enough = len(after) >= _SAMPLES
        return Found(RecoveryVerdict.UNMOVED if is_enough else RecoveryVerdict.TOO_SHORT)
    side = float(np.sign(off[left]))
    at_level = off * side <= band
    for place in range(left + 1, len(off) - _SAMPLES + 1):
        if at_level[place : place + _SAMPLES].all():
            return Found(RecoveryVerdict.RECOVERED, left, place)
    return Found(RecoveryVerdict.TOO_SHORT if at_level[-1] else RecoveryVerdict.NOT_RECOVERED, left)


def _left(off: FloatArray, band: float) -> int | None:
    """Find the first sample of those that show that the rate has left its level."""
    places = np.flatnonzero(np.abs(off) > _MOVED_TIMES * band).tolist()
    for is_off in (off > band, off < -band):
        places += _runs(is_off)
    return min(places, default=None)


def _runs(is_off: npt.NDArray[np.bool_]) -> list[int]:
    """Find the first of each `_MOVED_SAMPLES` samples in a row that are off."""
    count = _MOVED_SAMPLES
    return [place for place in range(len(is_off) - count + 1) if is_off[place : place + count].all()]
