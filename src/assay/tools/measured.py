"""What the classic outputs count from: totals of a phase, by operation and by worker.

They are totals over the whole phase, as the classic tools report; the windows and verdicts of the result document are
said beside them, not in them.
"""

import dataclasses

from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S


@dataclasses.dataclass(frozen=True)
class Totals:
    """One operation or group over a whole phase, all workers together."""

    ops: int
    bytes: int
    errors: int
    latency_sum_ns: int
    """Sum of the latencies; of one worker, the time that it spent in the operation."""
    latency_max_ns: int

    @property
    def seconds(self) -> float:
        """The sum of the latencies."""
        return self.latency_sum_ns / NS_PER_S


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


def totals(phase: PhaseRecord, operation: str, job: str | None = None) -> Totals:
    """Sum one operation or group of a phase up; all zero where nothing of it completed."""
    rows = [part for (of, name), part in phase.operation_rows.items() if name == operation and job in {None, of}]
    return Totals(
        ops=sum(part.total("ops") for part in rows),
        bytes=sum(part.total("bytes") for part in rows),
        errors=sum(part.total("errors") for part in rows),
        latency_sum_ns=sum(part.total("latency_sum_ns") for part in rows),
        latency_max_ns=max((int(part.column("latency_max_ns").max()) for part in rows), default=0),
    )


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
