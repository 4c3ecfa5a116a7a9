"""Which operations change what is on storage, and when is a change there?"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from assay.plan.actions import Action, Choice, Do, Every, Group, Repeat, Script
from assay.plan.jobs import Job
from assay.plan.op_rules import CHANGES, FLUSHES, WRITES
from assay.plan.operations import FromSet, Op, OpKind, Own, Slot
from assay.plan.phases import Phase
from assay.plan.walk import job_ops


def changes_per_flush(job: Job, ops: Sequence[Op], single_files: Collection[str]) -> int | None:
    """Return how many changes of an operation go to storage with one flush of their file, which always follows.

    Args:
        job: Job that it is one of.
        ops: What it does: itself, or the members of a group.
        single_files: Names of the sets of one file.

    Returns:
        0: it ends when storage has it (O_SYNC, O_DSYNC, RWF_DSYNC, a flush that is a part of it). Else how many there are to
        a flush later in the same pass of the loop. None: a pass may go on without one.
    """
    changes = [op for op in ops if op.op in CHANGES]
    if not changes:
        return None
    if all(op.op in WRITES and is_synchronous(job, op) for op in changes):
        return 0
    if isinstance(job.body, Script):
        kinds = [op.op for op in ops]
        last = max(place for place, kind in enumerate(kinds) if kind in CHANGES)
        return 0 if any(kind in FLUSHES for kind in kinds[last + 1 :]) else None
    counts = [_to_flush(job.body.actions, op, ops, single_files) for op in changes]
    known = [count.each for count in counts if count and count.each is not None]
    return max(known) if len(known) == len(changes) else None


def is_synchronous(job: Job, op: Op) -> bool:
    """Whether each write of an operation ends when storage has it (O_SYNC, O_DSYNC, RWF_DSYNC)."""
    return job.open.sync or job.open.dsync or op.flags.dsync


def can_flush(job: Job, *, is_direct: bool) -> bool:
    """Whether a job can make a device flush its cache: not one that only reads, or writes data past the page cache."""
    ops = tuple(job_ops(job))
    kinds = {op.op for op in ops}
    changes = kinds & CHANGES
    if kinds & (FLUSHES | {OpKind.SPAWN}):
        return True
    is_durable = any(is_synchronous(job, op) for op in ops)
    return bool(changes) and (is_durable or not is_direct or not changes <= WRITES)


class _Count(NamedTuple):
    """How often an operation is in some actions, and how many of it go with one flush that follows; None: none does."""

    times: int
    each: int | None = None


def _to_flush(actions: Sequence[Action], op: Op, ops: Sequence[Op], single_files: Collection[str]) -> _Count | None:
    """Count an operation up to the flush of its file; None: it is not in these actions."""
    for place, action in enumerate(actions):
        count = _in_action(action, op, ops, single_files)
        if count is None or count.each is not None:
            if count:
                return count
            continue
        for then in _always_done(actions[place + 1 :]):
            if then.op in FLUSHES and _same_file(then, op, single_files):
                return _Count(count.times, 0 if any(then is member for member in ops) else count.times)
        return count
    return None


def _in_action(action: Action, op: Op, ops: Sequence[Op], single_files: Collection[str]) -> _Count | None:
    match action:
        case Do():
            return _Count(1) if action.op is op else None
        case Group() | Every():
            return _to_flush(action.actions, op, ops, single_files)
        case Repeat():
            count = _to_flush(action.actions, op, ops, single_files)
            return count and count._replace(times=count.times * action.times)
        case Choice():
            inside = (_to_flush(branch.actions, op, ops, single_files) for branch in action.branches)
            return next((count for count in inside if count), None)
        case _:
            return None


def _always_done(actions: Sequence[Action]) -> Iterator[Op]:
    """Operations of actions, but for those that one pass may leave out."""
    for action in actions:
        if isinstance(action, Do):
            yield action.op
        elif isinstance(action, Group | Repeat) or (isinstance(action, Every) and action.times == 1):
            yield from _always_done(action.actions)


def _same_file(flush: Op, change: Op, single_files: Collection[str]) -> bool:
    """Whether a flush is of the file that a change was made to, as far as the Plan tells."""
    if isinstance(flush.file, Slot):
        return change.file.slot == flush.file.slot
    same_set = isinstance(change.file, FromSet) and change.file.set == flush.file.set
    return same_set and (flush.file.set in single_files or isinstance(flush.file.pick, Own))


def leaves_unflushed(phase: Phase, single_files: Collection[str]) -> bool:
    """Whether memory, or a cache of the device, may have some of what a phase changes when it ends."""
    for job in phase.jobs:
        for op in job_ops(job):
            if op.op in CHANGES and changes_per_flush(job, (op,), single_files) is None:
                return True
    return False
