"""Has every name in a Plan an object: file sets, targets, semaphores, slots, operations?

The engine refuses most of these too, in `engine/src/program` and `engine/src/steps`; it sees them only when it starts.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from assay.errors import PlanError
from assay.plan.actions import FinishOn, Post, Token, Wait
from assay.plan.file_sets import FileSet, Target
from assay.plan.jobs import Job, OpenShare
from assay.plan.operations import FromSet, Slot
from assay.plan.phases import Phase
from assay.plan.walk import job_actions, job_groups, job_ops, job_sets

Place = tuple[str | int, ...]
"""Keys and indices."""


class UnknownNameError(PlanError):
    """A name in a job's own keys that nothing has."""

    def __init__(self, where: str, what: str, name: str | int, known: Collection[str | int], place: Place) -> None:
        """Return where a thing of a name is missing, and which there are; `place` leads there from the job or the Plan."""
        self.what, self.name, self.place = what, str(name), place
        self.known = sorted(map(str, known))
        super().__init__(f"{where}: there is no {what} '{name}'; known here: {', '.join(self.known) or 'none'}")


def check_plan(targets: Iterable[Target], file_sets: Collection[FileSet], phases: Iterable[Phase]) -> None:
    """Look every name up; raises PlanError with the first that nothing has."""
    known_targets = {target.name for target in targets}
    known_sets = {file_set.name for file_set in file_sets}
    for file_set in file_sets:
        _require(f"file set '{file_set.name}'", "target", [file_set.target], known_targets)
    for phase in phases:
        where = f"phase '{phase.name}'"
        for step in (*phase.before, *phase.after):
            place = f"{where}: step '{step.__struct_config__.tag}'"
            _require(place, "file set", _named(step, "set"), known_sets)
            _require(place, "target", _named(step, "target"), known_targets)
        for job in phase.jobs:
            _require(f"{where}: job '{job.name}'", "file set", job_sets(job), known_sets)
            check_job(job)
        check_semaphores(phase)
    check_shares(phases)


def check_job(job: Job) -> None:
    """Look up what a job's parts call each other; raises PlanError with the first name that nothing has."""
    where = f"job '{job.name}'"
    files = [op.file for op in job_ops(job)]
    filled = {file.slot for file in files if isinstance(file, FromSet) and file.slot is not None}
    _require(where, "operation that fills slot", [file.slot for file in files if isinstance(file, Slot)], filled)
    operations = {op.name for op in job_ops(job)}
    named = [action.op for action in job_actions(job) if isinstance(action, FinishOn) and action.op]
    named += [action.operation for action in job_actions(job) if isinstance(action, Token) and action.operation]
    _require(where, "operation", named, operations, ("loop",))
    for index, name in enumerate(job.timed):
        groups = {name for name, _ in job_groups(job)}
        _require(where, "operation or group", [name], operations | groups, ("timed", index))


def check_semaphores(phase: Phase) -> None:
    """Raise PlanError where a worker waits for a semaphore that nobody in the phase gives to."""
    actions = [(job, action) for job in phase.jobs for action in job_actions(job)]
    posted = {action.semaphore for _, action in actions if isinstance(action, Post)}
    for job, action in actions:
        if isinstance(action, Wait):
            where = f"phase '{phase.name}': job '{job.name}'"
            _require(where, "post to semaphore", [action.semaphore], posted)


def check_shares(phases: Iterable[Phase]) -> None:
    """Raise PlanError where a rate is a share of that of a phase which does not come before, or has no such job."""
    before: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    """Names of the phases so far, by repeat and by job."""
    for position, phase in enumerate(phases):
        for job in phase.jobs:
            if isinstance(job.arrival, OpenShare):
                where = f"phase '{phase.name}': job '{job.name}'"
                known = before[phase.repeat, job.name]
                _require(where, "earlier phase", [job.arrival.phase], known, ("phase", position))
        for job in phase.jobs:
            before[phase.repeat, job.name].add(phase.name)


def _named(step: object, field: str) -> list[str]:
    return [getattr(step, field)] if hasattr(step, field) else []


def _require(
    where: str, what: str, names: Iterable[str | int], known: Collection[str | int], place: Place = ()
) -> None:
    for name in names:
        if name not in known:
            raise UnknownNameError(where, what, name, known, place)
