"""Check that the record agrees with itself.

Every operation counted is in a histogram, every byte that an operation moved was moved by a worker, every operation
that started was completed, failed or was given up. A record that breaks one of these has lost something, and no number
from it may be used.
"""

from collections.abc import Iterable

from assay.analysis import findings
from assay.analysis.case import Case
from assay.plan.walk import job_groups
from assay.results import Finding

_WHY = "The record is damaged, or the engine has a fault."
_CURE = "Keep the run and report it."


def judge(case: Case) -> Iterable[Finding]:
    """Check what one operation of one job adds up to."""
    return (*_histogram(case), *_worker_bytes(case), *_started(case))


def _broken(text: str) -> tuple[Finding, ...]:
    return (findings.invalid("counts-disagree", f"{text} {_WHY}", _CURE),)


def _histogram(case: Case) -> tuple[Finding, ...]:
    ops = case.subject.rows.total("ops")
    counted = case.record.buckets(case.job.name, case.operation.name, "latency").total("n")
    if counted == ops:
        return ()
    return _broken(f"{ops} operations '{case.operation.name}' were counted, but their histogram holds {counted}.")


def _worker_bytes(case: Case) -> tuple[Finding, ...]:
    """Check bytes by operation against bytes by worker, where every single operation of the job is recorded.

    A worker counts a group as one operation when it is done: what it did of one that a stop broke off is in the members'
    rows and not in the worker's, which may have less then, and never more.
    """
    job, record = case.job, case.record
    names = [operation.name for operation in record.operations[job.name].values() if not operation.is_group]
    is_complete = not job.timed or set(names) <= set(job.timed)
    by_worker = record.workers_at(job.name)
    if record.finished is None or not is_complete or not by_worker:
        return ()
    of_workers = sum(row["bytes"] for row in by_worker.values())
    of_operations = sum(record.rows(job.name, name).total("bytes") for name in names)
    if of_workers == of_operations or (of_workers < of_operations and any(job_groups(job))):
        return ()
    return _broken(f"Job '{job.name}': its operations moved {of_operations} bytes, its workers {of_workers}.")


def _started(case: Case) -> tuple[Finding, ...]:
    finished = case.record.finished
    for worker in finished.workers if finished else ():
        ended = worker.completed + worker.failed + worker.abandoned
        if worker.job == case.job.name and worker.started != ended:
            return _broken(
                f"Worker {worker.worker} of job '{worker.job}' started {worker.started} operations and ended {ended}."
            )
    return ()
