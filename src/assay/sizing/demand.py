"""What a load asks for in the long run, as distinct from its mean and its peak.

A chart of a day has quiet hours, which pull its mean down, and spikes of seconds or minutes, which a cache takes and
disks need not. What disks must carry is the level in between. The series is cut into levels
(`analysis/statistics/levels.py`, on log(1 + IOPS), pieces of one step or more); a level is active from a quarter of
the reference on, which is the 90th percentile of the mean of five steps, or the greatest median of half an hour where
that is more: in a day that is quiet but for an hour. An active stretch that is shorter than `spike_s`, or what stands
out of one by a quarter for a shorter time, is a spike; the rest of what is active is the core.

Bursts that come again and again are no spikes but the load: where they take as long as a spike may last in any half
hour, the mean of that half hour counts in full. Else the greatest mean of a half hour is that of its other steps.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.analysis.arrays import BoolArray, FloatArray
from assay.analysis.statistics.levels import LEVEL_PENALTY, long_run_variance, partition
from assay.sizing.durations import SUSTAINED_S, USUAL_SPIKE_S, WINDOWS_S

ACTIVE_SHARE: Final = 0.25
"""Of the reference, from which on a level is active; and by how much a spike stands out."""
_SMOOTHED: Final = 5
_REFERENCE: Final = 0.9
_MOST_STEPS: Final = 10_000
"""The search takes the square of their number; longer series are gathered into means of neighbours first."""
_LEAST_SPIKES: Final = 2
"""Times as long as a spike may last, below which a series is too short to tell spikes from what lasts: all of it is core."""
_LEAST_NOISE: Final = 1e-4
"""Variance of the logarithm: noise of 1 %. Without noise each step would be a level of its own."""
_WHOLE: Final = 0.9
"""Share of a window that must have samples."""


@dataclass(frozen=True)
class Spike:
    """A short time above the core.

    Attributes:
        begin: Step at which it begins.
        end: Step before which it ends.
        iops: Mean over it.
    """

    begin: int
    end: int
    iops: float


@dataclass(frozen=True)
class Demand:
    """A series of IOPS, summed up.

    Attributes:
        mean: Over all steps with samples; also `median`, `p95`, `p99` and `peak`, the highest step.
        steady_mean: Mean over the core; None where nothing lasts.
        steady_p95: 95th percentile of the steps of the core.
        busiest: Greatest mean over a window, spikes included, by its length in seconds; of windows that the series
        has. sustained: Greatest mean of half an hour without its spikes; with them where they are the load. None: the
        series is
            shorter.
        core: Which steps are the core: shape `(steps,)`.
        spikes: In order of time.
        gathered: Steps in one value of the search for levels.
    """

    mean: float
    median: float
    p95: float
    p99: float
    peak: float
    steady_mean: float | None
    steady_p95: float | None
    busiest: dict[float, float]
    sustained: float | None
    core: BoolArray
    spikes: tuple[Spike, ...]
    gathered: int


def demand_of(iops: FloatArray, step_s: float, spike_s: float = USUAL_SPIKE_S) -> Demand:
    """Sum a series up.

    Args:
        iops: Rates of all devices together, in equal steps; NaN where there are no samples. Shape `(steps,)`.
        step_s: Length of a step.
        spike_s: What is active for a shorter time is a spike.

    Raises:
        ValueError: There is no sample.
    """
    is_there = np.isfinite(iops)
    there = iops[is_there]
    if not len(there):
        raise ValueError("there is no sample")
    gathered = -(-len(there) // _MOST_STEPS)
    values = np.array([there[at : at + gathered].mean() for at in range(0, len(there), gathered)])
    if len(there) * step_s < _LEAST_SPIKES * spike_s:
        is_core, is_spike = np.ones(len(values), dtype=np.bool_), np.zeros(len(values), dtype=np.bool_)
    else:
        is_core, is_spike = _parts(values, step_s * gathered, spike_s, gathered)
    core, spiky = (_placed(part, is_there, gathered) for part in (is_core, is_spike))
    return Demand(
        mean=float(there.mean()),
        median=float(np.median(there)),
        p95=float(np.quantile(there, 0.95)),
        p99=float(np.quantile(there, 0.99)),
        peak=float(there.max()),
        steady_mean=float(iops[core].mean()) if core.any() else None,
        steady_p95=float(np.quantile(iops[core], 0.95)) if core.any() else None,
        busiest={window: most for window in WINDOWS_S if (most := _busiest(iops, step_s, window)) is not None},
        sustained=_sustained(iops, spiky, step_s, spike_s),
        core=core,
        spikes=tuple(Spike(begin, end, float(np.nanmean(iops[begin:end]))) for begin, end in runs_of(spiky)),
        gathered=gathered,
    )


def _parts(values: FloatArray, step_s: float, spike_s: float, gathered: int) -> tuple[BoolArray, BoolArray]:
    """Tell core and spikes apart."""
    z = np.log1p(values)
    variance = max(long_run_variance(z), _LEAST_NOISE)
    edges = partition(z, LEVEL_PENALTY * math.log(max(len(z), 2)) * variance, 1)
    levels = np.concatenate(
        [np.full(end - begin, values[begin:end].mean()) for begin, end in itertools.pairwise(edges)]
    )
    active = levels >= ACTIVE_SHARE * max(_reference(values), _greatest_median(values, round(SUSTAINED_S / step_s)))
    # What was gathered has a part of what is beside it at either end.
    too_short = spike_s / step_s + (gathered > 1)
    is_spike: BoolArray = np.zeros(len(values), dtype=np.bool_)
    for begin, end in runs_of(active):
        if end - begin < too_short:
            is_spike[begin:end] = True
            continue
        stands_out = levels[begin:end] > (1 + ACTIVE_SHARE) * float(np.median(values[begin:end]))
        for first, last in runs_of(stands_out):
            if last - first < too_short:
                is_spike[begin + first : begin + last] = True
    return active & ~is_spike, is_spike


def _reference(values: FloatArray) -> float:
    width = min(_SMOOTHED, len(values))
    return float(np.quantile(np.convolve(values, np.full(width, 1 / width), mode="valid"), _REFERENCE))


def _greatest_median(values: FloatArray, width: int) -> float:
    if not 1 <= width <= len(values):
        return 0.0
    return float(np.median(np.lib.stride_tricks.sliding_window_view(values, width), axis=1).max())


def _sustained(iops: FloatArray, spiky: BoolArray, step_s: float, spike_s: float) -> float | None:
    """Give the greatest mean of half an hour, without spikes where they take less of it than one may last."""
    width = round(SUSTAINED_S / step_s)
    if not 1 <= width <= len(iops):
        return None
    in_spikes = np.convolve(spiky, np.ones(width), mode="valid") * step_s
    quiet = _busiest(np.where(spiky, np.nan, iops), step_s, SUSTAINED_S, least=1 - spike_s / SUSTAINED_S)
    bursts = _means(iops, width, _WHOLE)
    bursts = bursts[(in_spikes >= spike_s) & np.isfinite(bursts)]
    found = [each for each in (quiet, bursts.max() if len(bursts) else None) if each is not None]
    return float(max(found)) if found else None


def _busiest(iops: FloatArray, step_s: float, window_s: float, least: float = _WHOLE) -> float | None:
    """Give the greatest mean over a window, of those of which a share of `least` has samples."""
    width = round(window_s / step_s)
    if not 1 <= width <= len(iops):
        return None
    means = _means(iops, width, least)
    means = means[np.isfinite(means)]
    return float(means.max()) if len(means) else None


def _means(iops: FloatArray, width: int, least: float) -> FloatArray:
    """Give the mean of each window of so many steps; NaN where fewer than a share of `least` have samples."""
    is_there = np.isfinite(iops)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (np.where(is_there, iops, 0.0), is_there))
    found, amount = counts[width:] - counts[:-width], sums[width:] - sums[:-width]
    return np.where(found >= max(least * width, 1), amount / np.maximum(found, 1), np.nan)


def _placed(part: BoolArray, is_there: BoolArray, gathered: int) -> BoolArray:
    """Put what was found of the gathered values in the places of the steps."""
    placed: BoolArray = np.zeros(len(is_there), dtype=np.bool_)
    placed[is_there] = np.repeat(part, gathered)[: int(is_there.sum())]
    return placed


def runs_of(marked: BoolArray) -> list[tuple[int, int]]:
    """Give the first step of each run of marked steps, and the one after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
