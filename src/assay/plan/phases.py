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


class TableCell(Value, kw_only=True):
    """Place in a table."""

    row: str
    """Name of the row, such as a block size."""
    column: str
    """Name of the column, such as a mix."""


class SteadyOf(enum.Enum):
    """What may be even: operations or bytes per second, or the mean latency in nanoseconds."""

    OPS = "ops"
    BYTES = "bytes"
    LATENCY = "latency"


class SteadyBy(enum.Enum):
    """How evenness is judged: by the slope from one value to the next, or by the largest distance from the mean."""

    SLOPE = "slope"
    DEVIATION = "deviation"


class SteadyRule(Value, kw_only=True):
    """Evenness of what all jobs of a phase do together, at which the phase ends."""

    of: SteadyOf = SteadyOf.OPS
    """What is looked at."""
    by: SteadyBy = SteadyBy.DEVIATION
    """How it is judged."""
    bound: float
    """It is even below this."""
    is_percent: bool = True
    """Whether the bound is in per cent of the mean."""
    window_s: float
    """Time that is looked at, up to now."""
    skip_s: float = 0.0
    """Time from the start that is left out."""
    step_s: float = 1.0
    """Length of one value."""


ROUNDS_OF_CLIENTS = (
    "rounds end when the results of one machine are steady, not those of clients: measure without clients"
)
"""Why a load with rounds is refused for clients."""


class Rounds(Value, kw_only=True):
    """Repetition of phases until the results of some are steady. The defaults are those of SNIA SSS PTS 2.0.2."""

    of: tuple[str, ...]
    """Names of the phases whose results are looked at; each has one job."""
    by: SteadyOf = SteadyOf.OPS
    """What of these results: operations or bytes per second, or the mean latency."""
    window: int = 5
    """Consecutive rounds that are looked at; what is reported is of these."""
    most: int = 25
    """Rounds after which it ends in any case."""
    range_share: float = 0.2
    """Largest minus smallest result, as a share of their mean, up to which they are steady."""
    slope_share: float = 0.1
    """Rise or fall of the line of least squares over the window, as a share of the mean, up to which they are steady."""


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


class NextRound(Kind, kw_only=True):
    """A decision by the results of earlier rounds: another round begins, or the rest of them is left out."""


Gate = Semaphore | InputLine | NextRound


class Phase(Value, kw_only=True):
    """One barrier-to-barrier part of a run; its jobs start together."""

    name: str
    title: str
    jobs: tuple[Job, ...]
    stands_for: str = ""
    """Which uses of storage its numbers stand for."""
    cell: TableCell | None = None
    """Place of its results in a table of several phases."""
    repeat: int = 0
    cache: CacheCondition = CacheCondition.AS_IS
    before: tuple[Step, ...] = ()
    gate: Gate | None = None
    """What the start waits for when all workers are ready."""
    stop: Stop = Stop()
    extend_to_s: float | None = None
    """Longest time: where the rate is not steady after `seconds`, the phase goes on until it is, or until then."""
    steady: SteadyRule | None = None
    """When the rates or latencies of the phase are even enough for it to end."""
    ramp_s: float = 0.0
    after: tuple[Step, ...] = ()

    @property
    def job_times_s(self) -> tuple[float, ...]:
        """Times after which its jobs end by their own rules: the last where all have one, else those that there are."""
        times = tuple(seconds for job in self.jobs if (seconds := job.longest_s) is not None)
        return (max(times),) if times and len(times) == len(self.jobs) else times

    @property
    def longest_s(self) -> float | None:
        """Time after which it ends at the latest; None: no rule of the phase says."""
        return self.stop.seconds if self.extend_to_s is None else self.extend_to_s


def check_steady(phase: Phase, sample_interval_s: float) -> None:
    """Raise PlanError where evenness could never be judged."""
    if (steady := phase.steady) is None:
        return
    if steady.step_s < sample_interval_s:
        raise PlanError(
            f"phase '{phase.name}': steady.step is {steady.step_s:g} s, and an interval of the record has"
            f" {sample_interval_s:g} s; take a longer step, or a shorter sample_interval"
        )
    if steady.window_s < 2 * steady.step_s:
        raise PlanError(
            f"phase '{phase.name}': steady.window is {steady.window_s:g} s, and a value of it takes {steady.step_s:g} s:"
            " take a window of two steps or more"
        )


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
