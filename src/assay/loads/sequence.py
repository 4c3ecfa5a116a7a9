"""Add the steps that each phase and each repeat needs.

A load file has what it measures; the Plan has every step. Added here, and nowhere else: `prepare` before the first
phase that uses a set, `prepare` again when an earlier repeat changed what the set holds, and right before the start the
steps that bring the wanted cache condition about.
"""

from collections.abc import Sequence

import msgspec

from assay import plan
from assay.plan import FileSet, Phase, Step
from assay.plan.op_rules import CHANGES_FILES
from assay.plan.walk import job_ops, phase_sets, touched_sets


def lay_out_sequence(
    phases: Sequence[Phase],
    file_sets: Sequence[FileSet],
    *,
    drop_caches: frozenset[str],
    repeat: int,
    once: frozenset[str] = frozenset(),
    decided_from: int | None = None,
) -> tuple[Phase, ...]:
    """Make the phases of a Plan from those of a load file: whole sequence again and again, `repeat` times.

    Args:
        phases: As written, with the steps that the file states.
        file_sets: All sets of the load.
        drop_caches: Names of the cold phases that also drop the caches of the machine.
        repeat: Times that each phase is measured; interleaved, so that drift of the machine falls on all phases alike.
        once: Names of the phases that are done in the first repeat only.
        decided_from: The repeat from which on each begins with the decision whether to go on (rounds).
    """
    reuse = {file_set.name: file_set.reuse for file_set in file_sets}
    stated = {step.set for phase in phases for step in _steps(phase) if isinstance(step, plan.Prepare)}
    present: set[str] = set()
    known: set[str] = set()
    result: list[Phase] = []
    for index in range(repeat):
        if index:
            present -= {name for phase in phases for name in changed_sets(phase)}
        done = [phase for phase in phases if not index or phase.name not in once]
        if decided_from is not None and index >= decided_from:
            done[0] = msgspec.structs.replace(done[0], gate=plan.NextRound())
        for phase in done:
            needed = [name for name in _needed_sets(phase) if name not in present and name not in stated]
            layout = [step for name in needed for step in _layout_steps(name, reuse[name], again=name in known)]
            before = (*layout, *phase.before, *_cache_steps(phase, drop_caches=phase.name in drop_caches))
            result.append(msgspec.structs.replace(phase, repeat=index, before=before))
            present.update(needed)
            known.update(needed)
            present -= {step.set for step in _steps(phase) if isinstance(step, plan.Remove)}
    return tuple(result)


def changed_sets(phase: Phase) -> set[str]:
    """Names of the sets that hold other files, or longer or shorter ones, after a phase."""
    changed: set[str] = set()
    for job in phase.jobs:
        changers = [op for op in job_ops(job) if op.op in CHANGES_FILES or _appends(op, job)]
        changed.update(touched_sets(job, changers))
    return changed


def _appends(op: plan.Op, job: plan.Job) -> bool:
    return op.op is plan.OpKind.WRITE and (isinstance(op.access, plan.Append) or job.open.append)


def _steps(phase: Phase) -> tuple[Step, ...]:
    return (*phase.before, *phase.after)


def _needed_sets(phase: Phase) -> list[str]:
    by_steps = [
        step.set for step in phase.before if isinstance(step, plan.Evict | plan.Warm | plan.Verify | plan.Ceilings)
    ]
    return list(dict.fromkeys([*by_steps, *phase_sets(phase)]))


def _layout_steps(name: str, reuse: plan.Reuse, *, again: bool) -> list[Step]:
    # A changed set still carries the mark of the set as laid out, which a reused set is known by: it has to go first.
    removal: list[Step] = [plan.Remove(set=name)] if again and reuse is plan.Reuse.IF_MATCHES else []
    return [*removal, plan.Prepare(set=name)]


def _cache_steps(phase: Phase, *, drop_caches: bool) -> list[Step]:
    if phase.cache is plan.CacheCondition.WARM:
        return [plan.Warm(set=name) for name in phase_sets(phase)]
    if phase.cache is plan.CacheCondition.COLD:
        evictions: list[Step] = [plan.Evict(set=name) for name in phase_sets(phase)]
        return [*evictions, plan.DropCaches()] if drop_caches else evictions
    return []
