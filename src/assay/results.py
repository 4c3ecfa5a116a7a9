"""The result document: what a run measured, for people's programs.

`assay show RUN --json` and every `--json` print one `Document`. It is a contract: fields are added, never renamed. Numbers
are numbers; what is absent is null, and a finding says why. Rates are per second of the window that the result names.
"""

import msgspec

from assay.outward import json_text

SCHEMA = "assay.results/1"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in the document."""


class Finding(Part, kw_only=True):
    """Something that the reader must know about a number, with what to do about it."""

    id: str
    severity: str
    """`note` (explains), `warning` (moves the number), `invalid` (the number must not be used)."""
    text: str
    cure: str


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
    the CPU time of programs that the workers ran.
    """

    on_cpu: float | None
    run_delay: float | None
    block_delay: float | None
    other_wait: float | None


class Cache(Part, kw_only=True):
    """What the client's page cache had to do with it."""

    condition: str
    """`cold`, `warm`, `as_is` as asked for; `direct` when the page cache was passed by."""
    hit_ratio: float | None
    """Share of the bytes read that storage did not deliver; null for operations that read no data."""
    resident_before: float | None
    resident_after: float | None
    verdict: str
    """`storage` (hit ratio <= 0.05), `mixed`, `cache` (>= 0.95), `absorbed`/`flushed` for writes, `unknown`."""
    method: str | None
    """How the hit ratio was found: `byte_balance`, `residency`."""


class Steady(Part, kw_only=True):
    """Steady state: METHOD 1.3."""

    verdict: str
    window_s: tuple[float, float] | None


class Limiter(Part, kw_only=True):
    """What limited the number: METHOD 4.2."""

    verdict: str
    confidence: str
    evidence: tuple[str, ...]


class Result(Part, kw_only=True):
    """One operation of one job in one phase."""

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
    workers: int
    queue_depth: int
    ops: int
    bytes: int
    errors: int
    seconds: float
    window_s: tuple[float, float]
    """Start and end of the window that the numbers are from, in seconds since the phase began."""
    iops: float | None
    throughput_bytes_per_s: float | None
    latency_ns: LatencyNs
    response_ns: LatencyNs | None
    cpu_ns_per_op: float | None
    time_budget: TimeBudget
    cache: Cache
    device_bytes: int | None
    """Bytes that the target's block device moved in the window in the direction of the operation, by /proc/diskstats."""
    steady: Steady | None
    limiter: Limiter | None
    findings: tuple[Finding, ...]
    trusted: bool


class Run(Part, kw_only=True):
    """The run as a whole."""

    id: str
    bundle: str
    sealed: bool
    command: str
    started_utc: str
    seconds: float
    exit_code: int
    repeats: int


class Document(Part, kw_only=True):
    """What `--json` prints."""

    schema: str
    run: Run
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]


def to_json(document: Document) -> str:
    """Write a result document for people and programs."""
    return json_text(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
