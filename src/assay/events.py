"""Define the event stream: what happened, as the engine wrote it.

One JSON object a line; the Rust twin is `engine/src/events/`, which describes what each field means where the name does not.
`t_ns` is nanoseconds of CLOCK_MONOTONIC since `Hello`. Counters of host and workers are running totals; operations, bytes
and histograms of an interval are that interval's own, and sum to the phase's totals exactly.
"""

import enum
from collections import Counter
from collections.abc import Iterable

import msgspec

from assay.tags import snake_case

SCHEMA = "assay.events/1"
PROGRAM_STATUS = 1 << 16
"""Where an error number is that of a program that failed, its exit status as a shell gives it comes on top of this."""


class StreamPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in the stream."""


class _Event(StreamPart, kw_only=True, tag_field="event", tag=snake_case):
    """Base of the lines of the stream; `t_ns` is the time, 0 for Hello."""


class EngineFacts(StreamPart, kw_only=True):
    """The engine that wrote the stream."""

    version: str
    profile: str
    rustc: str
    pid: int
    uid: int


class MachineFacts(StreamPart, kw_only=True):
    """The machine, as far as the engine needs it."""

    hostname: str
    kernel: str
    cpus: int
    page_size_bytes: int
    ram_bytes: int


class ClockFacts(StreamPart, kw_only=True):
    """What `t_ns` means."""

    source: str
    read_cost_ns: float
    realtime_at_zero_ns: int
    monotonic_at_zero_ns: int


class Capabilities(StreamPart, kw_only=True):
    """What kernel and privileges allow; `notes` explains why something is missing."""

    io_uring: bool
    cachestat: bool
    drop_caches: bool
    delay_accounting: bool
    schedstat: bool
    notes: tuple[str, ...]


class Ceiling(StreamPart, kw_only=True):
    """One ceiling of one thread of this client."""

    name: str
    block_size_bytes: int | None
    ops_per_s: float
    bytes_per_s: float | None


class Moment(enum.Enum):
    """Before the start or after the stop."""

    BEFORE = "before"
    AFTER = "after"


class Buckets(StreamPart, kw_only=True):
    """Sparse histogram; `analysis/histogram.py` describes what values an index represents."""

    index: tuple[int, ...]
    count: tuple[int, ...]
    max_ns: int
    """Largest value since the phase began, exact."""
    sum_ns: int
    """Sum of this interval's values, exact."""


def add_buckets(histograms: Iterable[Buckets]) -> Buckets:
    """Add histograms of one phase up; the largest value of each is since the phase began, and so that of the sum."""
    counts: Counter[int] = Counter()
    max_ns = sum_ns = 0
    for one in histograms:
        for index, count in zip(one.index, one.count, strict=True):
            counts[index] += count
        max_ns, sum_ns = max(max_ns, one.max_ns), sum_ns + one.sum_ns
    filled = sorted(counts.items())
    return Buckets(
        index=tuple(index for index, _ in filled),
        count=tuple(count for _, count in filled),
        max_ns=max_ns,
        sum_ns=sum_ns,
    )


class OperationInterval(StreamPart, kw_only=True):
    """One operation of one job in one interval, all workers together."""

    job: str
    operation: str
    ops: int
    bytes: int
    errors: int
    latency: Buckets
    response: Buckets | None


class WorkerSample(StreamPart, kw_only=True):
    """Where one worker's time went, as running totals since the phase began."""

    job: str
    worker: int
    ops: int
    bytes: int
    on_cpu_ns: int | None
    run_delay_ns: int | None
    block_delay_ns: int | None
    user_cpu_ns: int | None
    system_cpu_ns: int | None
    io_calls: int | None
    children_cpu_ns: int
    """CPU time of the programs that it ran and that have ended; in none of the others."""
    idle_ns: int | None = None
    """At rest by the load's own rules, nothing in flight; None: of an engine that did not count it."""


class HostSample(StreamPart, kw_only=True):
    """Counters of one instance of one source."""

    source: str
    instance: str
    values: dict[str, float]


class StoppedBy(enum.Enum):
    """What ended a phase or a worker."""

    TIME = "time"
    STEADY = "steady"
    """Asked to end before its longest time, because the rate was steady."""
    OPS = "ops"
    BYTES = "bytes"
    PASSES = "passes"
    EXHAUSTED = "exhausted"
    STONEWALL = "stonewall"
    CONTROL = "control"
    ERROR = "error"


class WorkerWindow(StreamPart, kw_only=True):
    """When one worker was at work; started = completed + failed + abandoned."""

    job: str
    worker: int
    first_op_ns: int | None
    last_op_ns: int | None
    started: int
    completed: int
    failed: int
    abandoned: int
    stopped_by: StoppedBy


class Arrivals(StreamPart, kw_only=True):
    """What became of the arrivals of an open loop."""

    scheduled: int
    """Due before the workers stopped."""
    missed: int
    """Issued when the same worker's next one was due already."""
    unissued: int
    """Never issued: they are in no histogram."""
    rate_per_s: float | None = None
    """Arrivals per second over all workers, as they were scheduled; None: from an engine without it."""


class CachedFirst(StreamPart, kw_only=True):
    """What reads that asked the page cache alone first got from it, and what only by waiting."""

    hit_bytes: int
    missed_bytes: int


class JobFacts(StreamPart, kw_only=True):
    """What really happened below the workers of a job."""

    job: str
    backend: str
    direct: bool
    mean_queue_depth: float
    mean_reap_batch: float
    short_transfers: int
    punted: int | None
    cached_first: CachedFirst | None = None
    """None: no read asked so, or nothing is known of it; runs of older versions have none."""
    arrivals: Arrivals | None
    """None: closed loop."""
    features: tuple[str, ...] = ()
    """What the kernel granted every worker of what makes requests cheaper: IORING_SETUP_ flags, `registered buffers` and
    `registered files`; runs of older versions have none."""


class ErrorCount(StreamPart, kw_only=True):
    """Errors of one kind."""

    job: str
    operation: str
    errno: int
    """From `PROGRAM_STATUS` on: a program's exit status on top of it."""
    count: int


class CorruptionKind(enum.Enum):
    """What happened to a block of a stamped set."""

    WRONG_DATA = "wrong_data"
    STALE = "stale"
    TORN = "torn"
    MISPLACED = "misplaced"
    NEVER_WRITTEN = "never_written"


class Corruption(StreamPart, kw_only=True):
    """Blocks that are not what was written, of one operation and kind; path and offset are those of the first."""

    job: str
    operation: str
    kind: CorruptionKind
    blocks: int
    path: str
    offset_bytes: int


class Severity(enum.Enum):
    """What something does to the numbers: it explains them, limits what they mean, moves them, or forbids their use."""

    NOTE = "note"
    WEAK = "weak"
    WARNING = "warning"
    INVALID = "invalid"


class ErrorClass(enum.Enum):
    """Whose fault an error is: PLAN exits 2, ENVIRONMENT exits 3."""

    PLAN = "plan"
    ENVIRONMENT = "environment"


class Outcome(enum.Enum):
    """How a run ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    FAILED = "failed"


# -- the lines ---------------------------------------------------------------------------------------------------------


class Hello(_Event, kw_only=True):
    """First line: engine, machine and clock."""

    schema: str
    engine: EngineFacts
    machine: MachineFacts
    clock: ClockFacts
    capabilities: Capabilities


class Progress(_Event, kw_only=True):
    """Work outside the timed part that may take long."""

    t_ns: int
    activity: str
    done: int
    total: int
    unit: str


class Prepared(_Event, kw_only=True):
    """A file set is in place."""

    t_ns: int
    set: str
    path: str
    files: int
    directories: int
    bytes: int
    seconds: float
    reused: bool
    sampled_blocks: int = 0
    """Blocks at random places that were read to see what they hold, on a device that this run did not write."""
    zero_blocks: int = 0
    """Those of them that hold only zeros."""


class StepDone(_Event, kw_only=True):
    """A step was done, or could not be."""

    t_ns: int
    phase_index: int
    step: str
    subject: str | None
    achieved: bool
    detail: str
    seconds: float


class Verified(_Event, kw_only=True):
    """A stamped file set was read as a whole and compared with what was written."""

    t_ns: int
    phase_index: int
    set: str
    blocks: int
    bytes: int
    generations_known: bool
    resident_share: float | None = None
    """Share of its pages that were in memory when they were looked at, after it was dropped from there; null: unknown."""
    corruption: tuple[Corruption, ...]


class CeilingsMeasured(_Event, kw_only=True, tag="ceilings"):
    """What this client could ever show."""

    t_ns: int
    ceilings: tuple[Ceiling, ...]


class Residency(_Event, kw_only=True):
    """How much of a file set is in the page cache."""

    t_ns: int
    phase_index: int
    moment: Moment
    set: str
    files_sampled: int
    files: int
    pages: int
    resident_pages: int
    dirty_pages: int
    method: str


class Ready(_Event, kw_only=True):
    """All workers hold their files and wait for the start."""

    t_ns: int
    phase_index: int
    workers: int


class Started(_Event, kw_only=True):
    """The start was ordered."""

    t_ns: int
    phase_index: int
    start_ns: int
    late_ns: int | None = None
    """By how much it is later than what was agreed with others; null: nobody agreed."""


class Skipped(_Event, kw_only=True):
    """A phase that was ready was left out by an order, and those that follow it up to `next_index`."""

    t_ns: int
    phase_index: int
    next_index: int


class Interval(_Event, kw_only=True):
    """One tick of the interval clock; the first of a phase holds the counters at its start and no operations."""

    t_ns: int
    dt_ns: int
    phase_index: int
    operations: tuple[OperationInterval, ...]
    workers: tuple[WorkerSample, ...]
    process_cpu_ns: int
    observer_cpu_ns: int
    process_read_bytes: int | None
    process_write_bytes: int | None
    host: tuple[HostSample, ...]


class Paused(_Event, kw_only=True):
    """The client was paused: it was suspended, frozen or stopped, and measured nothing meanwhile."""

    t_ns: int
    """When it went on."""
    phase_index: int
    begun_ns: int
    """When it was last seen at work. This clock stops while a machine is suspended."""
    paused_ns: int
    """For how long at least; waits for a busy CPU are not in it."""


class WentWrong(_Event, kw_only=True):
    """What has gone wrong in a phase so far, reported with the first tick after there was more of it."""

    t_ns: int
    phase_index: int
    errors: tuple[ErrorCount, ...]
    corruption: tuple[Corruption, ...]


class Laps(_Event, kw_only=True):
    """Single completions of a group with laps, by one worker, since the tick before."""

    t_ns: int
    phase_index: int
    job: str
    worker: int
    group: str
    number: tuple[int, ...]
    """How many completions of the group the worker had before each; a number that is missing was not kept."""
    end_ns: tuple[int, ...]
    latency_ns: tuple[int | None, ...]
    """Sum of the members' latencies; None where one of them failed."""


class Mark(_Event, kw_only=True):
    """A moment worth remembering."""

    t_ns: int
    label: str
    source: str


CORRUPT_BLOCK = "corrupt-block"
DIRECT_REFUSED = "direct-refused"
DATA_LEFT_BEHIND = "data-left-behind"
FOREIGN_FILE = "foreign-file"
FREED_INODES = "freed-inodes"
GROWN_DIRECTORY = "grown-directory"
HOLES = "holes"
IO_URING_FALLBACK = "io-uring-fallback"
"""Identifiers of the warnings that are looked for by name; `engine/src/warning_id.rs` has those of all."""


class Warning(_Event, kw_only=True):  # noqa: A001 - the name of the line in the stream
    """Something that can move the numbers, or was not possible."""

    t_ns: int
    phase_index: int | None
    id: str
    severity: Severity = Severity.WARNING
    """Absent in the first engines; then it is taken to change the results."""
    text: str
    cure: str = ""


class Error(_Event, kw_only=True):
    """Something that ended the run."""

    t_ns: int
    phase_index: int | None
    class_: ErrorClass = msgspec.field(name="class")
    text: str
    path: str | None
    errno: int | None


class PhaseFinished(_Event, kw_only=True):
    """A phase is over; its last interval has been written before."""

    t_ns: int
    phase_index: int
    start_ns: int
    stopped_by: StoppedBy
    workers: tuple[WorkerWindow, ...]
    jobs: tuple[JobFacts, ...]
    errors: tuple[ErrorCount, ...]
    corruption: tuple[Corruption, ...] = ()


class Finished(_Event, kw_only=True):
    """Last line."""

    t_ns: int
    outcome: Outcome
    user_cpu_ns: int
    system_cpu_ns: int
    peak_rss_bytes: int


Event = (
    Hello
    | Progress
    | Prepared
    | StepDone
    | Verified
    | CeilingsMeasured
    | Residency
    | Ready
    | Started
    | Skipped
    | Interval
    | Paused
    | WentWrong
    | Laps
    | Mark
    | Warning
    | Error
    | PhaseFinished
    | Finished
)

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def decode(line: bytes) -> Event:
    """Decode one line; raises msgspec.DecodeError (a ValueError) on anything that is not an event."""
    try:
        return _DECODER.decode(line)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError as error:
        raise msgspec.ValidationError("nested too deep") from error


# -- control lines, from assay to the engine ---------------------------------------------------------------------------


class _Control(StreamPart, kw_only=True, tag_field="control", tag=snake_case):
    """Base of the lines on the engine's standard input after the Plan."""


class StartWhenReady(_Control, kw_only=True):
    """Start this phase and all that follow as soon as their workers are ready: there is nobody to agree with."""


class Start(_Control, kw_only=True):
    """Start the phase that is ready at CLOCK_MONOTONIC `at_monotonic_ns` of the engine's machine; 0 means now."""

    phase_index: int
    at_monotonic_ns: int


class EndPhase(_Control, kw_only=True):
    """End this phase as if its time were up, and no other: nothing comes of it where the phase is over."""

    phase_index: int


class SkipTo(_Control, kw_only=True):
    """Leave out the phase that is ready, and all before `next_index`; the number of phases leaves out all of the rest."""

    phase_index: int
    next_index: int


class SetMark(_Control, kw_only=True, tag="mark"):
    """Remember this moment."""

    label: str


class StopRun(_Control, kw_only=True, tag="stop"):
    """Stop the workers, clean up, finish."""


Control = StartWhenReady | Start | EndPhase | SkipTo | SetMark | StopRun
