"""Define the result document: what a run measured, for other programs.

`assay show RUN --json` and every `--json` print one `Document`. It is a contract: fields are added, never renamed. Numbers
are numbers; what is absent is null, and a finding explains why. Rates are per second of the window that the result names.
"""

import msgspec

from assay.outward import json_text
from assay.verdicts import (
    Bottleneck,
    Confidence,
    ExpectationVerdict,
    RecoveryVerdict,
    ScheduleVerdict,
    ServedBy,
    SharedStorage,
    SteadyVerdict,
    TrustLevel,
)

SCHEMA = "assay.results/1"

STREAMING_BYTES_PER_OP = 64 << 10
"""From this mean size on, people ask for MiB/s; below it, for operations per second."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in the document."""


class Finding(Part, kw_only=True):
    """Something that the reader must know about a number, with what to do about it."""

    id: str
    severity: str
    """`note` (explains), `weak` (true, but of too little or not of what one may think), `warning` (moved the number),
    `invalid` (the number must not be used)."""
    text: str
    cure: str
    brief: str = ""
    """A few words, to print next to the result."""
    effect: float | None = None
    """Share by which the result may be wrong, or share of it that is concerned; null if unknown."""


class LatencyNs(Part, kw_only=True, rename={"p99_9": "p99.9"}):
    """Latency in nanoseconds; a percentile without enough samples (10 / (1 - q)) is null."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p99_9: float | None
    max: float | None


class TimeBudget(Part, kw_only=True):
    """Where the workers' wall time went, as shares that sum to 1.

    Where the kernel does not count block delay, `block_delay` is null and its time is part of `other_wait`. `on_cpu` holds
    the CPU time of programs that the workers ran. `idle` is what their own schedule gave them nothing to do in: the waits
    of an open loop, think times, limits of the rate.
    """

    on_cpu: float | None
    run_delay: float | None
    block_delay: float | None
    idle: float | None
    other_wait: float | None


class Cache(Part, kw_only=True):
    """What the client's page cache had to do with it."""

    condition: str
    """`cold`, `warm`, `as_is` as asked for; `direct` when the page cache was passed by."""
    hit_ratio: float | None
    """Share of the bytes read that storage did not deliver; null for operations that read no data."""
    hit_ratio_of: str | None
    """What it is of: `window`, as all numbers are, or `phase` where only the whole of it is known; null where it is."""
    resident_before: float | None
    resident_after: float | None
    verdict: str
    """`storage` (hit ratio <= 0.05), `mixed`, `cache` (>= 0.95), `absorbed`/`device`/`flushed` for writes, `unknown`."""
    method: str | None
    """How the hit ratio was found: `byte_balance`, `cached_first`, `residency`, `latency`."""


class EarlierLevel(Part, kw_only=True):
    """A part of a phase in which the rate had one level."""

    window_s: tuple[float, float]
    """Seconds since the phase began."""
    ratio: float
    """Its rate over that of the result."""


class Steady(Part, kw_only=True):
    """Steady state: METHOD 1.3. It is that of all operations of the job together."""

    verdict: SteadyVerdict
    window_s: tuple[float, float] | None
    """Assessed part, in seconds since the phase began."""
    intervals: int
    """Intervals that the verdict is from."""
    before: tuple[EarlierLevel, ...]
    """Earlier levels of the rate: not part of the result."""
    trend: float | None
    """Share by which the rate rises or falls over the window."""
    period_s: float | None
    """Time after which the rate repeats itself."""


class Estimate(Part, kw_only=True):
    """95 % interval of a rate, from its own intervals of time, or from its repeats.

    What differs between runs is in that of repeats alone.
    """

    low: float
    high: float
    half_share: float
    """Half of the interval, by the rate."""
    effective: float
    """Number of independent time intervals with the same information; or of used repeats."""


class LatencyEstimatesNs(Part, kw_only=True, rename={"p99_9": "p99.9"}):
    """95 % intervals of the percentiles; null where a percentile is, or where its upper end is beyond the largest value."""

    p50: tuple[float, float] | None
    p90: tuple[float, float] | None
    p99: tuple[float, float] | None
    p99_9: tuple[float, float] | None


class Committed(Part, kw_only=True):
    """What reached storage by the time that a flush after the phase was done: the work of the phase by phase and flush."""

    iops: float
    throughput_bytes_per_s: float | None
    seconds: float
    flush_seconds: float
    stored_share: float
    """Of what was done in the window: below 1 where data was written over in memory before storage had it."""


class Schedule(Part, kw_only=True):
    """What became of the arrivals of an open loop, over the whole phase."""

    verdict: ScheduleVerdict
    """`fell_behind` where less than 99 % of the arrivals that were due had been issued by the end, or the backlog grew
    throughout."""
    rate_per_s: float
    """As asked for."""
    arrivals: int
    """Due before the end."""
    late: int
    """Issued when the same worker's next one was due already."""
    backlog: int
    """Due and not issued at the end: in no percentile."""


class Limiter(Part, kw_only=True):
    """What limited the number: METHOD 4.2."""

    verdict: Bottleneck
    confidence: Confidence
    evidence: tuple[str, ...]
    headroom: float | None = None
    """How many times the number the next ceiling is; null: none is known."""
    remedy: str = ""


class Efficiency(Part, kw_only=True):
    """Cost of the result: METHOD 4.6. Null: unknown, or not separable from other work of the job."""

    cpu_seconds_per_gib: float | None
    bytes_per_cpu_second: float | None
    calls_per_op: float | None
    """Read and write calls of the job's workers for each of its operations."""
    device_bytes_per_byte: float | None
    """Bytes that the devices moved for each byte that the operations moved, in the same direction; of several clients on one
    machine for each byte of all of them."""
    joules_per_op: float | None
    joules_per_gib: float | None


class Placement(Part, kw_only=True):
    """A number among those of its class, by the table of invariants."""

    text: str
    """Such as `typical for a SATA SSD`."""
    device_class: str | None
    """As the facts show it; null: they do not, and the text is a comparison."""
    arithmetic: tuple[str, ...]
    rows: tuple[str, ...]
    """Ids of the rows that it was compared with."""


class Reason(Part, kw_only=True):
    """Why a number is less than trusted."""

    id: str
    """Of the finding that has more."""
    text: str


class Trust(Part, kw_only=True):
    """May the number be used, and why not."""

    level: TrustLevel
    reasons: tuple[Reason, ...]
    """The gravest first; none where the level is `yes`."""


class Result(Part, kw_only=True):
    """One operation of one job in one phase.

    Only of a foreign run may `workers`, `queue_depth`, `ops`, `bytes`, `errors`, `seconds` and `window_s` be null: its tool
    does not state.
    """

    label: str
    """Key that no other result of the run has: `phase/operation`, `phase/job/operation`, with `#2` for the second repeat."""
    phase: str
    title: str
    job: str
    operation: str
    target: str
    """Names of its targets, with commas between them."""
    targets: tuple[str, ...]
    client: str | None
    """Null: all clients together."""
    repeat: int
    workers: int | None
    queue_depth: int | None
    ops: int | None
    bytes: int | None
    errors: int | None
    seconds: float | None
    window_s: tuple[float, float] | None
    """Start and end of the window that the numbers are from, in seconds since the phase began."""
    iops: float | None
    iops_interval: Estimate | None
    throughput_bytes_per_s: float | None
    committed: Committed | None
    """Of writes and changes that memory, or a device's cache, took: what storage had when they were flushed; null: nothing
    was flushed."""
    measures: ServedBy
    """What the number is a number of."""
    latency_ns: LatencyNs
    latency_intervals_ns: LatencyEstimatesNs | None
    response_ns: LatencyNs | None
    response_intervals_ns: LatencyEstimatesNs | None = None
    """Null: a closed loop."""
    schedule: Schedule | None
    """Null: a closed loop."""
    cpu_ns_per_op: float | None
    """Null for a part of a mix, which has no CPU time of its own."""
    time_budget: TimeBudget
    efficiency: Efficiency
    cache: Cache
    device_bytes: int | None
    """Bytes that the target's block device moved in the window in the direction of the operation, by /proc/diskstats."""
    steady: Steady | None
    limiter: Limiter | None
    placement: Placement | None = None
    """Null: the number cannot be used, is not of storage, or the table has no row for it."""
    findings: tuple[Finding, ...]
    trust: Trust
    trusted: bool
    """Whether the level of trust is `yes`."""


class RepeatedNumber(Part, kw_only=True):
    """One number of a result over its repeats: what is typical of them, and how well that is known."""

    value: float | None
    """Typical of the repeats that count; null: none does, or one that does has no such number."""
    method: str | None
    """`single`, `geometric_mean` (of two to five repeats), `hodges_lehmann` (from six on: the median of the geometric means
    of all pairs)."""
    interval: tuple[float, float] | None
    """At 95 % confidence, of what is typical; null: fewer than three repeats count."""
    range: tuple[float, float] | None
    """The least and the largest of the repeats that count."""
    variation: float | None
    """Coefficient of variation: standard deviation by mean; null: fewer than two repeats count."""
    values: tuple[float | None, ...]
    """Of every repeat, whether it counts or not, as in `repeats`; null: it has none."""


class RepeatRemark(Part, kw_only=True):
    """A remark on one repeat."""

    repeat: int
    """From 0, as in the results."""
    kind: str
    """`left_out` (not trusted: in no number), `weak` (it counts, and most others are not weak), `stands_out` (it
    counts, and is far from the others)."""
    text: str


class Summary(Part, kw_only=True):
    """A result over its repeats. The repeat is what counts as one: intervals within a repeat do not predict the next."""

    label: str
    """Of the result, without the number of the repeat."""
    phase: str
    title: str
    job: str
    operation: str
    repeats: tuple[int, ...]
    """Those that were measured, from 0."""
    counted: tuple[int, ...]
    """Those of them that the numbers are from: all that may be used."""
    is_with_flush: bool
    """Whether the rates are up to the end of the closing flush, as those of its results' `committed`."""
    is_response: bool
    """Whether the percentiles are those of the response time, as of an open loop, and not of the latency."""
    iops: RepeatedNumber
    throughput_bytes_per_s: RepeatedNumber | None
    """Null: it moves no data."""
    p50_ns: RepeatedNumber
    p99_ns: RepeatedNumber
    measures: tuple[str, ...]
    """What they are numbers of, and what became of writes, in words; where it is several there is no common number."""
    drift: float | None
    """Share by which the rate changes from the first repeat to the last, where that is sure and matters; else null."""
    remarks: tuple[RepeatRemark, ...]
    trust: Trust
    """As of the repeats that count."""
    trusted: bool


class TrackedRounds(Part, kw_only=True):
    """A result that has to be steady over the rounds."""

    label: str
    """Of the result, without the number of the round."""
    title: str
    values: tuple[float | None, ...]
    """One for each whole round: operations or bytes per second, or nanoseconds."""
    mean: float | None
    """Of the window."""
    range_share: float | None
    """Largest minus smallest of the window, as a share of the mean."""
    slope_share: float | None
    """Rise or, below 0, fall of the line of least squares over the window, as a share of the mean."""


class RoundsCell(Part, kw_only=True):
    """A result with its place in the table of the rounds."""

    row: str
    column: str
    label: str
    """Of its summary."""


class RoundsOutcome(Part, kw_only=True):
    """Rounds of phases that were repeated until results were steady; summaries are of the window."""

    by: str
    """`ops`, `bytes` or `latency`."""
    done: int
    """Whole rounds."""
    most: int
    """After which it ends in any case."""
    window: tuple[int, int] | None
    """First and last round of the window, from 0; null: there were fewer rounds than it has."""
    is_steady: bool
    range_share: float
    """Steady: at most this range, and"""
    slope_share: float
    """at most this rise or fall."""
    tracked: tuple[TrackedRounds, ...]
    cells: tuple[RoundsCell, ...] = ()
    """Empty: the load has no such table."""


class ForeignFile(Part, kw_only=True):
    """A file that results were taken from, as another tool wrote it."""

    name: str
    """As it was called."""
    kept_as: str
    """In the bundle, byte by byte."""
    bytes: int
    sha256: str


class ForeignSource(Part, kw_only=True):
    """Where results come from that Assay did not measure: `assay import`."""

    tool: str
    version: str | None
    """Of the tool; null if its output has none, as are `machine` and `measured_utc`."""
    machine: str | None
    """What the tool calls the machine, or the column of a table that the results are of."""
    measured_utc: str | None
    """When the first of it was measured, as far as the tool reports: its start or its end. ISO 8601."""
    file: ForeignFile
    assumed_zone: str | None = None
    """Zone that its times were taken to be of, as the tool gives them without one; null: it has the zone, or no time."""
    zone_is_given: bool = False
    """Whether the zone was given at import; else UTC was assumed."""


class Run(Part, kw_only=True):
    """The run as a whole."""

    id: str
    name: str | None
    """What the user calls the run, as are `tags` and `note`: it may change at any time."""
    tags: tuple[str, ...]
    note: str
    bundle: str
    sealed: bool
    command: str
    started_utc: str
    """Of a foreign run: when it was imported."""
    seconds: float | None
    """Null: a foreign run."""
    exit_code: int
    repeats: int
    foreign: ForeignSource | None = None
    """Null: Assay measured it. Else it did not, and none of its numbers is trusted."""


class ThreadCeiling(Part, kw_only=True):
    """What one thread of the client does at most, in memory: `engine/src/steps/ceilings.rs` describes how it is measured."""

    name: str
    """`memory_copy_large`, `memory_copy_cached`, `system_call`, `clock_read`, `cached_pread` or `content_fill`."""
    block_size_bytes: int | None
    ops_per_s: float
    bytes_per_s: float | None


class ClientCeilings(Part, kw_only=True):
    """What the numbers of a run are held against."""

    measured_utc: str | None
    """When the client's were measured; null: they are not known."""
    is_of_this_run: bool
    """Whether this run measured them; else an earlier one of the same machine."""
    of_one_thread: tuple[ThreadCeiling, ...]
    link_bytes_per_s: float | None
    """Bandwidth of the link to the storage, as the user states."""
    device_bytes_per_s: float | None
    """Maximum throughput of the devices, as the user states."""


class MarkedLevel(Part, kw_only=True):
    """What an operation did in a stretch of time before, during or after a mark: in the whole intervals inside it."""

    window_s: tuple[float, float]
    """Since the phase began."""
    intervals: int
    iops: float
    iops_interval: tuple[float, float] | None
    """95 % interval of that mean; null: fewer than three intervals."""
    throughput_bytes_per_s: float | None
    p50_ns: float | None
    p50_interval_ns: tuple[float, float] | None
    p99_ns: float | None
    p99_interval_ns: tuple[float, float] | None
    max_ns: float | None
    """Of the operations that ended in it: one that a freeze held up ends when that is over, in the interval after it."""


class MarkedChange(Part, kw_only=True):
    """By which share something differs from what it was before a mark, with its 95 % interval."""

    share: float
    interval: tuple[float, float] | None


class MarkedChanges(Part, kw_only=True):
    """What differs from before a mark; null: one of the two is not known."""

    iops: MarkedChange | None
    p50: MarkedChange | None
    p99: MarkedChange | None


class Recovery(Part, kw_only=True):
    """When the rate was back at the level that it had before a mark."""

    verdict: RecoveryVerdict
    left_s: float | None
    """When it left that level, in seconds since the mark; null: it did not."""
    seconds: float | None
    """From the mark to the first of ten samples in a row that are back; null: there are none."""
    within_s: float
    """Length of a sample: what `seconds` and `left_s` can be too much or too little by."""
    band: float
    """What a sample may be off the level and still be at it, as a share of the level."""


class MarkEffect(Part, kw_only=True):
    """What was before, during and after a mark, of one result."""

    result: str
    """Its label."""
    before: MarkedLevel | None
    during: MarkedLevel | None
    after: MarkedLevel | None
    during_changes: MarkedChanges
    after_changes: MarkedChanges
    recovery: Recovery | None
    """Null: a detector set the mark, or nothing is known of before."""
    missing: str
    """Why a level is not there; empty: all are."""


DETECTED = "detected"
"""Source of a mark that analysis found; a user set the others."""


class RunMark(Part, kw_only=True):
    """A moment at which something happened."""

    number: int
    """In the order of time, as the report's lines have it."""
    t_s: float
    """Since the engine's hello."""
    phase: str | None
    """In which it was; null: in none."""
    repeat: int
    phase_s: float | None
    """Since that phase began."""
    label: str
    source: str
    """`user` (set while the run went on), `afterwards`, or `detected`."""
    effects: tuple[MarkEffect, ...]


class SoloShare(Part, kw_only=True):
    """Share of its rate that a job keeps while others run: the rate together over the rate alone, in one run."""

    result: str
    """Label of its result together with others, in the first repeat."""
    solo: str
    """Label of what the same job did alone."""
    share: float
    interval: tuple[float, float] | None
    """At 95 %: of the two windows, or from three repeats on of the repeats; of two repeats the range that was seen."""
    method: str
    """`windows`, `range`, `welch` or `ranks`."""
    trust: TrustLevel
    """The lower one of the numbers that it is from."""
    beside: str = ""
    """The jobs that worked at the same time, with commas between them."""
    shared: SharedStorage = SharedStorage.UNKNOWN
    """What it had in common with them; with several, with the nearest."""


class ClockError(Part, kw_only=True):
    """Offset of a client's clock from that of the leader, read before the first phase and after each."""

    offset_ns: int
    """The client's CLOCK_MONOTONIC minus the leader's, at the first reading."""
    bound_ns: int
    """No reading is wrong by more: half the round trip of the slowest."""
    drift_ppm: float | None
    """What it gains on the leader's; null: fewer than two readings, or less than their bounds."""


class WayToClient(Part, kw_only=True):
    """How a client was reached."""

    way: str
    """`ssh`; `local`: on the machine that led; `joined`: somebody else started it."""
    address: str | None
    """What ssh connected to."""
    user: str | None
    needs_file: bool
    """Whether more was given, such as a port, than is possible outside of a file of hosts."""


class ClientOfRun(Part, kw_only=True):
    """One of several clients."""

    name: str
    role: str
    """`load`, or `observer`: it counts and makes no load."""
    hostname: str
    address: str
    clock: ClockError | None
    """Null: it was never read."""
    lost_s: float | None
    """When its last sign of life came, in seconds since the first phase was to begin; null: it was there to the end."""
    lost_reason: str | None
    is_complete: bool
    """Whether the stream of a client that was lost was collected from its machine later."""
    reached: WayToClient | None = None
    """Null: the version that measured did not keep it."""


class ClientStart(Part, kw_only=True):
    """When a client began a phase."""

    client: str
    late_ns: int
    """After the time agreed, by the leader's clock."""
    bound_ns: int
    """By how much that can be wrong, either way."""


class StartOfPhase(Part, kw_only=True):
    """When the clients began a phase."""

    phase: str
    repeat: int
    skew_ns: int
    """From the first client's start to the last one's."""
    bound_ns: int
    """By how much that can be wrong: the sum of the two clients' bounds."""
    starts: tuple[ClientStart, ...]


class ClientRate(Part, kw_only=True):
    """What one client did of a sum."""

    client: str
    label: str
    """Of its own result."""
    iops: float
    """Over the window of the sum; where there is no sum, that of its own result."""
    throughput_bytes_per_s: float | None
    share: float | None
    """Of the sum; null: there is none."""


class Straggler(Part, kw_only=True):
    """A client that was much slower than the others."""

    client: str
    ratio: float
    """Its rate by the median of the others."""
    cause: str
    """Evidence from its own results, in words."""


class SetOfClients(Part, kw_only=True):
    """A sum over clients, taken to pieces."""

    label: str
    """Of the sum's result, whose `client` is null."""
    clients: int
    """That it is the sum of."""
    window_s: tuple[float, float] | None
    """That the sum and the rates are of, in seconds since the phase was to begin. Null: there is no sum, because the clients
    shared too little of the time; each has its own rate, over its own window, and there is no sum."""
    all_at_work_s: tuple[float, float] | None
    """The part of the window in which all of them were at work; null: there was none."""
    rates: tuple[ClientRate, ...]
    """In the order of the clients."""
    jain: float | None
    """Fairness: (sum of rates)^2 / (n * sum of their squares), 1 where all are equal; null: no sum, or one of nothing."""
    spread: float | None
    """The highest rate by the lowest; null: no sum, or one did nothing."""
    straggler: Straggler | None


class ExpectedResult(Part, kw_only=True):
    """One result, compared with an expectation."""

    label: str
    """Without the number of the repeat; empty: no result has the number."""
    verdict: ExpectationVerdict
    reason: str
    value: float | None
    interval: tuple[float, float] | None
    """At 95 %: of the window, or from three repeats on of the repeats."""
    unit: str
    """Of the expectation."""


class Expectation(Part, kw_only=True):
    """What the user expected (`--expect`), and what came of it."""

    text: str
    verdict: ExpectationVerdict
    """`not_met` where one of its results does not meet it, `undecided` where one is undecided."""
    reason: str
    """Of the result that decides."""
    results: tuple[ExpectedResult, ...]


class Document(Part, kw_only=True):
    """What `--json` prints."""

    schema: str
    run: Run
    ceilings: ClientCeilings | None
    """Null: none are known."""
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
    marks: tuple[RunMark, ...] = ()
    """Marks of the user and of the analysis, with the levels before, during and after them."""
    solo_shares: tuple[SoloShare, ...] = ()
    """For each job that ran with others and, in another phase, alone."""
    clients: tuple[ClientOfRun, ...] = ()
    """Empty: one client, this machine. Then so are the two below."""
    starts: tuple[StartOfPhase, ...] = ()
    sums: tuple[SetOfClients, ...] = ()
    summaries: tuple[Summary, ...] = ()
    """A result each over its repeats; none where nothing was measured twice."""
    rounds: RoundsOutcome | None = None
    """Null: the phases were not repeated in rounds."""
    expectations: tuple[Expectation, ...] = ()
    """As the user gave them; none: nothing was expected."""


def moves_data(result: Result) -> bool:
    """Whether its operations move data, as far as known: their rate is IOPS, that of others ops/s."""
    return bool(result.throughput_bytes_per_s or result.bytes)


def to_json(document: Document) -> str:
    """Write a result document for people and programs."""
    return json_text(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
