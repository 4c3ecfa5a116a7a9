"""From fine histograms per interval to the cells and lines of a latency heat map.

Cells: HDR buckets (0.1 %) are gathered into logarithmic bands and, in long runs, neighbouring intervals into columns,
until no more cells than asked for are left; every operation is counted in exactly one cell.

Lines: a percentile q is only stated from at least 10 / (1 - q) operations (METHOD 2.5), so each step of a line covers
as many columns as give that many. No step begins in a column without operations: there the line has a gap.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assay.analysis.histogram import FloatArray, IntArray, quantile_ns, samples_needed
from assay.report.recording import Latencies

MAX_CELLS = 5000
"""METHOD 6.2, lesson 7: above this a figure gets heavy."""
MAX_COLUMNS = 150
BANDS_PER_DECADE = (16, 8)


@dataclass(frozen=True, slots=True)
class Cells:
    """The filled cells; arrays of shape `(cells,)`."""

    bands_per_decade: int
    intervals_per_column: int
    edges_s: FloatArray
    """Start of the first column and end of each."""
    column: IntArray
    band: IntArray
    """Band b holds latencies from 10 ** (b / bands_per_decade) ns up to the next band's start."""
    count: IntArray


@dataclass(frozen=True, slots=True)
class Step:
    """A percentile of the operations that completed in [start_s, end_s)."""

    start_s: float
    end_s: float
    value_ns: float
    ops: int


def cells(latencies: Latencies, max_cells: int = MAX_CELLS) -> Cells:
    """Gather a histogram into at most `max_cells` cells, finest bands first, then wider columns."""
    intervals = max(len(latencies.edges_s) - 1, 1)
    merge = math.ceil(intervals / MAX_COLUMNS)
    for bands_per_decade in BANDS_PER_DECADE:
        gathered = _gather(latencies, bands_per_decade, merge)
        if len(gathered.count) <= max_cells:
            return gathered
    while len(gathered.count) > max_cells and merge < intervals:
        merge += 1
        gathered = _gather(latencies, BANDS_PER_DECADE[-1], merge)
    return gathered


def quantile_steps(latencies: Latencies, intervals_per_column: int, q: Fraction) -> list[Step]:
    """Follow a percentile over time in steps of whole columns; a remainder with too few operations is not drawn."""
    intervals = len(latencies.edges_s) - 1
    per_interval = np.bincount(latencies.interval, weights=latencies.count, minlength=intervals)
    steps: list[Step] = []
    first = 0
    for next_start in [*range(intervals_per_column, intervals, intervals_per_column), intervals]:
        gathered = int(per_interval[first:next_start].sum())
        if gathered == 0:
            # A step that spanned a stall would claim a latency for a time in which nothing was completed.
            first = next_start
        if gathered < samples_needed(q):
            continue
        inside = (latencies.interval >= first) & (latencies.interval < next_start)
        value_ns = quantile_ns(latencies.value_ns[inside], latencies.count[inside], q)
        if value_ns is not None:
            edges = latencies.edges_s
            steps.append(Step(float(edges[first]), float(edges[next_start]), value_ns, gathered))
        first = next_start
    return steps


def _gather(latencies: Latencies, bands_per_decade: int, merge: int) -> Cells:
    column = latencies.interval // merge
    # A latency of 0 ns (below the clock's step) has no logarithm and belongs to the lowest band.
    band = np.floor(np.log10(np.maximum(latencies.value_ns, 1.0)) * bands_per_decade).astype(np.int64)
    places, at = np.unique(np.stack([column, band]), axis=1, return_inverse=True)
    count = np.zeros(places.shape[1], dtype=np.int64)
    np.add.at(count, at.reshape(-1), latencies.count)
    last = latencies.edges_s[-1:]
    edges = latencies.edges_s[:-1:merge] if len(latencies.edges_s) > 1 else latencies.edges_s
    return Cells(
        bands_per_decade=bands_per_decade,
        intervals_per_column=merge,
        edges_s=np.concatenate([edges, last]),
        column=places[0],
        band=places[1],
        count=count,
    )
