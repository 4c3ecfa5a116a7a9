"""Which other results of a run are of the same work with more or less of it at a time?"""

from collections.abc import Sequence

from assay.analysis.limiter.evidence import work_of
from assay.analysis.record import RunRecord
from assay.plan import Job
from assay.results import Result


def curve_of(run: RunRecord, measured: Sequence[Result], row: int) -> tuple[int, ...]:
    """Give the places of the results on the same curve, a result itself among them, by what they keep in flight.

    Args:
        run: As it was read.
        measured: All of its results.
        row: Place of the result that is asked about.
    """
    job = _job(run, measured[row])
    if job is None:
        return (row,)
    mine = work_of(job)
    same = [place for place, other in enumerate(measured) if _is_same(run, other, measured[row], mine)]
    return tuple(sorted(same, key=lambda place: (in_flight(measured[place]), place)))


def in_flight(result: Result) -> int:
    """Say how many operations a result's workers kept in flight at most."""
    return result.workers * result.queue_depth


def _is_same(run: RunRecord, other: Result, mine: Result, work: object) -> bool:
    if (other.operation, other.targets) != (mine.operation, mine.targets):
        return False
    job = _job(run, other)
    return job is not None and work_of(job) == work


def _job(run: RunRecord, result: Result) -> Job | None:
    """Find the job of a result in the Plan."""
    for record in run.phases:
        if (record.phase.name, record.phase.repeat) == (result.phase, result.repeat):
            return next((job for job in record.phase.jobs if job.name == result.job), None)
    return None
