"""Parts of the recorded tables as arrays: what one operation did, and the values of each counter of the machine.

A phase has few rows and there may be hundreds of phases: a query of a table for each question would cost more than all
the answers. So each table is cut once, and what is asked of a part is asked of its arrays.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from assay.analysis.arrays import BoolArray, FloatArray, IntArray

NS_PER_S: Final = 1_000_000_000


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


def shares_inside(edges_ns: IntArray, span: Span) -> FloatArray:
    """Return which part of each interval between consecutive edges lies inside a span."""
    begins, ends = edges_ns[:-1], edges_ns[1:]
    common = np.minimum(ends, span.end_ns) - np.maximum(begins, span.begin_ns)
    shares: FloatArray = np.maximum(common, 0) / np.maximum(ends - begins, 1)
    return shares


def runs_of(values: IntArray) -> tuple[IntArray, IntArray]:
    """Find where equal neighbours begin, and how many they are: a histogram has many rows of one time."""
    begins = np.flatnonzero(np.concatenate([np.ones(min(1, len(values)), dtype=bool), values[1:] != values[:-1]]))
    return begins, np.diff(np.append(begins, len(values)))


@dataclasses.dataclass(frozen=True)
class Columns:
    """Rows of one phase that are about the same, in the order of time."""

    names: Mapping[str, Any]
    """What they are about."""
    columns: Mapping[str, npt.NDArray[Any]]
    unknown: Mapping[str, BoolArray]
    """Where a column is null, of those that have nulls; the number there is 0."""

    def __len__(self) -> int:
        """Count them."""
        return len(self.columns["t_ns"])

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return sum(column.nbytes if column.strides != (0,) else 0 for column in self.columns.values())


def in_time(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the times in nanoseconds, and put rows in the order of phases and time."""
    columns = [(pl.col("t_s") * NS_PER_S).round().cast(pl.Int64).alias("t_ns")]
    if "dt_s" in frame.columns:
        columns.append((pl.col("dt_s") * NS_PER_S).round().cast(pl.Int64).alias("dt_ns"))
    return frame.with_columns(columns).sort("phase_index", "t_ns", maintain_order=True)


@dataclasses.dataclass(frozen=True)
class Rows:
    """Some rows of a phase, such as those of one operation of a job, in the order of time."""

    parts: tuple[Columns, ...] = ()
    """Each in the order of time."""

    def __len__(self) -> int:
        """Count them."""
        return sum(len(part) for part in self.parts)

    def column(self, name: str) -> IntArray:
        """Give a column of whole numbers; what is null counts as 0."""
        return self._ordered([part.columns[name] for part in self.parts]).astype(np.int64, copy=False)

    def unknown(self, name: str) -> int:
        """Count the rows in which a column is null."""
        return sum(int(part.unknown[name].sum()) for part in self.parts if name in part.unknown)

    @functools.cached_property
    def t_ns(self) -> IntArray:
        """When each row's interval ended."""
        return self.column("t_ns")

    def within(self, span: Span) -> BoolArray:
        """Return which rows' intervals ended inside a span."""
        return (self.t_ns > span.begin_ns) & (self.t_ns <= span.end_ns)

    def total(self, name: str, span: Span | None = None) -> int:
        """Sum a column up, of a span or of all."""
        return sum(_total(part.columns[name], part.columns["t_ns"], span) for part in self.parts)

    def latest(self, name: str, t_ns: int) -> int | None:
        """Give the largest value of a column up to a time; None when there is no row so early."""
        values = self.column(name)[self.t_ns <= t_ns]
        return int(values.max()) if len(values) else None

    def also(self, others: Sequence["Rows"]) -> "Rows":
        """Give these rows and others of the same table."""
        return Rows((*self.parts, *(part for other in others for part in other.parts)))

    def last_known(self, name: str, t_ns: int) -> dict[str, Any] | None:
        """Give the last row up to a time in which a column is not null; None when there is none."""
        return self._last(t_ns, name)

    def last(self, t_ns: int | None = None) -> dict[str, Any] | None:
        """Give the last row, up to a time if given; None when there is none so early."""
        return self._last(t_ns, None)

    def _last(self, t_ns: int | None, known: str | None) -> dict[str, Any] | None:
        found = [row for part in self.parts if (row := _last_row(part, t_ns, known)) is not None]
        return max(found, key=lambda row: row["t_ns"], default=None)

    def _ordered(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        if len(columns) == 1:
            return columns[0]
        return np.concatenate([np.empty(0, dtype=np.int8), *columns])[self._order]

    @functools.cached_property
    def _order(self) -> IntArray:
        times = [part.columns["t_ns"] for part in self.parts]
        return np.argsort(np.concatenate([np.empty(0, dtype=np.int64), *times]), kind="stable")


NO_ROWS: Final = Rows()


def _total(values: npt.NDArray[Any], t_ns: IntArray, span: Span | None) -> int:
    if span is not None:
        first, end = (int(np.searchsorted(t_ns, edge_ns, side="right")) for edge_ns in (span.begin_ns, span.end_ns))
        values = values[first:end]
    if len(values) and values.strides == (0,):
        return int(values[0]) * len(values)
    return int(values.sum(dtype=np.int64))


def _last_row(part: Columns, t_ns: int | None, known: str | None) -> dict[str, Any] | None:
    """Give the last row of a part up to a time, in which a column is not null if one is named."""
    times = part.columns["t_ns"]
    count = len(times) if t_ns is None else int(np.searchsorted(times, t_ns, side="right"))
    if known is not None and known in part.unknown:
        places = np.flatnonzero(~part.unknown[known][:count])
        count = int(places[-1]) + 1 if len(places) else 0
    if not count:
        return None
    values = {name: column[count - 1].item() for name, column in part.columns.items()}
    return {**part.names, **values, **{name: None for name, nulls in part.unknown.items() if nulls[count - 1]}}
