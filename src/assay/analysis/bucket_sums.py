"""Histograms added up: operations by interval and bucket, of any number of clients, in the memory of their sum."""

from typing import Final

import polars as pl

from assay.analysis.arrays import IntArray

_GATHERED_ROWS: Final = 1 << 20
"""Rows that are put aside until they are added up."""


class BucketSums:
    """The sum of histograms that are given one after another."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._parts: list[pl.DataFrame] = []
        self._rows = 0
        self._limit = _GATHERED_ROWS

    def add(self, end_ns: IntArray, bucket: IntArray, count: IntArray) -> None:
        """Add rows: the end of an interval, a bucket, and the operations in it."""
        self._parts.append(pl.DataFrame({"set_ns": end_ns, "bucket": bucket, "n": count}))
        self._rows += len(bucket)
        if self._rows > self._limit:
            self._parts = [self.frame()]
            self._rows = self._parts[0].height
            self._limit = max(_GATHERED_ROWS, 2 * self._rows)

    def frame(self) -> pl.DataFrame:
        """Give the sum: `set_ns`, `bucket` and `n`."""
        return pl.concat(self._parts).group_by("set_ns", "bucket").agg(pl.col("n").sum()).sort("set_ns", "bucket")
