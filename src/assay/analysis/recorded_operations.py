"""What the Plan says about a recorded operation: what it does, to which file sets, and whether it groups others."""

import dataclasses

from assay import plan
from assay.plan.op_rules import CHANGES, READS, WRITES
from assay.plan.walk import job_groups, job_ops, touched_sets

WHOLE_LOOP = "*"
"""Name of all operations of a job together, where it has several."""
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
    def reads_too(self) -> bool:
        """Whether it reads data, whatever else it does."""
        return any(op.op in READS for op in self.ops)

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
        in_order = (plan.Sequential, plan.SharedStream, plan.Backward, plan.Whole)
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


def work_of(job: plan.Job) -> object:
    """What a job does, but for how much of it at a time."""
    return (job.body, job.arrival, job.open, job.limit, job.kind)


def direct_wanted(job: plan.Job) -> bool:
    """Whether the Plan asks for O_DIRECT, at least where it is supported."""
    return job.open.direct is not plan.Direct.OFF
