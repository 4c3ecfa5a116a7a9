"""Parts of the recorded tables as arrays: what one operation did, and what each counter of the machine stood at.

A phase has few rows and there may be hundreds of phases: a query of a table for each question would cost more than all
the answers. So each table is cut once, and what is asked of a part is asked of its arrays.
"""

import bisect
import dataclasses
import functools
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


@dataclasses.dataclass(frozen=True)
class _Samples:
    """One counter in one phase."""

    t_ns: list[int]
    values: list[float | None]


class Counters:
    """What the machine's and the engine's own counters stood at in one phase: running totals by source and instance."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Hold the rows of the phase, in the order of time."""
        self._frame = frame

    def delta(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the growth of a counter over a span; None when it was not sampled at the begin or not at all."""
        samples = self._samples.get((source, instance, name))
        if samples is None:
            return None
        before, until = (bisect.bisect_right(samples.t_ns, at_ns) for at_ns in (span.begin_ns, span.end_ns))
        if not before:
            return None
        first, last = samples.values[before - 1], samples.values[until - 1]
        return None if first is None or last is None else last - first

    def instances(self, source: str) -> tuple[str, ...]:
        """Name the instances of a source."""
        return tuple(dict.fromkeys(instance for of, instance, _ in self._samples if of == source))

    def names(self, source: str) -> tuple[str, ...]:
        """Name the counters of a source."""
        return tuple(dict.fromkeys(name for of, _, name in self._samples if of == source))

    def ticks_ns(self, source: str) -> set[int]:
        """Say when a source was sampled."""
        return {t_ns for (of, _, _), samples in self._samples.items() if of == source for t_ns in samples.t_ns}

    @functools.cached_property
    def _samples(self) -> dict[tuple[str, str, str], _Samples]:
        found: dict[tuple[str, str, str], _Samples] = {}
        columns = ("source", "instance", "name", "t_ns", "value")
        for source, instance, name, t_ns, value in zip(
            *(self._frame[column].to_list() for column in columns), strict=True
        ):
            key = (source, instance, name)
            samples = found.get(key)
            if samples is None:
                samples = found[key] = _Samples([], [])
            samples.t_ns.append(t_ns)
            samples.values.append(value)
        return found
