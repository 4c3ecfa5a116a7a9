"""The recorded tables, cut by phase and name when they are asked for.

Times are integer nanoseconds since the engine's hello (`t_ns`), made from the tables' `t_s`, so that they can be compared
exactly.
"""

import functools
from collections.abc import Mapping

import polars as pl

from assay.analysis.rows import NS_PER_S, HostTable, Rows


class Tables:
    """The tables, each cut once: a filter for each of a thousand phases would read it a thousand times."""

    def __init__(
        self, intervals: pl.DataFrame, histograms: pl.DataFrame, workers: pl.DataFrame, host: pl.DataFrame
    ) -> None:
        """Hold them, in the order of phases and time."""
        self._intervals, self._histograms, self._workers = map(_in_time, (intervals, histograms, workers))
        self.host = HostTable(_in_time(host))
        self.no_intervals, self.no_buckets = Rows(self._intervals.clear()), Rows(self._histograms.clear())

    @functools.cached_property
    def intervals(self) -> Mapping[int, pl.DataFrame]:
        """By phase."""
        return _by_phase(self._intervals)

    @functools.cached_property
    def histograms(self) -> Mapping[int, pl.DataFrame]:
        """By phase."""
        return _by_phase(self._histograms)

    @functools.cached_property
    def workers(self) -> Mapping[int, pl.DataFrame]:
        """By phase."""
        return _by_phase(self._workers)

    @functools.cached_property
    def operations(self) -> dict[int, dict[tuple[str, ...], Rows]]:
        """Rows of `intervals` by phase, then by job and operation."""
        return _by_name(self._intervals, "job", "operation")

    @functools.cached_property
    def buckets(self) -> dict[int, dict[tuple[str, ...], Rows]]:
        """Rows of `hist` by phase, then by job, operation and series."""
        return _by_name(self._histograms, "job", "operation", "series")


class _Parts(dict[int, pl.DataFrame]):
    """A table, cut by phase; a phase that has no row has an empty part."""

    def __init__(self, parts: dict[int, pl.DataFrame], empty: pl.DataFrame) -> None:
        super().__init__(parts)
        self._empty = empty

    def __missing__(self, key: int) -> pl.DataFrame:
        return self._empty


def _by_phase(table: pl.DataFrame) -> _Parts:
    parts = table.partition_by("phase_index", as_dict=True, maintain_order=True)
    return _Parts({int(key[0]): part for key, part in parts.items()}, table.clear())


def _by_name(table: pl.DataFrame, *names: str) -> dict[int, dict[tuple[str, ...], Rows]]:
    found: dict[int, dict[tuple[str, ...], Rows]] = {}
    for (index, *key), part in table.partition_by("phase_index", *names, as_dict=True, maintain_order=True).items():
        found.setdefault(int(index), {})[tuple(key)] = Rows(part)
    return found


def _in_time(table: pl.DataFrame) -> pl.DataFrame:
    columns = [(pl.col("t_s") * NS_PER_S).round().cast(pl.Int64).alias("t_ns")]
    if "dt_s" in table.columns:
        columns.append((pl.col("dt_s") * NS_PER_S).round().cast(pl.Int64).alias("dt_ns"))
    return table.with_columns(columns).sort("phase_index", "t_ns", maintain_order=True)
