"""Add phases that confirm what limits a phase: half and twice as many operations in flight.

Twice as many that are served nearly twice as fast waited for nothing but themselves; twice as many that are served no faster
waited for something that was full (METHOD 4.2).
"""

from collections.abc import Iterator

import msgspec

from assay import plan


def confirmations(phase: plan.Phase) -> Iterator[plan.Phase]:
    """Give the phases that confirm a phase of one job: of one operation in flight there is no half."""
    (job,) = phase.jobs
    in_flight = job.queue_depth * job.workers
    for name, words, count in (("half", "half", in_flight // 2), ("double", "twice", in_flight * 2)):
        if count < 1:
            continue
        by_depth = job.queue_depth > 1 and count % job.workers == 0
        changed = {"queue_depth": count // job.workers} if by_depth else {"workers": max(1, count // job.queue_depth)}
        yield msgspec.structs.replace(
            phase,
            name=f"{phase.name}-{name}",
            title=f"{phase.title}: {words} as many in flight",
            jobs=(_batched(msgspec.structs.replace(job, **changed)),),
        )


def _batched(job: plan.Job) -> plan.Job:
    """Let a wait of a job wait for no more than it keeps in flight."""
    batch = msgspec.structs.replace(job.batch, complete_min=min(job.batch.complete_min, job.queue_depth))
    return msgspec.structs.replace(job, batch=batch)
