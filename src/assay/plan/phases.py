"""What happens between one barrier and the next?"""

import enum

from assay.plan.jobs import Job, Stop
from assay.plan.steps import Step
from assay.plan.values import Value


class CacheCondition(enum.Enum):
    """The client cache that a phase wants."""

    AS_IS = "as_is"
    COLD = "cold"
    WARM = "warm"


class Phase(Value, kw_only=True):
    """One barrier-to-barrier part of a run; its jobs start together."""

    name: str
    title: str
    jobs: tuple[Job, ...]
    repeat: int = 0
    cache: CacheCondition = CacheCondition.AS_IS
    before: tuple[Step, ...] = ()
    stop: Stop = Stop()
    ramp_s: float = 0.0
    after: tuple[Step, ...] = ()
