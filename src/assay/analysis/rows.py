"""Parts of the recorded tables as arrays: what one operation did, and what each counter of the machine stood at.

A phase has few rows and there may be hundreds of phases: a query of a table for each question would cost more than all
the answers. So each table is cut once, and what is asked of a part is asked of its arrays.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from assay.analysis.arrays import IntArray

NS_PER_S: Final = 1_000_000_000

BoolArray = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of time: `begin_ns` to `end_ns`."""

    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Length."""
        return (self.end_ns - self.begin_ns) / NS_PER_S

    def share_of(self, other: "Span") -> float:
        """Return which part of this one lies inside another."""
        common_ns = min(self.end_ns, other.end_ns) - max(self.begin_ns, other.begin_ns)
        length_ns = self.end_ns - self.begin_ns
        return max(0, common_ns) / length_ns if length_ns > 0 else 0.0


class RecordedTable:
    """A recorded table as arrays, in the order of phases and time.

    Times are integer nanoseconds since the engine's hello (`t_ns`), made from the table's `t_s`, so that they can be
    compared exactly.
    """

    def __init__(self, frame: pl.DataFrame, *names: str) -> None:
        """Hold a table; `names` are the columns that say what a row is about."""
        self._frame = in_time(frame)
        self._names = names
        self._columns: dict[str, IntArray] = {}
        self._unknown: dict[str, BoolArray] = {}

    def column(self, name: str) -> IntArray:
        """Give a column of whole numbers; what is null counts as 0."""
        if name not in self._columns:
            column = self._frame[name]
            known = column.fill_null(0) if column.null_count() else column
            self._columns[name] = known.to_numpy().astype(np.int64, copy=False)
        return self._columns[name]

    def unknown(self, name: str) -> BoolArray:
        """Say where a column is null."""
        if name not in self._unknown:
            self._unknown[name] = self._frame[name].is_null().to_numpy()
        return self._unknown[name]

    def row(self, place: int) -> dict[str, Any]:
        """Give one row, with None where a column is null."""
        return self._frame.row(place, named=True)

    @functools.cached_property
    def none(self) -> "Rows":
        """No rows."""
        return Rows(self, np.empty(0, dtype=np.int64))

    @functools.cached_property
    def by_phase(self) -> Mapping[int, "Rows"]:
        """All rows of each phase."""
        return {int(index): Rows(self, places) for (index,), places in places_of(self._frame, "phase_index").items()}

    @functools.cached_property
    def by_name(self) -> Mapping[int, Mapping[tuple[Any, ...], "Rows"]]:
        """Rows by phase, then by what they are about, in the order in which that was first seen."""
        found: dict[int, dict[tuple[Any, ...], Rows]] = {}
        for (index, *key), places in places_of(self._frame, "phase_index", *self._names).items():
            found.setdefault(int(index), {})[tuple(key)] = Rows(self, places)
        return found


def in_time(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the times in nanoseconds, and put rows in the order of phases and time."""
    columns = [(pl.col("t_s") * NS_PER_S).round().cast(pl.Int64).alias("t_ns")]
    if "dt_s" in frame.columns:
        columns.append((pl.col("dt_s") * NS_PER_S).round().cast(pl.Int64).alias("dt_ns"))
    return frame.with_columns(columns).sort("phase_index", "t_ns", maintain_order=True)


def places_of(frame: pl.DataFrame, *names: str) -> dict[tuple[Any, ...], IntArray]:
    """Say at which places the rows with the same values of some columns stand."""
    places = frame.select(*names, place=pl.int_range(pl.len()))
    groups = places.group_by(names, maintain_order=True).agg("place", count=pl.len())
    parts = np.split(groups["place"].explode().to_numpy(), np.cumsum(groups["count"].to_numpy())[:-1])
    # Not strict: of no rows np.split makes one part, but there is no group.
    return dict(zip(groups.select(names).iter_rows(), parts, strict=False))


@dataclasses.dataclass(frozen=True)
class Rows:
    """Some rows of a table, such as those of one operation of a job in a phase, in the order of time."""

    table: RecordedTable
    places: IntArray

    def __len__(self) -> int:
        """Count them."""
        return len(self.places)

    def column(self, name: str) -> IntArray:
        """Give a column of whole numbers; what is null counts as 0."""
        return self.table.column(name)[self.places]

    def unknown(self, name: str) -> int:
        """Count the rows in which a column is null."""
        return int(self.table.unknown(name)[self.places].sum())

    @functools.cached_property
    def t_ns(self) -> IntArray:
        """When each row's interval ended."""
        return self.column("t_ns")

    def within(self, span: Span) -> BoolArray:
        """Say which rows' intervals ended inside a span."""
        return (self.t_ns > span.begin_ns) & (self.t_ns <= span.end_ns)

    def total(self, name: str, span: Span | None = None) -> int:
        """Sum a column up, of a span or of all."""
        values = self.column(name)
        return int(values.sum() if span is None else values[self.within(span)].sum())

    def latest(self, name: str, t_ns: int) -> int | None:
        """Give the largest value of a column up to a time; None when there is no row so early."""
        values = self.column(name)[self.t_ns <= t_ns]
        return int(values.max()) if len(values) else None

    def also(self, others: Sequence["Rows"]) -> "Rows":
        """Give these rows and others of the same table."""
        places = np.sort(np.concatenate([self.places, *(other.places for other in others)]))
        return Rows(self.table, places)

    def last_known(self, name: str, t_ns: int) -> dict[str, Any] | None:
        """Give the last row up to a time in which a column is not null; None when there is none."""
        places = self.places[: int(np.searchsorted(self.t_ns, t_ns, side="right"))]
        known = places[~self.table.unknown(name)[places]]
        return self.table.row(int(known[-1])) if len(known) else None

    def last(self, t_ns: int | None = None) -> dict[str, Any] | None:
        """Give the last row, up to a time if given; None when there is none so early."""
        count = len(self) if t_ns is None else int(np.searchsorted(self.t_ns, t_ns, side="right"))
        return self.table.row(int(self.places[count - 1])) if count else None


Counter = tuple[str, str]
"""Instance and name."""


@dataclasses.dataclass(frozen=True)
class _Samples:
    """One counter over the whole run, phase by phase in the order of time."""

    phase_index: IntArray
    t_ns: IntArray
    values: npt.NDArray[np.float64]

    def bounds(self, phase_index: int) -> tuple[int, int]:
        """Give the places of a phase's samples."""
        return self._bounds.get(phase_index, (0, 0))

    @functools.cached_property
    def _bounds(self) -> dict[int, tuple[int, int]]:
        phases, firsts = np.unique(self.phase_index, return_index=True)
        ends = itertools.pairwise([*firsts.tolist(), len(self.phase_index)])
        return dict(zip(phases.tolist(), ends, strict=True))


class HostTable:
    """What the machine's and the engine's own counters stood at, cut by counter."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Hold the rows of all phases."""
        self._frame = in_time(frame)

    def of_phase(self, index: int) -> "Counters":
        """Give the counters of one phase."""
        return Counters(self, index)

    @functools.cached_property
    def samples(self) -> dict[str, dict[Counter, _Samples]]:
        """Every counter with its samples, by source."""
        columns = [self._frame[name].to_numpy() for name in ("phase_index", "t_ns", "value")]
        found: dict[str, dict[Counter, _Samples]] = {}
        for (source, *counter), places in places_of(self._frame, "source", "instance", "name").items():
            found.setdefault(source, {})[(counter[0], counter[1])] = _Samples(*(column[places] for column in columns))
        return found


def _counter_at(t_ns: IntArray, values: npt.NDArray[np.float64], at_ns: int) -> float:
    """Give a counter at a time from its first sample on; after the last one, that."""
    last = int(np.searchsorted(t_ns, at_ns, side="right")) - 1
    value = float(values[last])
    if t_ns[last] == at_ns or last + 1 == len(t_ns):
        return value
    share = (at_ns - int(t_ns[last])) / (int(t_ns[last + 1]) - int(t_ns[last]))
    return value + share * float(values[last + 1] - values[last])


@dataclasses.dataclass(frozen=True)
class Counters:
    """The counters of one phase: running totals by source and instance."""

    table: HostTable
    phase_index: int

    def delta(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the growth of a counter over a span; None when it was not sampled at the begin or not at all.

        Counters of the machine are sampled each 100 ms at most: of an edge between two samples, in proportion.
        """
        samples = self.table.samples.get(source, {}).get((instance, name))
        if samples is None:
            return None
        first, end = samples.bounds(self.phase_index)
        t_ns, values = samples.t_ns[first:end], samples.values[first:end]
        if not len(t_ns) or t_ns[0] > span.begin_ns:
            return None
        grown = _counter_at(t_ns, values, span.end_ns) - _counter_at(t_ns, values, span.begin_ns)
        return None if math.isnan(grown) else grown

    def at(self, t_ns: int, source: str, instance: str, name: str) -> float | None:
        """Return a gauge as it was sampled last up to a time; None when it was not sampled so early."""
        samples = self.table.samples.get(source, {}).get((instance, name))
        if samples is None:
            return None
        first, end = samples.bounds(self.phase_index)
        count = int(np.searchsorted(samples.t_ns[first:end], t_ns, side="right"))
        value = float(samples.values[first + count - 1]) if count else math.nan
        return None if math.isnan(value) else value

    def mean(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the mean of a gauge over the samples inside a span; None when it was not sampled there."""
        samples = self.table.samples.get(source, {}).get((instance, name))
        if samples is None:
            return None
        first, end = samples.bounds(self.phase_index)
        t_ns = samples.t_ns[first:end]
        inside = samples.values[first:end][(t_ns > span.begin_ns) & (t_ns <= span.end_ns)]
        return float(inside.mean()) if len(inside) else None

    def instances(self, source: str) -> tuple[str, ...]:
        """Name the instances of a source."""
        return tuple(dict.fromkeys(instance for instance, _ in self._sampled(source)))

    def names(self, source: str) -> tuple[str, ...]:
        """Name the counters of a source."""
        return tuple(dict.fromkeys(name for _, name in self._sampled(source)))

    def ticks_ns(self, source: str) -> set[int]:
        """Say when a source was sampled."""
        ticks: set[int] = set()
        for samples in self._sampled(source).values():
            ticks.update(samples.t_ns[slice(*samples.bounds(self.phase_index))].tolist())
        return ticks

    def _sampled(self, source: str) -> dict[Counter, _Samples]:
        """Find the counters of a source that were sampled in the phase."""
        found = {}
        for counter, samples in self.table.samples.get(source, {}).items():
            first, end = samples.bounds(self.phase_index)
            if end > first:
                found[counter] = samples
        return found
