"""Extract the series of one phase that figures are drawn from.

Pure reading of a run's tables into arrays on the phase's own interval grid. Times are seconds since the start of the
phase. An interval in which an operation did not complete once has no row in the tables; it is a stall and is put back
as zero here, never bridged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.arrays import BoolArray, FloatArray, IntArray
from assay.analysis.histogram import bucket_middle_ns, bucket_width_ns
from assay.analysis.record import PhaseRecord, RunRecord
from assay.errors import BundleError
from assay.report.titles import slug_of, titles_of
from assay.results import Result, RunMark

_GRID_DIGITS = 6
"""Ends of intervals are compared to the microsecond: the tables keep seconds as floats."""
_ROUNDED_S = 10.0**-_GRID_DIGITS


@dataclass(frozen=True, slots=True)
class NumberedMark:
    """A mark inside a phase; `number` counts over the whole run and is what figures print."""

    number: int
    t_s: float
    label: str
    source: str


def in_window(start_s: FloatArray, end_s: FloatArray, window_s: tuple[float, float]) -> BoolArray:
    """Find the intervals that a window counts: all that reach into it.

    A window begins and ends with an interval; or it is the whole phase, and begins and ends with its work, at any time.
    """
    begin_s, until_s = window_s
    inside: BoolArray = (end_s > begin_s + _ROUNDED_S) & (start_s < until_s - _ROUNDED_S)
    return inside


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
    """Sparse histogram over the intervals, in their order: `count[i]` values near `value_ns[i]` in `interval[i]`."""

    edges_s: FloatArray
    """Start of the first interval and end of each, shape `(intervals + 1,)`."""
    interval: IntArray
    value_ns: FloatArray
    width_ns: FloatArray
    count: IntArray

    def in_window(self, window_s: tuple[float, float]) -> BoolArray:
        """Find its values of the intervals that a window counts."""
        return in_window(self.edges_s[:-1], self.edges_s[1:], window_s)[self.interval]

    def between(self, first: int, stop: int) -> slice:
        """Give the places of the intervals from `first` up to, without, `stop`."""
        start, end = np.searchsorted(self.interval, (first, stop))
        return slice(int(start), int(end))


class Recording:
    """The series of a run, each on the grid of its phase."""

    def __init__(self, run: RunRecord, marks: Sequence[RunMark] = ()) -> None:
        """Look phases up by what results call them; `marks` are those of the run's document."""
        self._places = {(phase.name, phase.repeat) for phase in run.plan.phases}
        self._phases = {(record.phase.name, record.phase.repeat): record for record in run.phases}
        self._earliest_s = 0.1 * run.plan.sample_interval_s
        self._edges_s: dict[int, FloatArray] = {}
        self._latencies: dict[tuple[int, str, str, str], Latencies | None] = {}
        self.marks = tuple(marks)
        """In the order of time, with the numbers that figures have."""

    def phase_of(self, result: Result) -> PhaseRecord | None:
        """Find the phase of a result; None when nothing was recorded of it.

        Raises:
            BundleError: the Plan has no phase of that name and repeat.
        """
        place = (result.phase, result.repeat)
        if place not in self._places:
            raise BundleError(
                f"report: the results name phase '{result.phase}' (repeat {result.repeat}), which the run's Plan does"
                " not have. The bundle and the results are not of one run; analyse the bundle again."
            )
        return self._phases.get(place)

    def edges_s(self, phase: PhaseRecord) -> FloatArray:
        """Give the interval grid of a phase: 0, then the end of each interval.

        The sample that the engine takes at the start of a phase ends no interval; it lies within a tenth of an interval
        of the start and is left out unless operations were counted at it.
        """
        if phase.index not in self._edges_s:
            counted = set(_since_start_s(phase, phase.intervals.t_ns).tolist())
            ends = sorted(counted.union(_since_start_s(phase, phase.workers.t_ns).tolist()))
            kept = [end for end in ends if end > 0 and (end > self._earliest_s or end in counted)]
            self._edges_s[phase.index] = np.array([0.0, *kept], dtype=np.float64)
        return self._edges_s[phase.index]

    def timeline(self, result: Result) -> Timeline | None:
        """Give operations, bytes and errors of a result's operation in every interval; None where it did nothing."""
        phase = self.phase_of(result)
        rows = phase.rows(result.job, result.operation) if phase else None
        if phase is None or rows is None or not rows.total("ops"):
            return None
        edges = self.edges_s(phase)
        at = self._interval_numbers(rows.t_ns, phase)
        columns = {}
        for name in ("ops", "bytes", "errors"):
            column = np.zeros(len(edges) - 1, dtype=np.int64)
            np.add.at(column, at, rows.column(name))
            columns[name] = column
        return Timeline(start_s=edges[:-1], end_s=edges[1:], **columns)

    def latencies(self, result: Result, series: str) -> Latencies | None:
        """Give the histogram of a result's operation; `series` is `latency` or `response`. None where it is empty."""
        phase = self.phase_of(result)
        if phase is None:
            return None
        place = (phase.index, result.job, result.operation, series)
        if place not in self._latencies:
            self._latencies[place] = self._latencies_of(phase, *place[1:])
        return self._latencies[place]

    def _latencies_of(self, phase: PhaseRecord, job: str, operation: str, series: str) -> Latencies | None:
        rows = phase.buckets(job, operation, series)
        if not rows:
            return None
        interval = self._interval_numbers(rows.t_ns, phase)
        order = np.argsort(interval, kind="stable")
        bucket = rows.column("bucket")[order]
        return Latencies(
            edges_s=self.edges_s(phase),
            interval=interval[order],
            value_ns=bucket_middle_ns(bucket),
            width_ns=bucket_width_ns(bucket).astype(np.float64),
            count=rows.column("n")[order],
        )

    def marks_in(self, result: Result) -> tuple[NumberedMark, ...]:
        """Give the marks that fall into the phase of a result."""
        return tuple(
            NumberedMark(mark.number, mark.phase_s, mark.label, mark.source)
            for mark in self.marks
            if (mark.phase, mark.repeat) == (result.phase, result.repeat) and mark.phase_s is not None
        )

    def _interval_numbers(self, ends_ns: IntArray, phase: PhaseRecord) -> IntArray:
        return np.searchsorted(self.edges_s(phase)[1:], _since_start_s(phase, ends_ns)).astype(np.int64)


def _since_start_s(phase: PhaseRecord, ends_ns: IntArray) -> FloatArray:
    """Give ends of intervals since the start of the phase, to the microsecond."""
    since_us: FloatArray = np.rint((ends_ns - phase.start_ns) / 10 ** (9 - _GRID_DIGITS))
    return since_us / 10.0**_GRID_DIGITS


@dataclass(frozen=True)
class OneResult:
    """What the figures of one result are drawn from."""

    recording: Recording
    results: Sequence[Result]
    """All of the run: they name each other."""
    number: int
    """Place among them, from 0."""

    @property
    def result(self) -> Result:
        """The one."""
        return self.results[self.number]

    @property
    def name(self) -> str:
        """Unique name among the others."""
        return titles_of(self.results)[self.number]

    @property
    def slug(self) -> str:
        """For file names and anchors."""
        return f"{self.number + 1:02d}-{slug_of(self.name)}"

    @property
    def marks(self) -> tuple[NumberedMark, ...]:
        """The marks in its phase."""
        return self.recording.marks_in(self.result)
