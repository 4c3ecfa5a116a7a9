"""Which other results of a run are of the same work with more or less of it at a time?"""

from collections.abc import Mapping, Sequence

from assay.analysis.record import RunRecord
from assay.analysis.recorded_operations import work_of
from assay.plan import Job
from assay.results import Result


def curve_of(run: RunRecord, measured: Sequence[Result], row: int) -> tuple[int, ...]:
    """Give the places of the results on the same curve, a result itself among them, by what they keep in flight.

    Args:
        run: As it was read.
        measured: All of its results.
        row: Place of the result that is asked about.
    """
    jobs = {
        (record.phase.name, record.phase.repeat, job.name): job for record in run.phases for job in record.phase.jobs
    }
    mine = _work(jobs, measured[row])
    if mine is None:
        return (row,)
    same = [place for place, other in enumerate(measured) if _work(jobs, other) == mine]
    return tuple(sorted(same, key=lambda place: (in_flight(measured[place]), place)))


def in_flight(result: Result) -> int:
    """Return how many operations a result's workers kept in flight at most."""
    return (result.workers or 0) * (result.queue_depth or 0)


def _work(jobs: Mapping[tuple[str, int, str], Job], result: Result) -> object:
    """Describe what a result is of, but for how much of it at a time; None where the Plan has no such job."""
    job = jobs.get((result.phase, result.repeat, result.job))
    return None if job is None else (result.operation, result.targets, work_of(job))
