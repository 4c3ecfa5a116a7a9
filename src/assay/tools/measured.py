"""What the classic outputs count from: totals of a phase, by operation and by worker.

They are totals over the whole phase, as the classic tools report, or over a span that a tool leaves out of its own; the
windows and verdicts of the result document are printed next to them, not in them.
"""

import dataclasses
import functools

import numpy as np

from assay.analysis.arrays import IntArray
from assay.analysis.latency import OperationLatency
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Span


@dataclasses.dataclass(frozen=True)
class Totals:
    """The totals of some operations of a phase in a span, all workers together; all zero where nothing of them completed."""

    record: PhaseRecord
    operations: tuple[tuple[str, str], ...]
    """Operations and groups, each by job and name."""
    span: Span | None = None
    """None: the whole phase."""

    def _sum(self, column: str) -> int:
        return sum(self.record.rows(job, name).total(column, self.span) for job, name in self.operations)

    @functools.cached_property
    def ops(self) -> int:
        """Operations that succeeded."""
        return self._sum("ops")

    @functools.cached_property
    def bytes(self) -> int:
        """Bytes that they moved."""
        return self._sum("bytes")

    @functools.cached_property
    def errors(self) -> int:
        """Operations that failed."""
        return self._sum("errors")

    @functools.cached_property
    def latency_sum_ns(self) -> int:
        """Sum of the latencies; of one worker, the time that it spent in the operations."""
        return self._sum("latency_sum_ns")

    @property
    def seconds(self) -> float:
        """The sum of the latencies."""
        return self.latency_sum_ns / NS_PER_S

    @property
    def mean_ns(self) -> float | None:
        """Mean latency; None: there was none."""
        return self.latency_sum_ns / self.ops if self.ops else None

    @property
    def latency_max_ns(self) -> int:
        """Largest latency of the span; what came before it is not in it."""
        if self.span is None:
            columns = (self.record.rows(job, name).column("latency_max_ns") for job, name in self.operations)
            return max((int(column.max()) for column in columns if len(column)), default=0)
        parts = (OperationLatency(self.record, job, name, "latency", self.span) for job, name in self.operations)
        return max((round(part.largest_ns) for part in parts), default=0)

    @functools.cached_property
    def buckets(self) -> tuple[IntArray, IntArray]:
        """Buckets of the latencies, and how many each has; a bucket may be there more than once."""
        found = [self.record.buckets(job, name, "latency") for job, name in self.operations]
        inside = [slice(None) if self.span is None else rows.within(self.span) for rows in found]
        none = np.empty(0, dtype=np.int64)
        bucket, count = (
            np.concatenate([none, *(rows.column(name)[at] for rows, at in zip(found, inside, strict=True))])
            for name in ("bucket", "n")
        )
        return bucket, count


@dataclasses.dataclass(frozen=True)
class WorkerTotals:
    """One worker over a whole phase."""

    job: str
    worker: int
    ops: int
    bytes: int
    first_op_ns: int | None
    """Start of its first operation, since the engine's hello; None: it had none."""
    last_op_ns: int | None
    """End of its last operation."""
    user_cpu_ns: int | None
    system_cpu_ns: int | None

    @property
    def seconds(self) -> float:
        """From the start of its first operation to the end of its last, 0 without any."""
        if self.first_op_ns is None or self.last_op_ns is None:
            return 0.0
        return (self.last_op_ns - self.first_op_ns) / NS_PER_S


def totals(phase: PhaseRecord, operation: str, job: str | None = None, span: Span | None = None) -> Totals:
    """Sum one operation or group of a phase up."""
    named = tuple((of, name) for of, name in phase.operation_rows if name == operation and job in {None, of})
    return Totals(phase, named, span)


def cpu_ns(phase: PhaseRecord, counter: str, job: str | None = None, span: Span | None = None) -> int:
    """Give by how much a CPU time of all workers, such as `user_cpu_ns`, grew in a span."""
    grown = 0
    for name in [job] if job else [each.name for each in phase.phase.jobs]:
        at_end = phase.workers_at(name, span.end_ns if span else None).values()
        before = phase.workers_at(name, span.begin_ns).values() if span else ()
        grown += sum(one[counter] or 0 for one in at_end) - sum(one[counter] or 0 for one in before)
    return grown


def work_span(phase: PhaseRecord) -> Span | None:
    """Give the span from the first operation of the first worker to the end of the last; None: there was none."""
    windows = phase.finished.workers if phase.finished else ()
    begins = [window.first_op_ns for window in windows if window.first_op_ns is not None]
    ends = [window.last_op_ns for window in windows if window.last_op_ns is not None]
    return Span(min(begins), max(ends)) if begins and ends else None


def workers(phase: PhaseRecord) -> tuple[WorkerTotals, ...]:
    """Sum each worker of a phase up, in the order of jobs and numbers; none where the phase was cut."""
    last = {job.name: phase.workers_at(job.name) for job in phase.phase.jobs}
    windows = phase.finished.workers if phase.finished else ()
    return tuple(
        WorkerTotals(
            job=window.job,
            worker=window.worker,
            ops=sample["ops"],
            bytes=sample["bytes"],
            first_op_ns=window.first_op_ns,
            last_op_ns=window.last_op_ns,
            user_cpu_ns=sample["user_cpu_ns"],
            system_cpu_ns=sample["system_cpu_ns"],
        )
        for window in windows
        if (sample := last[window.job].get(window.worker)) is not None
    )
