"""At which levels did a series of times or rates stand, and where did it change?

Optimal partition of z = ln(y) into pieces of constant level: the cut that minimises

    sum of squared distances to the piece's mean + 3 ln(n) * lrv * (pieces - 1)

over all cuts, found exactly in O(n^2) (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an
interval"; the logarithm makes a change a ratio, so x 1.3 weighs the same at any level). `lrv`, the long-run variance of
the noise, is s^2 (1 + phi) / (1 - phi), because noise that is correlated would be cut to pieces otherwise. Both s and phi
are from the first differences, which few changes of level hardly move: for AR(1) noise they have the variance
2 s^2 (1 - phi) and the lag-1 correlation (phi - 1) / 2.

Times have tails that no normal noise has. Therefore, before the search, a long series is gathered into medians of
neighbours, and in a short one a value more than 4 s from the median of the five around it counts as that median (Hampel's
rule): a lone commit of the journal is no change of level. After it, neighbours are one level if they differ by less than
5 %, or by less than a single value varies about them: a change that drowns in the noise may be there, but is not claimed.

Limits: a slow drift comes out as a staircase; where the steps stand in it means nothing, that there are some does.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, dot

SHORTEST_PIECE = 5
"""Values that a level has."""
LEVEL_PENALTY = 3.0
"""What one more level costs, in logarithms of the number of values times the variance of the noise (METHOD 1.3)."""
MOST_VALUES = 60
"""Longer series are gathered into medians of neighbours: the search takes the square of their number."""
_OUTLIER_DEVIATIONS = 4.0
"""From the median of its neighbours, from which on a value is an outlier (Hampel)."""
_MOST_CORRELATION = 0.8
"""Of neighbours, up to which noise is distinguished from a drift."""
_SETTLED_VALUES = 3
"""Values that the last level needs, for a series to have settled there."""

_MAD_TO_DEVIATION = 1.4826
_NEIGHBOURS = 2


@dataclass(frozen=True)
class Level:
    """Values `begin` up to before `end` stand at one level."""

    begin: int
    end: int
    value: float
    """The geometric mean of the values, outliers replaced."""


@dataclass(frozen=True)
class Levels:
    """A series, cut."""

    levels: tuple[Level, ...]
    noise: float
    """Standard deviation of a single value about its level, as a share of it; of a median where they were gathered."""
    gathered: int
    """Values in one median; 1: none was gathered."""
    outliers: int
    """Values, or medians, that lie apart from their neighbours; they moved no level."""


def find_levels(values: FloatArray, *, shortest: int = SHORTEST_PIECE, same: float = thresholds.SAME_LEVEL) -> Levels:
    """Cut a series into levels.

    Args:
        values: Above zero, shape `(n,)`, in order.
        shortest: Values that a level needs; a series shorter than two of them is one level.
        same: Levels that differ by a smaller share are one.

    Raises:
        ValueError: A value is not above zero, or there is none.
    """
    if not len(values) or not np.all(np.isfinite(values)) or np.any(values <= 0):
        raise ValueError("levels are of values above zero")
    gathered = _gathering(len(values))
    z = np.log(_gather(values, gathered))
    z, outliers = _without_outliers(z)
    edges = partition(z, LEVEL_PENALTY * math.log(len(z)) * long_run_variance(z), shortest)
    edges, noise = _merged(z, edges, same)
    levels = tuple(
        Level(begin * gathered, min(end * gathered, len(values)), math.exp(float(z[begin:end].mean())))
        for begin, end in itertools.pairwise(edges)
    )
    return Levels(levels=levels, noise=noise, gathered=gathered, outliers=outliers)


def _gathering(count: int) -> int:
    """Values in a median: an odd number, since a median of two is a mean."""
    return 1 if count <= MOST_VALUES else max(3, math.ceil(count / MOST_VALUES) | 1)


def _gather(values: FloatArray, by: int) -> FloatArray:
    if by == 1:
        return values
    return np.array([np.median(values[at : at + by]) for at in range(0, len(values), by)])


def long_run_variance(z: FloatArray) -> float:
    """Variance of the noise about its levels, times (1 + phi) / (1 - phi) for its correlation phi."""
    phi = _autocorrelation(z)
    return _step_deviation(z) ** 2 / (2 * (1 - phi)) * (1 + phi) / (1 - phi)


def _step_deviation(z: FloatArray) -> float:
    """Standard deviation of the first differences, by their median: the few that are changes of level hardly count."""
    if len(z) < 2:
        return 0.0
    steps = np.diff(z)
    return float(_MAD_TO_DEVIATION * np.median(np.abs(steps - np.median(steps))))


def _autocorrelation(z: FloatArray) -> float:
    """Correlation phi of neighbours, from that of the first differences, which is (phi - 1) / 2 for AR(1) noise."""
    steps = np.diff(z)
    steps = steps - steps.mean() if len(steps) else steps
    power = dot(steps, steps)
    if power <= 0:
        return 0.0
    return min(max(1 + 2 * dot(steps[1:], steps[:-1]) / power, 0.0), _MOST_CORRELATION)


def _without_outliers(z: FloatArray) -> tuple[FloatArray, int]:
    width = 2 * _NEIGHBOURS + 1
    if len(z) < width:
        return z, 0
    windows = np.lib.stride_tricks.sliding_window_view(z, width)
    # At the ends the first and last whole window serve.
    middle = np.median(windows, axis=1)
    middle = np.concatenate([np.repeat(middle[:1], _NEIGHBOURS), middle, np.repeat(middle[-1:], _NEIGHBOURS)])
    apart = np.abs(z - middle) > _OUTLIER_DEVIATIONS * max(_step_deviation(z) / math.sqrt(2), 1e-12)
    apart[:_NEIGHBOURS] = apart[-_NEIGHBOURS:] = False
    return np.where(apart, middle, z), int(apart.sum())


def partition(z: FloatArray, penalty: float, shortest: int) -> list[int]:
    """Give the edges of the best pieces, from 0 to n: each has at least `shortest` values, and one more costs `penalty`."""
    n = len(z)
    if n < 2 * shortest:
        return [0, n]
    sums = np.concatenate([[0.0], np.cumsum(z - z.mean())])
    squares = np.concatenate([[0.0], np.cumsum((z - z.mean()) ** 2)])
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(n + 1, dtype=np.int64)
    for end in range(shortest, n + 1):
        begins = np.arange(end - shortest + 1)
        cost = squares[end] - squares[begins] - (sums[end] - sums[begins]) ** 2 / (end - begins)
        total = best[begins] + cost + penalty
        before[end] = int(np.argmin(total))
        best[end] = total[before[end]]
    edges = [n]
    while edges[-1] > 0:
        edges.append(int(before[edges[-1]]))
    return edges[::-1]


def _merged(z: FloatArray, edges: list[int], same: float) -> tuple[list[int], float]:
    """Take out the edges between levels that are as good as the same, the smallest difference first; and the noise left."""
    edges = list(edges)
    while True:
        pieces = [z[a:b] for a, b in itertools.pairwise(edges)]
        means = np.array([piece.mean() for piece in pieces])
        freedom = max(len(z) - len(pieces), 1)
        noise = math.sqrt(sum(float(((piece - piece.mean()) ** 2).sum()) for piece in pieces) / freedom)
        gaps = np.abs(np.diff(means))
        if not len(gaps) or gaps.min() >= max(math.log1p(same), noise):
            return edges, noise
        del edges[int(np.argmin(gaps)) + 1]


def settled(found: Levels) -> Level | None:
    """Give the last level, if the series stayed there long enough to call it settled; else None."""
    last, total = found.levels[-1], found.levels[-1].end
    return last if last.end - last.begin >= max(_SETTLED_VALUES, thresholds.SETTLED_SHARE * total) else None
