"""Histograms added up: operations by interval and bucket, of any number of clients, in the memory of their sum."""

from typing import Final

import numpy as np
import polars as pl

from assay.analysis.arrays import IntArray
from assay.analysis.rows import runs_of

_STEP: Final = 1024
"""Buckets that are made room for at once: those of a doubling of the latency."""


class BucketSums:
    """The sum of histograms that are given one after another."""

    def __init__(self, ends_ns: IntArray) -> None:
        """Begin with nothing; `ends_ns` are the ends of all intervals, in order."""
        self._ends_ns = ends_ns
        self._first = 0
        self._sums = np.zeros((len(ends_ns), 0), dtype=np.int64)

    def add(self, end_ns: IntArray, bucket: IntArray, count: IntArray) -> None:
        """Add rows: the end of an interval, a bucket, and the operations in it."""
        if not len(bucket):
            return
        self._make_room(int(bucket.min()), int(bucket.max()))
        begins, lengths = runs_of(end_ns)
        ticks = np.searchsorted(self._ends_ns, end_ns[begins])
        places = np.repeat(ticks * self._sums.shape[1] - self._first, lengths) + bucket
        np.add.at(self._sums.reshape(-1), places, count)

    def frame(self) -> pl.DataFrame:
        """Give the sum: `set_ns`, `bucket` and `n`."""
        tick, bucket = np.nonzero(self._sums)
        return pl.DataFrame(
            {"set_ns": self._ends_ns[tick], "bucket": bucket + self._first, "n": self._sums[tick, bucket]}
        )

    def _make_room(self, least: int, most: int) -> None:
        """Let the sums reach from one bucket to another."""
        width = self._sums.shape[1]
        first = min(self._first if width else least, least) // _STEP * _STEP
        end = (max(self._first + width - 1, most) // _STEP + 1) * _STEP
        if width and first == self._first and end == first + width:
            return
        sums = np.zeros((len(self._ends_ns), end - first), dtype=np.int64)
        if width:
            sums[:, self._first - first : self._first - first + width] = self._sums
        self._first, self._sums = first, sums
