"""What the Plan says about a recorded operation: what it does, to which file sets, and whether it groups others."""

import dataclasses

from assay import plan
from assay.plan.walk import job_groups, job_ops, touched_sets

READS = frozenset({plan.OpKind.READ})
WRITES = frozenset({plan.OpKind.WRITE})
FLUSHES = frozenset({plan.OpKind.FSYNC, plan.OpKind.FDATASYNC})


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


def is_flushed(job: plan.Job) -> bool:
    """Whether the job forces its writes out: O_SYNC, O_DSYNC, RWF_DSYNC on each write, or a flush in its loop."""
    if job.open.sync or job.open.dsync:
        return True
    ops = tuple(job_ops(job))
    writes = [op for op in ops if op.op in WRITES]
    return any(op.op in FLUSHES for op in ops) or (bool(writes) and all(op.flags.dsync for op in writes))


def direct_wanted(job: plan.Job) -> bool:
    """Whether the Plan asks for O_DIRECT, at least where it is supported."""
    return job.open.direct is not plan.Direct.OFF
