"""A Plan with as many workers as were really there: those of a share, or those of a whole set of clients."""

import copy
from collections.abc import Mapping

import msgspec

from assay.plan import Job, Plan

Workers = Mapping[tuple[int, str], int]
"""How many workers a job had, by phase and name."""


def with_workers(plan: Plan, workers: Workers) -> Plan:
    """Give the Plan with these numbers; jobs that are not among them keep theirs.

    What a set of clients did together is no Plan that one engine could be given: it is not held to an engine's limits.
    """
    if all(workers.get((index, job.name), job.workers) == job.workers for index, job in _jobs(plan)):
        return plan
    phases = tuple(
        msgspec.structs.replace(
            phase,
            jobs=tuple(
                msgspec.structs.replace(job, workers=workers.get((index, job.name), job.workers)) for job in phase.jobs
            ),
        )
        for index, phase in enumerate(plan.phases)
    )
    found = copy.copy(plan)
    msgspec.structs.force_setattr(found, "phases", phases)
    return found


def _jobs(plan: Plan) -> list[tuple[int, Job]]:
    return [(index, job) for index, phase in enumerate(plan.phases) for job in phase.jobs]
