"""From how many places do latencies come? A cache and what is behind it leave a peak each in their histogram.

On a logarithmic axis of eight classes an octave, each smoothed with its neighbours (1, 2, 1), two peaks are two modes where
they lie at least four times apart, the lowest class between them has at most half of the smaller one, by more than chance
(four standard deviations of its count), and each side of it holds at least 0.5 % of all values: fewer are a tail. The
deepest such valley is cut first, and then each side by itself.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, IntArray

_VALLEY, _ERRORS, _SMALLEST = 0.5, 4.0, 0.005
"""The lowest class between two modes by the smaller one (METHOD 4.4, C4); standard deviations of its count beyond chance, in
many classes; the part of all values that a mode has."""

_CLASSES_PER_OCTAVE = 8


@dataclass(frozen=True)
class Mode:
    """A peak of a histogram with what belongs to it."""

    at: float
    """Middle of its highest class."""
    share: float
    """Part of all values that lies between the valleys beside it."""


def find_modes(values: FloatArray, counts: IntArray) -> tuple[Mode, ...]:
    """Find the modes of a histogram, the lowest first; none where it is empty.

    Args:
        values: Shape `(n,)`, in any order; what is below 1 counts as 1.
        counts: How often each was met.
    """
    total = int(counts.sum())
    if not total:
        return ()
    classes = np.floor(np.log2(np.maximum(values, 1.0)) * _CLASSES_PER_OCTAVE).astype(np.int64)
    first = int(classes.min()) - 1
    # An empty class at both ends, so that a peak there is one.
    bins = np.bincount(classes - first, counts, minlength=int(classes.max()) - first + 2).astype(np.float64)
    smooth = np.convolve(bins, [0.25, 0.5, 0.25], mode="same")
    cuts = sorted(_valleys(bins, smooth, 0, len(bins) - 1, _SMALLEST * total))
    modes = []
    for begin, end in itertools.pairwise([0, *cuts, len(bins)]):
        peak = begin + int(np.argmax(smooth[begin:end]))
        modes.append(Mode(_value(peak + first + 0.5), float(bins[begin:end].sum()) / total))
    return tuple(modes)


def _value(place: float) -> float:
    return float(2 ** (place / _CLASSES_PER_OCTAVE))


def _valleys(bins: FloatArray, smooth: FloatArray, first: int, last: int, least: float) -> Iterator[int]:
    """Give the first classes of all modes but the first, between two classes."""
    inner = range(first + 1, last)
    peaks = [at for at in inner if smooth[at - 1] < smooth[at] >= smooth[at + 1]]
    found = [
        _valley(smooth, low, high)
        for low, high in itertools.combinations(peaks, 2)
        if 2 ** ((high - low) / _CLASSES_PER_OCTAVE) >= thresholds.MODES_APART
    ]
    for depth, at in sorted(found):
        if depth > _VALLEY:
            return
        if min(bins[first:at].sum(), bins[at : last + 1].sum()) >= least:
            yield at
            yield from _valleys(bins, smooth, first, at, least)
            yield from _valleys(bins, smooth, at, last, least)
            return


def _valley(smooth: FloatArray, low: int, high: int) -> tuple[float, int]:
    """Lowest class between two peaks as a part of the smaller one, and where it is: in the middle of several.

    One that may be there by chance is as high as the peak.
    """
    between = smooth[low : high + 1]
    lowest = np.flatnonzero(between == between.min())
    peak, depth = float(min(smooth[low], smooth[high])), float(between.min())
    by_chance = peak - depth <= _ERRORS * math.sqrt(peak)
    return 1.0 if by_chance else depth / peak, low + int(lowest[len(lowest) // 2])
