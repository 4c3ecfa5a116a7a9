"""Was the rate of a job steady, from where to where, and how well is it known?

`statistics/steady.py` judges the series of the job. Where a phase ended by its time and its rate is steady only from some
point on, the numbers of the job are those from there on: what came before was a start. A phase of a fixed amount of work
is a whole: its number is that of all of it.

The rate of the window has a 95 % interval from the intervals in it (METHOD 2.3). Its halves are held against each other:
two means that are known to within h1 and h2 of the mean differ by chance by up to sqrt(h1^2 + h2^2) of it in 95 of 100
cases, and by up to 1.31 times that in 99.
"""

import dataclasses
import math

import numpy as np

from assay import events
from assay.analysis import thresholds
from assay.analysis.latency_steadiness import Course, LatencyChange, latency_changes
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import Span
from assay.analysis.series import RateSeries, series_of
from assay.analysis.statistics.mean import MeanInterval, mean_interval
from assay.analysis.statistics.steady import BATCHES, Steadiness, judge
from assay.analysis.window import Window
from assay.plan import Job
from assay.verdicts import SteadyVerdict

_HALVES_ERRORS = 1.31
"""Times a 95 % interval is a 99 % interval (2.576 / 1.960)."""

_BY_TIME = frozenset({events.StoppedBy.TIME, events.StoppedBy.STEADY})


@dataclasses.dataclass(frozen=True)
class JobSteadiness:
    """The rate of a job in a phase."""

    series: RateSeries
    found: Steadiness
    window: Window
    """Where its numbers are from."""
    rate: MeanInterval | None
    """Operations per second, over the intervals of the window; None: there are too few."""
    halves: tuple[MeanInterval, MeanInterval] | None
    latency: tuple[LatencyChange, ...] = ()
    """What changed in the latencies where the rate is steady."""

    @property
    def drift(self) -> float:
        """By which share the last fifth of the series is above or below the first, or its last level ends where it began."""
        rates = self.series.rates
        fifth = max(1, len(rates) // BATCHES)
        first, last = float(rates[:fifth].mean()), float(rates[-fifth:].mean())
        return max(last / first - 1 if first > 0 else 0.0, self.found.trend or 0.0, key=abs)

    @property
    def halves_change(self) -> float | None:
        """By which share the second half differs from the first; None where that is no more than the two leave open."""
        if self.halves is None or not self.rate or not self.rate.mean:
            return None
        first, second = self.halves
        change = (second.mean - first.mean) / self.rate.mean
        by_chance = _HALVES_ERRORS * math.hypot(first.half_width, second.half_width) / self.rate.mean
        return change if abs(change) > max(by_chance, thresholds.SAME_LEVEL) else None


def job_steadiness(record: PhaseRecord, job: Job, window: Window, *, is_narrowed: bool = True) -> JobSteadiness:
    """Judge a job of a phase, and narrow the phase's window to where rate and latency were steady.

    Args:
        record: The phase.
        job: Of it.
        window: Of the phase.
        is_narrowed: False: the numbers are those of the whole window, whatever the rate did.
    """
    series = series_of(record, job.name, window.common)
    found = judge(series.rates, unit=series.unit)
    begin, end = (found.last.begin, found.last.end) if found.last else (0, len(series))
    is_narrowed = is_narrowed and _lasted_by_time(record)
    if found.verdict is not SteadyVerdict.STEADY or not is_narrowed:
        begin, end = 0, len(series)
    elif begin > 0:
        begin = _where_all_was_sampled(record, series, begin)
        window = _begun_at(window, int(series.edges_ns[begin]))
    latency: tuple[LatencyChange, ...] = ()
    if found.verdict is SteadyVerdict.STEADY:
        steady_ns = int(series.edges_ns[found.last.begin]) if found.last else 0
        latency = latency_changes(record, job, Span(max(window.counted.begin_ns, steady_ns), window.counted.end_ns))
        settled = _settled(series, latency) if is_narrowed else 0
        if settled > begin:
            begin = _where_all_was_sampled(record, series, settled)
            window = _begun_at(window, int(series.edges_ns[begin]))
    inside = series.rates[begin:end]
    middle = len(inside) // 2
    first, second = mean_interval(inside[:middle]), mean_interval(inside[middle:])
    return JobSteadiness(
        series=series,
        found=found,
        window=window,
        rate=mean_interval(inside),
        halves=(first, second) if first and second else None,
        latency=latency,
    )


def _begun_at(window: Window, start_ns: int) -> Window:
    return dataclasses.replace(
        window, span=Span(start_ns, window.span.end_ns), counted=Span(start_ns, window.counted.end_ns)
    )


def _settled(series: RateSeries, changes: tuple[LatencyChange, ...]) -> int:
    """Give the interval from where on all latencies stay at their last levels; 0 where one does not."""
    if not changes or any(change.course is not Course.SETTLED for change in changes):
        return 0
    place = int(np.searchsorted(series.edges_ns, max(change.begin_ns for change in changes)))
    return place if len(series) - place >= thresholds.STEADY_LAST_VALUES else 0


def _where_all_was_sampled(record: PhaseRecord, series: RateSeries, begin: int) -> int:
    """Move the begin of a window on to the next edge at which the host was looked at too, or all clients of a sum counted.

    A client that was paused counts with its next tick what it did before. Shorter intervals than 100 ms are finer than the
    host's counters: bytes of devices and of operations must begin together.
    """
    ticks_ns = record.common_ns if record.is_sum_of_clients else frozenset(record.counters.times("cpu").tolist())
    places = (place for place in range(begin, len(series)) if int(series.edges_ns[place]) in ticks_ns)
    return next(places, begin)


def _lasted_by_time(record: PhaseRecord) -> bool:
    return record.finished is not None and record.finished.stopped_by in _BY_TIME
