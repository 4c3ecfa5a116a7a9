"""Which operations and file sets does a job of a Plan have?

The Plan's actions are a tree; everything that asks what a job does walks it here, in order of appearance.
"""

import itertools
from collections.abc import Iterable, Iterator

from assay.plan.actions import Action, Choice, Do, Every, Group, Repeat, Script
from assay.plan.jobs import Job
from assay.plan.operations import FromSet, Op
from assay.plan.phases import Phase


def all_actions(actions: Iterable[Action]) -> Iterator[Action]:
    """Actions and those inside them."""
    for action in actions:
        yield action
        if isinstance(action, Group | Repeat | Every):
            yield from all_actions(action.actions)
        elif isinstance(action, Choice):
            for branch in action.branches:
                yield from all_actions(branch.actions)


def ops_in(actions: Iterable[Action]) -> Iterator[Op]:
    """Operations of actions and of those inside them."""
    return (action.op for action in all_actions(actions) if isinstance(action, Do))


def job_actions(job: Job) -> Iterator[Action]:
    """Every action of a job's loop; none where it is a script."""
    return iter(()) if isinstance(job.body, Script) else all_actions(job.body.actions)


def job_ops(job: Job) -> Iterator[Op]:
    """Every operation of a job, recorded or not."""
    if isinstance(job.body, Script):
        return itertools.chain(job.body.ops, *(group.ops for group in job.body.groups))
    return ops_in(job.body.actions)


def commands(phases: Iterable[Phase]) -> Iterator[tuple[str, ...]]:
    """Program and arguments of every operation that runs one."""
    return (op.flags.argv for phase in phases for job in phase.jobs for op in job_ops(job) if op.flags.argv)


def job_groups(job: Job) -> Iterator[tuple[str, tuple[Op, ...]]]:
    """Name and operations of every group of a job, recorded or not."""
    if isinstance(job.body, Script):
        return ((group.name, group.ops) for group in job.body.groups)
    groups = (action for action in all_actions(job.body.actions) if isinstance(action, Group))
    return ((group.name, tuple(ops_in(group.actions))) for group in groups)


def phase_sets(phase: Phase) -> tuple[str, ...]:
    """Names of the file sets that the operations of a phase work on."""
    return tuple(dict.fromkeys(name for job in phase.jobs for name in job_sets(job)))


def job_sets(job: Job) -> tuple[str, ...]:
    """Names of the file sets that the operations of a job work on."""
    return tuple(dict.fromkeys(op.file.set for op in job_ops(job) if isinstance(op.file, FromSet)))


def touched_sets(job: Job, ops: Iterable[Op]) -> tuple[str, ...]:
    """Names of the file sets that some operations of a job work on, also through slots that others of it filled."""
    filled: dict[int, list[str]] = {}
    for op in job_ops(job):
        if isinstance(op.file, FromSet) and op.file.slot is not None:
            filled.setdefault(op.file.slot, []).append(op.file.set)
    sets = ([op.file.set] if isinstance(op.file, FromSet) else filled.get(op.file.slot, []) for op in ops)
    return tuple(dict.fromkeys(name for names in sets for name in names))
