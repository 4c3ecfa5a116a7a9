"""Does the record agree with itself?

Every operation counted is in a histogram, every byte that an operation moved was moved by a worker, every operation
that started was completed, failed or was given up. A record that breaks one of these has lost something, and no number
from it may be used.
"""

import polars as pl

from assay.analysis import findings
from assay.analysis.operations import operations_of
from assay.analysis.record import PhaseRecord
from assay.plan import Job
from assay.results import Finding

_CURE = "The record is damaged or the engine has a fault: keep the run and report it."


def conservation(record: PhaseRecord, job: Job, operation: str) -> tuple[Finding, ...]:
    """Check what one operation of one job adds up to."""
    return (*_histogram(record, job.name, operation), *_worker_bytes(record, job), *_started(record, job.name))


def _broken(text: str) -> tuple[Finding, ...]:
    return (findings.invalid("conservation", text, _CURE),)


def _histogram(record: PhaseRecord, job: str, operation: str) -> tuple[Finding, ...]:
    ops = int(record.intervals.filter(job=job, operation=operation)["ops"].sum())
    counted = int(record.histograms.filter(job=job, operation=operation, series="latency")["n"].sum())
    if counted == ops:
        return ()
    return _broken(f"{ops} operations '{operation}' were counted, but their histogram holds {counted}.")


def _worker_bytes(record: PhaseRecord, job: Job) -> tuple[Finding, ...]:
    """Check bytes by operation against bytes by worker, where every single operation of the job is recorded."""
    names = [operation.name for operation in operations_of(job).values() if not operation.is_group]
    is_complete = not job.timed or set(names) <= set(job.timed)
    samples = record.workers.filter(job=job.name)
    if record.finished is None or not is_complete or samples.is_empty():
        return ()
    by_worker = int(samples.sort("t_ns").group_by("worker").last()["bytes"].sum())
    rows = record.intervals.filter(pl.col("job") == job.name, pl.col("operation").is_in(names))
    by_operation = int(rows["bytes"].sum())
    if by_worker == by_operation:
        return ()
    return _broken(f"Job '{job.name}': its operations moved {by_operation} bytes, its workers {by_worker}.")


def _started(record: PhaseRecord, job: str) -> tuple[Finding, ...]:
    workers = [worker for worker in record.finished.workers if worker.job == job] if record.finished else []
    for worker in workers:
        ended = worker.completed + worker.failed + worker.abandoned
        if worker.started != ended:
            return _broken(
                f"Worker {worker.worker} of job '{job}' started {worker.started} operations and ended {ended}."
            )
    return ()
