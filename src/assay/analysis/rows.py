"""Parts of the recorded tables as arrays: what one operation did, and what each counter of the machine stood at.

A phase has few rows and there may be hundreds of phases: a query of a table for each question would cost more than all
the answers. So each table is cut once, and what is asked of a part is asked of its arrays.
"""

import dataclasses
import functools
import math
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

NS_PER_S: Final = 1_000_000_000

IntArray = npt.NDArray[np.int64]
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


class Rows:
    """Rows of one operation of a job in a phase, in the order of time."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Hold them."""
        self._frame = frame
        self._columns: dict[str, IntArray] = {}

    def __len__(self) -> int:
        """Count them."""
        return self._frame.height

    def column(self, name: str) -> IntArray:
        """Give a column of whole numbers; what is null counts as 0."""
        if name not in self._columns:
            column = self._frame[name]
            known = column.fill_null(0) if column.null_count() else column
            self._columns[name] = known.to_numpy().astype(np.int64, copy=False)
        return self._columns[name]

    @property
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


Counter = tuple[str, str, str]
"""Source, instance and name."""


@dataclasses.dataclass(frozen=True)
class _Samples:
    """One counter over the whole run, phase by phase in the order of time."""

    phase_index: IntArray
    t_ns: IntArray
    values: npt.NDArray[np.float64]

    def bounds(self, phase_index: int) -> tuple[int, int]:
        """Give the places of a phase's samples."""
        first, end = np.searchsorted(self.phase_index, (phase_index, phase_index + 1))
        return int(first), int(end)


class HostTable:
    """What the machine's and the engine's own counters stood at, cut by counter."""

    def __init__(self, table: pl.DataFrame) -> None:
        """Hold the rows of all phases, in the order of phases and time."""
        self._table = table

    def of_phase(self, index: int) -> "Counters":
        """Give the counters of one phase."""
        return Counters(self, index)

    @functools.cached_property
    def samples(self) -> dict[Counter, _Samples]:
        """Every counter with its samples."""
        by = ("source", "instance", "name")
        parts = self._table.partition_by(by, as_dict=True, maintain_order=True)
        return {(str(key[0]), str(key[1]), str(key[2])): _samples(part) for key, part in parts.items()}


def _samples(part: pl.DataFrame) -> _Samples:
    index, t_ns = (part[name].to_numpy().astype(np.int64, copy=False) for name in ("phase_index", "t_ns"))
    return _Samples(index, t_ns, part["value"].to_numpy())


@dataclasses.dataclass(frozen=True)
class Counters:
    """The counters of one phase: running totals by source and instance."""

    table: HostTable
    phase_index: int

    def delta(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the growth of a counter over a span; None when it was not sampled at the begin or not at all."""
        samples = self.table.samples.get((source, instance, name))
        if samples is None:
            return None
        first, end = samples.bounds(self.phase_index)
        before, until = np.searchsorted(samples.t_ns[first:end], (span.begin_ns, span.end_ns), side="right")
        if not before:
            return None
        grown = float(samples.values[first + until - 1] - samples.values[first + before - 1])
        return None if math.isnan(grown) else grown

    def instances(self, source: str) -> tuple[str, ...]:
        """Name the instances of a source."""
        return tuple(dict.fromkeys(instance for _, instance, _ in self._sampled(source)))

    def names(self, source: str) -> tuple[str, ...]:
        """Name the counters of a source."""
        return tuple(dict.fromkeys(name for _, _, name in self._sampled(source)))

    def ticks_ns(self, source: str) -> set[int]:
        """Say when a source was sampled."""
        ticks: set[int] = set()
        for samples in self._sampled(source).values():
            ticks.update(samples.t_ns[slice(*samples.bounds(self.phase_index))].tolist())
        return ticks

    def _sampled(self, source: str) -> dict[Counter, _Samples]:
        """Find the counters of a source that were sampled in the phase."""
        found = {}
        for key, samples in self.table.samples.items():
            if key[0] == source:
                first, end = samples.bounds(self.phase_index)
                if end > first:
                    found[key] = samples
        return found
