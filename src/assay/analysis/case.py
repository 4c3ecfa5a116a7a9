"""What a judgement may look at: all that was asked, recorded and worked out of one operation of one job in one phase."""

import dataclasses
import functools

from assay.analysis import budget, cache, device, histogram
from assay.analysis.cache import HitRatio
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import Operation
from assay.analysis.rows import Span
from assay.analysis.subject import Subject
from assay.analysis.window import Window
from assay.plan import Job, Open
from assay.results import Cache, LatencyNs

_NO_LATENCY = LatencyNs(mean=None, p50=None, p90=None, p99=None, p99_9=None, max=None)


@dataclasses.dataclass(frozen=True)
class Case:
    """One result, before it is judged."""

    subject: Subject
    window: Window
    uses: tuple[budget.WorkerUse, ...]
    """What each worker of the job did in the window."""

    @property
    def run(self) -> RunRecord:
        """The run as it was read."""
        return self.subject.run

    @property
    def record(self) -> PhaseRecord:
        """What was recorded of the phase."""
        return self.subject.record

    @property
    def job(self) -> Job:
        """The job, as in the Plan."""
        return self.subject.job

    @property
    def operation(self) -> Operation:
        """The operation, as in the Plan."""
        return self.subject.operation

    @functools.cached_property
    def ops(self) -> int:
        """Operations in the window."""
        return self.subject.rows.total("ops", self.window.counted)

    @functools.cached_property
    def bytes(self) -> int:
        """Bytes that they moved."""
        return self.subject.rows.total("bytes", self.window.counted)

    @functools.cached_property
    def errors(self) -> int:
        """Operations that failed, in the whole phase."""
        return self.subject.rows.total("errors")

    @property
    def seconds(self) -> float:
        """What rates are divided by."""
        return self.window.span.seconds

    @functools.cached_property
    def latency_ns(self) -> LatencyNs:
        """Issue to completion."""
        return _latency(self.subject, "latency", self.window.counted)

    @functools.cached_property
    def response_ns(self) -> LatencyNs | None:
        """Intended arrival to completion; None for a closed loop."""
        is_open = isinstance(self.job.arrival, Open)
        return _latency(self.subject, "response", self.window.counted) if is_open else None

    @functools.cached_property
    def cpu_ns_per_op(self) -> float | None:
        """CPU time of one operation; None where it is not known."""
        return budget.cpu_ns_per_op(self.record, self.job, self.window, self.uses)

    @functools.cached_property
    def hit(self) -> HitRatio:
        """Share of the bytes read that storage did not deliver."""
        return cache.hit_ratio(self.subject) if self.operation.direction == "read" else HitRatio(None, None)

    @functools.cached_property
    def cache(self) -> Cache:
        """The page cache's part."""
        return cache.cache_of(self.subject, self.hit)

    @functools.cached_property
    def device_bytes(self) -> int | None:
        """What the targets' devices moved in the operation's direction in the window; None where it is not known."""
        direction, devices = self.operation.direction, self.subject.devices
        if direction is None or devices is None:
            return None
        return device.moved_bytes(self.record, devices, direction, self.window.counted)

    @functools.cached_property
    def app_bytes(self) -> int | None:
        """What all operations on these devices moved in that direction in the window; None where it cannot be told."""
        return self.subject.app_bytes(self.window.counted)


def _latency(subject: Subject, series: str, span: Span) -> LatencyNs:
    buckets = subject.record.buckets(subject.job.name, subject.operation.name, series)
    inside = buckets.within(span)
    index, count = buckets.column("bucket")[inside], buckets.column("n")[inside]
    samples = int(count.sum())
    if samples == 0:
        return _NO_LATENCY
    max_ns = _largest_ns(subject, f"{series}_max_ns", span, index.max(keepdims=True))
    percentiles = histogram.percentiles_ns(index, count, histogram.QUANTILES.values(), max_ns)
    return LatencyNs(
        mean=float(subject.rows.total(f"{series}_sum_ns", span)) / samples,
        max=max_ns,
        **dict(zip(histogram.QUANTILES, percentiles, strict=True)),
    )


def _largest_ns(subject: Subject, column: str, span: Span, highest: histogram.IntArray) -> float:
    """Return the largest value inside a span, from maxima that run since the phase began.

    If the maximum grew inside the span, that is its largest value. If not, the largest value is in the highest bucket.
    """
    at_end, at_begin = (subject.rows.latest(column, t_ns) for t_ns in (span.end_ns, span.begin_ns))
    last = float("inf") if at_end is None else float(at_end)
    if at_begin is None or at_end != at_begin:
        return last
    return min(last, float(histogram.bucket_middle_ns(highest)[0]))
