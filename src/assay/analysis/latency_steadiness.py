"""Did the latency of an operation stay at one level over a window? METHOD 1.5.

A rate can be constant while its latency is not: an open loop that keeps up, or a closed loop whose slow operations become
slower while its fast ones hide it. So the median and the 99th percentile of the intervals' histograms are series of their
own, of the latency, and in an open loop of the response time too. Intervals are put together until each has 20 operations
(median) or 100 (99th percentile) on average; a series of fewer than 20 says nothing.

Levels are found as for rates (`statistics/levels.py`). Two that differ by less than a factor (1.25 for the median, 1.5 for
the 99th percentile) are one, and what lasts for less than a tenth of the series is a stall, which belongs to the
distribution. Two levels are apart where the values lie on either side of their middle by more than chance: the medians of
half fast and half slow operations jump, and are no levels. The last level counts, as for rates: it is where the latency
settled, where it lasted long enough; else it is a late shift. Levels that a line fits as well are a drift, as for rates.
"""

import dataclasses
import enum
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.histogram import QUANTILES, bucket_middle_ns
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import Span, runs_of, shares_inside
from assay.analysis.series import OPS_EACH
from assay.analysis.statistics.levels import LEVEL_PENALTY, Level, find_levels
from assay.analysis.statistics.steady import staircase
from assay.analysis.statistics.trend import long_run_variance, trend
from assay.bundle.contents import BUCKETS
from assay.plan import Job, Open

_TAIL_OPS = 100
"""Operations of an interval below which its 99th percentile is its largest value: 1 / (1 - 0.99)."""

_LEAST = {"p50": (OPS_EACH, thresholds.MEDIAN_LEVEL), "p99": (_TAIL_OPS, thresholds.TAIL_LEVEL)}
"""Operations that an interval has, and the factor that makes another level."""


_TWO = 2


class Course(enum.Enum):
    """How a latency went."""

    SETTLED = "settled"
    LATE_SHIFT = "late_shift"
    DRIFTING = "drifting"


@dataclasses.dataclass(frozen=True)
class LatencyChange:
    """A latency that was not at one level."""

    operation: str
    series: str
    """`latency` or `response`."""
    quantile: str
    """`p50` or `p99`."""
    course: Course
    begin_ns: int
    """When the last level began; of a drift, when the window did."""
    before_ns: float
    """What it was at the level before that lasted longest; of a drift, at the beginning."""
    last_ns: float
    share: float
    """Part of the window that was at other levels than the last."""


def latency_changes(record: PhaseRecord, job: Job, counted: Span) -> tuple[LatencyChange, ...]:
    """Find what changed in the latencies of a job's operations over a span of whole intervals."""
    return tuple(_changes(record, job, counted))


def _changes(record: PhaseRecord, job: Job, counted: Span) -> Iterator[LatencyChange]:
    ends_ns = record.edges_ns[1:][shares_inside(record.edges_ns, counted) >= thresholds.NEARLY_ALL]
    for operation in record.counted_once(job.name):
        for series in ("latency", "response") if isinstance(job.arrival, Open) else ("latency",):
            buckets = record.buckets(job.name, operation, series)
            inside = buckets.within(counted)
            index, count, t_ns = buckets.column("bucket")[inside], buckets.column("n")[inside], buckets.t_ns[inside]
            if len(ends_ns) < thresholds.STEADY_VALUES or not len(index):
                continue
            begins, lengths = runs_of(t_ns)
            of_runs = np.minimum(np.searchsorted(ends_ns, t_ns[begins]), len(ends_ns) - 1)
            place = np.repeat(of_runs, lengths)
            for quantile, (ops, factor) in _LEAST.items():
                gathered = math.ceil(ops * len(ends_ns) / int(count.sum()))
                places, values = _of_intervals(index, count, place // gathered, QUANTILES[quantile])
                if len(values) < thresholds.STEADY_VALUES or (found := course_of(values, factor)) is None:
                    continue
                course, begin, before, last = found
                first = int(places[begin]) * gathered
                yield LatencyChange(
                    operation=operation,
                    series=series,
                    quantile=quantile,
                    course=course,
                    begin_ns=counted.begin_ns if first == 0 else int(ends_ns[first - 1]),
                    before_ns=before,
                    last_ns=last,
                    share=begin / len(values),
                )


def _of_intervals(index: IntArray, count: IntArray, place: IntArray, quantile: Fraction) -> tuple[IntArray, FloatArray]:
    """Give the intervals that have operations, and a percentile of each, known to its bucket."""
    code = place * BUCKETS + index
    if (np.diff(code) < 0).any():
        order = np.argsort(code, kind="stable")
        index, count, place = index[order], count[order], place[order]
    ranks = np.cumsum(count)
    firsts, _ = runs_of(place)
    places = place[firsts]
    ends = np.append(firsts[1:], len(index)) - 1
    before = np.concatenate([[0], ranks[ends][:-1]])
    wanted = before + np.ceil(float(quantile) * (ranks[ends] - before)).astype(np.int64)
    return places, bucket_middle_ns(index[np.searchsorted(ranks, wanted)])


def course_of(values: FloatArray, factor: float) -> tuple[Course, int, float, float] | None:
    """Describe how a series went that was not at one level.

    Args:
        values: Above zero, shape `(n,)`, in order.
        factor: By which levels differ at least.

    Returns:
        How, the first value of the last level, and two levels: the one before, and the last. None: it was at one.
    """
    z, cut = np.log(values), find_levels(values, same=factor - 1)
    levels = _lasting(cut.levels, len(values), factor)
    begin = 0 if len(levels) < _TWO else staircase(z, cut)
    if begin is not None:
        line = trend(z[begin:])
        is_large = abs(line.over_all) > max(math.log(factor), thresholds.CHANCE_ERRORS * line.error)
        middle, half = float(z[begin:].mean()), line.over_all / 2
        return (Course.DRIFTING, begin, math.exp(middle - half), math.exp(middle + half)) if is_large else None
    last, before = levels[-1], max(levels[:-1], key=lambda level: level.end - level.begin)
    if not _are_apart(values, before, last):
        return None
    lasted = len(values) - last.begin
    is_long = lasted >= max(thresholds.STEADY_LAST_VALUES, thresholds.SETTLED_SHARE * len(values))
    return Course.SETTLED if is_long else Course.LATE_SHIFT, last.begin, before.value, last.value


def _are_apart(values: FloatArray, *levels: Level) -> bool:
    """Whether values lie on their own level's side of the middle of two by more than chance."""
    above = (values > math.sqrt(levels[0].value * levels[1].value)).astype(np.float64)
    parts = [above[level.begin : level.end] for level in levels]
    rest = np.concatenate([part - part.mean() for part in parts])
    variance = long_run_variance(rest, len(rest) - 2) * sum(1 / len(part) for part in parts)
    apart = float(parts[0].mean() - parts[1].mean())
    return apart**2 > LEVEL_PENALTY * math.log(len(values)) * variance


def _lasting(levels: tuple[Level, ...], count: int, factor: float) -> list[Level]:
    """Leave out levels that are stalls, and put those together that are one without them."""
    found: list[Level] = []
    for level in levels:
        if level.end - level.begin < thresholds.NOTABLE_SHARE * count:
            continue
        if found and abs(math.log(level.value / found[-1].value)) < math.log(factor):
            one = found.pop()
            parts = one.end - one.begin, level.end - level.begin
            value = math.exp(np.average([math.log(one.value), math.log(level.value)], weights=parts))
            found.append(Level(one.begin, level.end, value))
        else:
            found.append(level)
    return found
