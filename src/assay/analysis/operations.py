"""What the Plan says about a recorded operation: what it does, to which file sets, and whether it groups others."""

import dataclasses
from collections.abc import Iterable, Iterator

from assay import plan

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


def _walk(actions: Iterable[plan.Action]) -> Iterator[tuple[str | None, tuple[plan.Op, ...]]]:
    """Yield each op with None, and each group with its name and the ops below it."""
    for action in actions:
        if isinstance(action, plan.Do):
            yield None, (action.op,)
        elif isinstance(action, plan.Group):
            below = tuple(_walk(action.actions))
            yield action.name, tuple(op for name, ops in below if name is None for op in ops)
            yield from below
        elif isinstance(action, plan.Repeat):
            yield from _walk(action.actions)
        elif isinstance(action, plan.Choice):
            for branch in action.branches:
                yield from _walk(branch.actions)


def _found(job: plan.Job) -> Iterator[tuple[str | None, tuple[plan.Op, ...]]]:
    if isinstance(job.body, plan.Script):
        yield from ((None, (op,)) for op in job.body.ops)
    else:
        yield from _walk(job.body.actions)


def all_ops(job: plan.Job) -> tuple[plan.Op, ...]:
    """Return every op of a job, recorded or not."""
    return tuple(op for name, ops in _found(job) if name is None for op in ops)


def job_sets(job: plan.Job) -> tuple[str, ...]:
    """Return the file sets that a job touches, in order of appearance."""
    return tuple(dict.fromkeys(op.file.set for op in all_ops(job) if isinstance(op.file, plan.FromSet)))


def operations_of(job: plan.Job) -> dict[str, Operation]:
    """Return the operations and groups that the Plan names in a job, recorded or not, by name."""
    slots: dict[int, list[str]] = {}
    for op in all_ops(job):
        if isinstance(op.file, plan.FromSet) and op.file.slot is not None:
            slots.setdefault(op.file.slot, []).append(op.file.set)
    members: dict[tuple[str, bool], list[plan.Op]] = {}
    for group, ops in _found(job):
        key = (group, True) if group is not None else (ops[0].name, False)
        members.setdefault(key, []).extend(ops)
    # A group that carries the name of one of its members is the one that is meant: groups come last.
    return {
        name: Operation(name=name, ops=tuple(ops), sets=_sets(ops, slots), is_group=is_group)
        for (name, is_group), ops in sorted(members.items(), key=lambda item: item[0][1])
    }


def _sets(ops: Iterable[plan.Op], slots: dict[int, list[str]]) -> tuple[str, ...]:
    sets: dict[str, None] = {}
    for op in ops:
        found = [op.file.set] if isinstance(op.file, plan.FromSet) else slots.get(op.file.slot, [])
        sets.update(dict.fromkeys(found))
    return tuple(sets)


def is_flushed(job: plan.Job) -> bool:
    """Whether the job forces its writes out: O_SYNC, O_DSYNC, RWF_DSYNC on each write, or a flush in its loop."""
    if job.open.sync or job.open.dsync:
        return True
    ops = all_ops(job)
    writes = [op for op in ops if op.op in WRITES]
    return any(op.op in FLUSHES for op in ops) or (bool(writes) and all(op.flags.dsync for op in writes))


def direct_wanted(job: plan.Job) -> bool:
    """Whether the Plan asks for O_DIRECT, at least where it is supported."""
    return job.open.direct is not plan.Direct.OFF
