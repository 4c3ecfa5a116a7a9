"""What an observer does: nothing, in the same phases, so that its machine's counters are recorded with the load's."""

import msgspec

from assay.plan import Fixed, Job, Loop, Phase, Plan, Stop, Think

JOB = "observe"
_NAP_S = 0.2
"""How long it sleeps at a time: it ends a phase as soon as it is asked to."""


def observers_plan(plan: Plan) -> Plan:
    """Make the Plan of an observer of a Plan: its phases, in each a worker that sleeps until the phase is ended for it."""
    asleep = Loop(actions=(Think(seconds=Fixed(value=_NAP_S)),))
    phases = tuple(
        Phase(name=phase.name, title=phase.title, repeat=phase.repeat, jobs=(Job(name=JOB, body=asleep),), stop=Stop())
        for phase in plan.phases
    )
    return msgspec.structs.replace(plan, targets=(), file_sets=(), phases=phases, user=None)
