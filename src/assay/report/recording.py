"""What happened when, in one phase: the series that figures are drawn from.

Pure reading of a run's tables into arrays on the phase's own interval grid. Times are seconds since the start of the
phase. An interval in which an operation did not complete once has no row in the tables; it is a stall and is put back
as zero here, never bridged. The tables are read once for a whole report.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from assay import events
from assay.analysis.histogram import FloatArray, IntArray, bucket_middle_ns, bucket_width_ns
from assay.analysis.record import RecordedRun
from assay.errors import BundleError
from assay.plan import Plan
from assay.results import Result

_GRID_DIGITS = 6
"""Ends of intervals are compared to the microsecond: the tables keep seconds as floats."""


@dataclass(frozen=True, slots=True)
class NumberedMark:
    """A mark inside a phase; `number` counts over the whole run and is what figures print."""

    number: int
    t_s: float
    label: str
    source: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """One operation over the intervals of its phase; arrays of shape `(intervals,)`."""

    start_s: FloatArray
    end_s: FloatArray
    ops: IntArray
    bytes: IntArray
    errors: IntArray


@dataclass(frozen=True, slots=True)
class Latencies:
    """Sparse histogram over the intervals: `count[i]` values near `value_ns[i]` in interval `interval[i]`."""

    edges_s: FloatArray
    """Start of the first interval and end of each, shape `(intervals + 1,)`."""
    interval: IntArray
    value_ns: FloatArray
    width_ns: FloatArray
    count: IntArray


@dataclass(frozen=True, slots=True)
class Recording:
    """A run's tables, read once."""

    plan: Plan
    intervals: pl.DataFrame
    histograms: pl.DataFrame
    ticks: pl.DataFrame
    """`phase_index`, `t_s`: every end of an interval that any table knows."""
    starts_s: dict[int, float]
    marks: tuple[tuple[float, str, str], ...]

    def phase_index(self, result: Result) -> int:
        """Find the phase of a result; raises BundleError when the Plan has none of that name and repeat."""
        for index, phase in enumerate(self.plan.phases):
            if (phase.name, phase.repeat) == (result.phase, result.repeat):
                return index
        raise BundleError(
            f"report: the results name phase '{result.phase}' (repeat {result.repeat}), which the run's Plan does not"
            " have. The bundle and the results are not of one run; analyse the bundle again."
        )

    def edges_s(self, phase_index: int) -> FloatArray:
        """Give the interval grid of a phase: 0, then the end of each interval.

        The sample that the engine takes at the start of a phase ends no interval; it lies within a tenth of an interval
        of the start and is left out unless operations were counted at it.
        """
        start_s = self.starts_s.get(phase_index, 0.0)
        earliest_s = 0.1 * self.plan.sample_interval_s
        counted = set(_relative(self.intervals, phase_index, start_s).tolist())
        ends = sorted(set(_relative(self.ticks, phase_index, start_s).tolist()))
        kept = [end for end in ends if end > 0 and (end > earliest_s or end in counted)]
        return np.array([0.0, *kept], dtype=np.float64)

    def timeline(self, result: Result) -> Timeline:
        """Give operations, bytes and errors of a result's operation in every interval of its phase."""
        phase_index = self.phase_index(result)
        edges = self.edges_s(phase_index)
        rows = _rows_of(self.intervals, phase_index, result)
        at = self._interval_numbers(rows, phase_index, edges)
        columns = {}
        for name in ("ops", "bytes", "errors"):
            column = np.zeros(len(edges) - 1, dtype=np.int64)
            np.add.at(column, at, rows[name].to_numpy())
            columns[name] = column
        return Timeline(start_s=edges[:-1], end_s=edges[1:], **columns)

    def latencies(self, result: Result, series: str) -> Latencies:
        """Give the histogram of a result's operation; `series` is `latency` or `response`."""
        phase_index = self.phase_index(result)
        edges = self.edges_s(phase_index)
        rows = _rows_of(self.histograms, phase_index, result).filter(pl.col("series") == series)
        bucket = rows["bucket"].to_numpy().astype(np.int64)
        return Latencies(
            edges_s=edges,
            interval=self._interval_numbers(rows, phase_index, edges),
            value_ns=bucket_middle_ns(bucket),
            width_ns=bucket_width_ns(bucket).astype(np.float64),
            count=rows["n"].to_numpy().astype(np.int64),
        )

    def marks_in(self, result: Result) -> tuple[NumberedMark, ...]:
        """Give the marks that fall into the phase of a result."""
        phase_index = self.phase_index(result)
        start_s = self.starts_s.get(phase_index, 0.0)
        end_s = self.edges_s(phase_index)[-1]
        placed = (NumberedMark(i, t_s - start_s, label, source) for i, (t_s, label, source) in enumerate(self.marks, 1))
        return tuple(mark for mark in placed if 0 <= mark.t_s <= end_s)

    def _interval_numbers(self, rows: pl.DataFrame, phase_index: int, edges: FloatArray) -> IntArray:
        ends = _round(rows["t_s"].to_numpy() - self.starts_s.get(phase_index, 0.0))
        return np.searchsorted(edges[1:], ends).astype(np.int64)


def read(bundle: RecordedRun) -> Recording:
    """Read the tables of a run that the figures need."""
    intervals = bundle.intervals()
    ticks = pl.concat([table.select("phase_index", "t_s") for table in (intervals, bundle.workers())])
    marks = [event for event in bundle.events() if isinstance(event, events.Mark)]
    return Recording(
        plan=bundle.plan,
        intervals=intervals,
        histograms=bundle.histograms(),
        ticks=ticks.unique(),
        starts_s=_phase_starts_s(bundle, intervals),
        marks=tuple((mark.t_ns / 1e9, mark.label, mark.source) for mark in marks),
    )


def _phase_starts_s(bundle: RecordedRun, intervals: pl.DataFrame) -> dict[int, float]:
    # A phase that a kill cut short has no PhaseFinished; one that never got its Started line still has intervals.
    first = intervals.group_by("phase_index").agg((pl.col("t_s") - pl.col("dt_s")).min())
    starts = dict(first.iter_rows())
    for event in bundle.events():
        if isinstance(event, events.Started | events.PhaseFinished):
            starts[event.phase_index] = event.start_ns / 1e9
    return starts


def _rows_of(table: pl.DataFrame, phase_index: int, result: Result) -> pl.DataFrame:
    return table.filter(
        (pl.col("phase_index") == phase_index)
        & (pl.col("job") == result.job)
        & (pl.col("operation") == result.operation)
    )


def _relative(table: pl.DataFrame, phase_index: int, start_s: float) -> FloatArray:
    return _round(table.filter(pl.col("phase_index") == phase_index)["t_s"].to_numpy() - start_s)


def _round(seconds: FloatArray) -> FloatArray:
    return np.rint(seconds * 10.0**_GRID_DIGITS) / 10.0**_GRID_DIGITS
