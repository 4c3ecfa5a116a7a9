"""What happens between one barrier and the next?"""

import enum

from assay.plan.jobs import Job, Stop
from assay.plan.steps import Step
from assay.plan.values import Kind, Value


class CacheCondition(enum.Enum):
    """The client cache that a phase wants."""

    AS_IS = "as_is"
    COLD = "cold"
    WARM = "warm"


class Semaphore(Kind, kw_only=True):
    """One of a set of System V semaphores: as many runs as it is high each take one, and wait until it is at zero."""

    key: int
    """Key of the set, which somebody made before."""
    number: int
    """Which of the set, from 0."""
    of: int
    """Semaphores in the set."""


class InputLine(Kind, kw_only=True):
    """A line of input, or its end; a number is printed on standard output before."""

    number: int
    """What is printed."""


Gate = Semaphore | InputLine


class Phase(Value, kw_only=True):
    """One barrier-to-barrier part of a run; its jobs start together."""

    name: str
    title: str
    jobs: tuple[Job, ...]
    repeat: int = 0
    cache: CacheCondition = CacheCondition.AS_IS
    before: tuple[Step, ...] = ()
    gate: Gate | None = None
    """What the start waits for when all workers are ready."""
    stop: Stop = Stop()
    ramp_s: float = 0.0
    after: tuple[Step, ...] = ()
