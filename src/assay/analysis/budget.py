"""Where did the workers' time go, and what did an operation cost the CPU?

Time budget (report 003's elapsed-versus-waiting, made general): for each worker over the window, on-CPU time and run
delay from its schedstat, block delay from delay accounting; the rest is other waits (network, locks, sleep, think).
Averaged over the workers of a job. A worker that runs programs waits for them: their CPU time counts as its own, as of
their end, at most for as long as it waited.

CPU of an operation: where a phase has one job, all CPU time of the engine's process less its own observer, because
kernel threads that io_uring works with are counted there and nowhere else; where jobs share a phase, or workers are
processes of their own, the on-CPU time of the job's workers and of the programs that they ran. Divided by the
operations that the job's workers completed, so operations of one job share the figure, and a group is not counted on
top of its members.

Limits: block delay comes in ticks of 10 ms; it can exceed what on-CPU time and run delay leave, and is cut to that.
"""

import dataclasses

from assay.analysis import thresholds
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.window import Window
from assay.plan import Job, WorkerKind
from assay.results import TimeBudget

_COUNTERS = ("ops", "bytes", "on_cpu_ns", "run_delay_ns", "block_delay_ns", "children_cpu_ns")
_UNITS = 1 << 20
"""Shares are whole multiples of 2**-20, which binary floating point adds without rounding: they sum to 1 exactly."""
_IDLE = frozenset({"idle", "iowait", "steal"})
"""Time in which a CPU of this machine did nothing."""

UNKNOWN = TimeBudget(on_cpu=None, run_delay=None, block_delay=None, other_wait=None)


@dataclasses.dataclass(frozen=True)
class WorkerUse:
    """What one worker did in a window; times in nanoseconds, None where the kernel does not say."""

    worker: int
    wall_ns: int
    ops: int
    on_cpu_ns: int | None
    """Its own, and that of the programs that it ran."""
    run_delay_ns: int | None
    block_delay_ns: int | None


def worker_use(record: PhaseRecord, job: str, window: Window) -> tuple[WorkerUse, ...]:
    """Return what each worker of a job did in the window.

    Samples are totals since the phase began, so a worker without a sample at the start of the phase began at nothing.
    """
    until, before = (record.workers_at(job, at_ns) for at_ns in (window.counted.end_ns, window.counted.begin_ns))
    from_start = window.counted.begin_ns <= record.whole.begin_ns
    uses = []
    for number, row in until.items():
        base = before.get(number)
        if base is None and not from_start:
            continue
        grown = {name: None if row[name] is None else row[name] - ((base or {}).get(name) or 0) for name in _COUNTERS}
        wall_ns = row["t_ns"] - (base["t_ns"] if base else record.whole.begin_ns)
        if wall_ns > 0:
            uses.append(_use(number, wall_ns, grown))
    return tuple(uses)


def _use(worker: int, wall_ns: int, grown: dict[str, int | None]) -> WorkerUse:
    own_ns = grown["on_cpu_ns"]
    return WorkerUse(
        worker=worker,
        wall_ns=wall_ns,
        ops=grown["ops"] or 0,
        on_cpu_ns=None if own_ns is None else own_ns + (grown["children_cpu_ns"] or 0),
        run_delay_ns=grown["run_delay_ns"],
        block_delay_ns=grown["block_delay_ns"],
    )


def time_budget(uses: tuple[WorkerUse, ...]) -> TimeBudget:
    """Return the mean time budget of a job's workers; shares sum to 1 exactly."""
    on_cpu = _mean_share([(use.on_cpu_ns, use.wall_ns) for use in uses])
    run_delay = _mean_share([(use.run_delay_ns, use.wall_ns) for use in uses])
    if on_cpu is None or run_delay is None:
        return UNKNOWN
    block_delay = _mean_share([(use.block_delay_ns, use.wall_ns) for use in uses])
    on_cpu_units = min(round(on_cpu * _UNITS), _UNITS)
    run_units = min(round(run_delay * _UNITS), _UNITS - on_cpu_units)
    block_units = min(round((block_delay or 0.0) * _UNITS), _UNITS - on_cpu_units - run_units)
    return TimeBudget(
        on_cpu=on_cpu_units / _UNITS,
        run_delay=run_units / _UNITS,
        block_delay=None if block_delay is None else block_units / _UNITS,
        other_wait=(_UNITS - on_cpu_units - run_units - block_units) / _UNITS,
    )


def _mean_share(parts: list[tuple[int | None, int]]) -> float | None:
    """Return the mean of part / whole; None if any part is not known."""
    shares = [part / whole for part, whole in parts if part is not None]
    if not shares or len(shares) < len(parts):
        return None
    return sum(shares) / len(shares)


def cpu_ns_per_op(record: PhaseRecord, job: Job, window: Window, uses: tuple[WorkerUse, ...]) -> float | None:
    """Return the CPU time of one operation of a job in nanoseconds; None without operations or without counters."""
    ops = sum(use.ops for use in uses)
    if ops <= 0:
        return None
    if len(record.phase.jobs) == 1 and job.kind is WorkerKind.THREAD:
        process_ns = record.process_delta(window.counted, "process_cpu_ns")
        observer_ns = record.process_delta(window.counted, "observer_cpu_ns")
        if process_ns is not None and observer_ns is not None:
            return max(0.0, process_ns - observer_ns) / ops
    on_cpu = [use.on_cpu_ns for use in uses]
    return None if None in on_cpu else sum(ns for ns in on_cpu if ns is not None) / ops


def greatest_run_delay(uses: tuple[WorkerUse, ...]) -> tuple[int, float] | None:
    """Return the worker that waited longest for a CPU, with the share of its time.

    The kernel counts a wait when it ends, so one that began before the window can make the sum exceed it: at most 1.
    """
    shares = [(use.worker, min(1.0, use.run_delay_ns / use.wall_ns)) for use in uses if use.run_delay_ns is not None]
    return max(shares, key=lambda pair: pair[1], default=None)


def cpus_in_use(record: PhaseRecord, window: Window) -> float | None:
    """Return how many CPUs the engine kept busy in the window, on average."""
    process_ns = record.process_delta(window.counted, "process_cpu_ns")
    if process_ns is None or window.counted.seconds <= 0:
        return None
    return process_ns / (window.counted.seconds * NS_PER_S)


def steal_share(record: PhaseRecord, window: Window) -> float | None:
    """Return the share of all CPU time that the hypervisor gave to others (/proc/stat, field 8)."""
    grown = _host_cpu_ns(record, window)
    total = sum(grown.values())
    return grown["steal"] / total if "steal" in grown and total > 0 else None


def cpus_in_use_by_others(record: PhaseRecord, window: Window) -> float | None:
    """Return how many CPUs all else on the machine kept busy, on average: programs, kernel threads and interrupts.

    Those of the load's own I/O are among them.
    """
    own, grown = cpus_in_use(record, window), _host_cpu_ns(record, window)
    if own is None or not grown:
        return None
    busy_ns = sum(ns for name, ns in grown.items() if name not in _IDLE)
    # The host counts in ticks, the load by the clock: a little less than nothing is nothing.
    return max(0.0, busy_ns / (window.counted.seconds * NS_PER_S) - own)


def _host_cpu_ns(record: PhaseRecord, window: Window) -> dict[str, float]:
    """Return the CPU time of the machine in the window, by what it went into; nothing where its ticks are too coarse."""
    if window.counted.seconds < thresholds.HOST_CPU_WINDOW_S:
        return {}
    counters, span = record.counters, window.counted
    return {name.removesuffix("_ns"): counters.delta(span, "cpu", "", name) or 0.0 for name in counters.names("cpu")}
