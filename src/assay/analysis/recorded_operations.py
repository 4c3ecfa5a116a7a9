"""What the Plan says about a recorded operation: what it does, to which file sets, and whether it groups others."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence

from assay import plan
from assay.plan.walk import job_groups, job_ops, touched_sets

WHOLE_LOOP = "*"
"""Name of all operations of a job together, where it has several."""
READS = frozenset({plan.OpKind.READ})
WRITES = frozenset({plan.OpKind.WRITE})
FLUSHES = frozenset({plan.OpKind.FSYNC, plan.OpKind.FDATASYNC})
CHANGES = frozenset(
    {
        *WRITES,
        plan.OpKind.CREATE,
        plan.OpKind.UNLINK,
        plan.OpKind.RENAME,
        plan.OpKind.LINK,
        plan.OpKind.SYMLINK,
        plan.OpKind.TRUNCATE,
        plan.OpKind.FALLOCATE,
        plan.OpKind.MKDIR,
        plan.OpKind.RMDIR,
        plan.OpKind.CLONE,
        plan.OpKind.COPY,
        plan.OpKind.CHMOD,
        plan.OpKind.SETXATTR,
    }
)
"""What a file system has to write down."""
LOOKS = frozenset(
    {
        plan.OpKind.OPEN,
        plan.OpKind.STAT,
        plan.OpKind.FSTAT,
        plan.OpKind.READDIR,
        plan.OpKind.READDIR_STAT,
        plan.OpKind.GETXATTR,
    }
)
"""What a file system answers from what it has written down."""


@dataclasses.dataclass(frozen=True)
class Operation:
    """One key of the recorded tables."""

    name: str
    ops: tuple[plan.Op, ...]
    sets: tuple[str, ...]
    is_group: bool

    @property
    def direction(self) -> str | None:
        """`read` or `write` for operations that move data one way, None for all others."""
        kinds = {op.op for op in self.ops}
        if kinds & READS and not kinds & WRITES:
            return "read"
        if kinds & WRITES and not kinds & READS:
            return "write"
        return None

    @property
    def changes(self) -> bool:
        """Whether it changes files or directories."""
        return any(op.op in CHANGES for op in self.ops)

    @property
    def looks(self) -> bool:
        """Whether it looks names, attributes or lists up, and neither reads data nor changes anything."""
        kinds = {op.op for op in self.ops}
        return bool(kinds & LOOKS) and not kinds & (READS | CHANGES)

    @property
    def members(self) -> tuple[plan.Op, ...]:
        """Operations of a group that are recorded under names of their own, if at all."""
        return tuple(op for op in self.ops if op.name != self.name)

    @property
    def is_sequential(self) -> bool:
        """Whether all its reads go through their region in order, so that one pass meets no byte twice."""
        in_order = (plan.Sequential, plan.Backward, plan.Whole)
        return all(isinstance(op.access, in_order) for op in self.ops if op.op in READS)


def operations_of(job: plan.Job) -> dict[str, Operation]:
    """Return the operations and groups that the Plan names in a job, recorded or not, by name."""
    members: dict[tuple[str, bool], list[plan.Op]] = {}
    for op in job_ops(job):
        members.setdefault((op.name, False), []).append(op)
    for name, ops in job_groups(job):
        members.setdefault((name, True), []).extend(ops)
    # A group that carries the name of one of its members is the one that is meant: groups come last.
    return {
        name: Operation(name=name, ops=tuple(ops), sets=touched_sets(job, ops), is_group=is_group)
        for (name, is_group), ops in members.items()
    }


def is_flushed(job: plan.Job, operation: Operation, single_files: Collection[str]) -> bool:
    """Whether each change that an operation makes is on storage before its rate goes on.

    O_SYNC, O_DSYNC, RWF_DSYNC on each write; or a flush of the same file that always follows: in the operation itself, where
    it is a group, or later in the same pass of the loop. `single_files` are the sets of one file.
    """
    changes = [op for op in operation.ops if op.op in CHANGES]
    if all(op.op in WRITES and (job.open.sync or job.open.dsync or op.flags.dsync) for op in changes):
        return bool(changes)
    if isinstance(job.body, plan.Script):
        kinds = [op.op for op in operation.ops]
        last = max((place for place, kind in enumerate(kinds) if kind in CHANGES), default=len(kinds))
        return any(kind in FLUSHES for kind in kinds[last + 1 :])
    return bool(changes) and all(_is_followed(job.body.actions, op, single_files) for op in changes)


def _is_followed(actions: Sequence[plan.Action], op: plan.Op, single_files: Collection[str]) -> bool | None:
    """Whether a flush of its file always comes after an operation; None: it is not in these actions."""
    for place, action in enumerate(actions):
        match action:
            case plan.Do():
                found = False if action.op is op else None
            case plan.Group() | plan.Repeat():
                found = _is_followed(action.actions, op, single_files)
            case plan.Choice():
                inside = [_is_followed(branch.actions, op, single_files) for branch in action.branches]
                found = next((is_so for is_so in inside if is_so is not None), None)
            case _:
                found = None
        if found is not None:
            later = _always_done(actions[place + 1 :])
            return found or any(then.op in FLUSHES and _same_file(then, op, single_files) for then in later)
    return None


def _always_done(actions: Sequence[plan.Action]) -> Iterator[plan.Op]:
    """Operations of actions, but for those that one pass may leave out."""
    for action in actions:
        if isinstance(action, plan.Do):
            yield action.op
        elif isinstance(action, plan.Group | plan.Repeat):
            yield from _always_done(action.actions)


def _same_file(flush: plan.Op, change: plan.Op, single_files: Collection[str]) -> bool:
    """Whether a flush is of the file that a change was made to, as far as the Plan tells."""
    if isinstance(flush.file, plan.Slot):
        return change.file.slot == flush.file.slot
    same_set = isinstance(change.file, plan.FromSet) and change.file.set == flush.file.set
    return same_set and (flush.file.set in single_files or isinstance(flush.file.pick, plan.Own))


def direct_wanted(job: plan.Job) -> bool:
    """Whether the Plan asks for O_DIRECT, at least where it is supported."""
    return job.open.direct is not plan.Direct.OFF
