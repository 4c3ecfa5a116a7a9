"""What happens between one barrier and the next?"""

import enum

from assay.errors import PlanError
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
    stands_for: str = ""
    """Which uses of storage its numbers stand for."""
    repeat: int = 0
    cache: CacheCondition = CacheCondition.AS_IS
    before: tuple[Step, ...] = ()
    gate: Gate | None = None
    """What the start waits for when all workers are ready."""
    stop: Stop = Stop()
    extend_to_s: float | None = None
    """Longest time: where the rate is not steady after `seconds`, the phase goes on until it is, or until then."""
    ramp_s: float = 0.0
    after: tuple[Step, ...] = ()

    @property
    def longest_s(self) -> float | None:
        """Time after which it ends at the latest; None: no rule of the phase says."""
        return self.stop.seconds if self.extend_to_s is None else self.extend_to_s


def check_longest_time(phase: Phase) -> None:
    """Raise PlanError where a longest time extends nothing."""
    if phase.extend_to_s is None:
        return
    if phase.stop.seconds is None:
        raise PlanError(
            f"phase '{phase.name}': extend_to_s extends a phase's time, and this phase has none: give it seconds"
        )
    if phase.extend_to_s <= phase.stop.seconds:
        raise PlanError(
            f"phase '{phase.name}': extend_to_s is {phase.extend_to_s:g}; it must be above its seconds,"
            f" {phase.stop.seconds:g}"
        )
