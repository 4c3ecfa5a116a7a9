"""Who works, how fast, and until when?"""

import enum

from assay.plan.actions import Body
from assay.plan.backends import Backend, OpenFlags, Psync
from assay.plan.values import Kind, Value


class Closed(Kind, kw_only=True):
    """An operation starts as soon as the previous one is done."""


class Spacing(enum.Enum):
    """Time between arrivals of an open loop."""

    UNIFORM = "uniform"
    POISSON = "poisson"


class Open(Kind, kw_only=True):
    """On a schedule that does not wait for completions; the rate is over all workers of the job."""

    rate_per_s: float
    """Arrivals per second over all workers of the job."""
    spacing: Spacing = Spacing.UNIFORM
    """Time between arrivals: equal, or exponential."""


class OpenShare(Kind, kw_only=True):
    """As `open`, at a share of the rate that the job of the same name had in an earlier phase, from its ramp on."""

    phase: str
    """Name of that phase; of several of the same repeat, the last before this one."""
    rate_share: float
    """Of the timed operations per second there; above 1 for more of them."""
    spacing: Spacing = Spacing.UNIFORM
    """Time between arrivals: equal, or exponential."""


class Balanced(Kind, kw_only=True):
    """As soon as the previous one is done, but not ahead of others: its part of what a group does is that of its weight.

    While its part is above that of its weight in all weights it waits. Workers that are done count no more.
    """

    group: str
    """Name of the group, within the phase."""
    weight: int
    """Of each worker of the job."""
    pause_s: float = 0.0
    """How long a worker waits before it looks again; 0: as briefly as can be."""


Arrival = Closed | Open | OpenShare | Balanced


class Affinity(Value, kw_only=True):
    """CPUs (worker i gets entry i modulo the length) and NUMA node; empty: the scheduler chooses."""

    cpus: tuple[int, ...] = ()
    numa_node: int | None = None


class Batch(Value, kw_only=True):
    """How many requests of a queue go to the kernel in one call, and how many come back from one wait.

    Storage begins the sooner the fewer wait for one another; the worker needs the less CPU time the more go together.
    """

    submit: int = 1
    """Handed over in one call, at most; as many as `queue_depth` or more: all that are ready."""
    complete_min: int = 1
    """Completions that a wait waits for, as far as so many are in flight."""
    complete_max: int | None = None
    """Completions taken at once, at most; unset: all that are there."""


class RateLimit(Value, kw_only=True):
    """Limits that pace a closed loop, over all workers of the job."""

    ops_per_s: float | None = None
    """Operations per second over all workers of the job."""
    bytes_per_s: float | None = None
    """Bytes per second over all workers of the job."""


class StopOf(enum.Enum):
    """Whose operations, bytes and passes a stop rule counts."""

    EACH = "each"
    ALL = "all"
    FIRST = "first"


class Stop(Value, kw_only=True):
    """When something is done: the first rule that holds ends it; with none, exhaustion does."""

    seconds: float | None = None
    """Time since the common start."""
    ops: int | None = None
    """Operations."""
    bytes: int | None = None
    """Bytes."""
    passes: int | None = None
    """Passes of the loop body."""
    of: StopOf = StopOf.EACH
    """Who counts: each worker for itself, all together, or everybody stops when the first is done (stonewall)."""


class Ends(enum.Enum):
    """What ends with a job: asked to stop, not waited for."""

    NOTHING = "nothing"
    TEAM = "team"
    PHASE = "phase"


class WorkerKind(enum.Enum):
    """What a worker is."""

    THREAD = "thread"
    PROCESS = "process"


class Job(Value, kw_only=True, rename={"kind": "as"}):
    """Identical workers that run one body."""

    name: str
    body: Body
    workers: int = 1
    kind: WorkerKind = WorkerKind.THREAD
    arrival: Arrival = Closed()
    backend: Backend = Psync()
    queue_depth: int = 1
    """I/Os that each worker keeps in flight. 1 means synchronous."""
    batch: Batch = Batch()
    open: OpenFlags = OpenFlags()
    affinity: Affinity = Affinity()
    huge_pages: bool = False
    """Whether the buffers of its workers lie in huge pages of 2 MiB."""
    limit: RateLimit = RateLimit()
    delay_s: float = 0.0
    """Time between the common start and the start of this job; its own `stop.seconds` count from there."""
    stop: Stop = Stop()
    ends: Ends = Ends.NOTHING
    """What else ends when the first worker of this job is done."""
    team: str = ""
    """Name that the jobs of a team have in common; empty: none."""
    timed: tuple[str, ...] = ()
    """Names of the operations and groups that are recorded; empty: all."""

    @property
    def longest_s(self) -> float | None:
        """Time from the common start after which it ends at the latest; None: no rule of the job says."""
        return None if self.stop.seconds is None else self.delay_s + self.stop.seconds
