"""Where did the workers' time go, and what did an operation cost the CPU?

Time budget (report 003's elapsed-versus-waiting, made general): for each worker over the window, on-CPU time and run
delay from its schedstat, block delay from delay accounting; the rest is other waits (network, locks, sleep, think).
Averaged over the workers of a job. A worker that runs programs waits for them: their CPU time counts as its own, as of
their end, at most for as long as it waited. Where the load's own schedule lets a worker rest, that is idle time and no wait.

CPU of an operation: where a phase has one job, all CPU time of the engine's process less its own observer, because
kernel threads that io_uring works with are counted there and nowhere else; where jobs share a phase, or workers are
processes of their own, the on-CPU time of the job's workers and of the programs that they ran. Divided by the
operations that the job's workers completed; a group is not counted on top of its members. Both are of a job as a whole: of
several operations in its loop, each has none of its own. Where the samples enclose much more than the window, as in a
phase shorter than an interval, nothing is known of either.

Limits: block delay comes in ticks of 10 ms; it can exceed what on-CPU time and run delay leave, and is cut to that. From
where on the kernel tells more of it than there was time, it is that of the time before, if that is half of the window.
"""

import dataclasses
from typing import Any

from assay.analysis import thresholds
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Rows
from assay.analysis.window import Window
from assay.plan import Job, WorkerKind
from assay.results import TimeBudget

_FREE_SHARE = 0.02
"""A worker that had a CPU, or waited for something else, for less of its time shows nothing of itself."""
_TICKS_S = 0.2
"""CPU time from which on ticks of 10 ms distinguish user from system time: to 5 %."""

_COUNTERS = (
    "ops",
    "on_cpu_ns",
    "run_delay_ns",
    "user_cpu_ns",
    "system_cpu_ns",
    "idle_ns",
    "io_calls",
    "children_cpu_ns",
)
_UNITS = 1 << 20
"""Shares are whole multiples of 2**-20, which binary floating point adds without rounding: they sum to 1 exactly."""

UNKNOWN = TimeBudget(on_cpu=None, run_delay=None, block_delay=None, idle=None, other_wait=None)


@dataclasses.dataclass(frozen=True)
class WorkerUse:
    """What one worker did in a window; times in nanoseconds, None where the kernel does not report them."""

    worker: int
    wall_ns: int
    ops: int
    on_cpu_ns: int | None
    """Its own, and that of the programs that it ran."""
    run_delay_ns: int | None
    block_delay: float | None
    """Share of its time."""
    idle_ns: int | None
    user_cpu_ns: int | None
    system_cpu_ns: int | None
    io_calls: int | None
    """System calls that read or wrote."""

    @property
    def busy_share(self) -> float | None:
        """Of the time in which it did not wait for a CPU, the share that it was on one."""
        if self.on_cpu_ns is None or self.run_delay_ns is None:
            return None
        free_ns = self.wall_ns - self.run_delay_ns
        return min(1.0, self.on_cpu_ns / free_ns) if free_ns >= _FREE_SHARE * self.wall_ns else None


def worker_use(record: PhaseRecord, job: str, window: Window) -> tuple[WorkerUse, ...]:
    """Return what each worker of a job did in the window.

    Samples are totals since the phase began, so a worker without a sample at the start of the phase began at nothing.
    """
    if not window.is_resolved:
        return ()
    begin_ns, end_ns = window.counted.begin_ns, window.counted.end_ns
    uses = []
    for number, samples in record.workers_of(job).items():
        until, before = samples.last(end_ns), samples.last(begin_ns)
        if until is None or (before is None and begin_ns > record.whole.begin_ns):
            continue
        base: dict[str, Any] = before or {"t_ns": record.whole.begin_ns}
        wall_ns = until["t_ns"] - base["t_ns"]
        if wall_ns > 0:
            grown = {name: _grown(until, base, name) for name in _COUNTERS}
            uses.append(_use(number, wall_ns, grown, _block_delay(samples, base, window)))
    return tuple(uses)


def _grown(until: dict[str, Any], base: dict[str, Any], name: str) -> int | None:
    value = until.get(name)
    return None if value is None else int(value - (base.get(name) or 0))


def _block_delay(samples: Rows, base: dict[str, Any], window: Window) -> float | None:
    """Share of a window in which a worker waited for block devices, from as much of it as the kernel reported."""
    known = samples.last_known("block_delay_ns", window.counted.end_ns)
    if known is None or known["t_ns"] - base["t_ns"] < thresholds.MOST_OF_IT * (window.counted.end_ns - base["t_ns"]):
        return None
    return float(known["block_delay_ns"] - (base.get("block_delay_ns") or 0)) / float(known["t_ns"] - base["t_ns"])


def _use(worker: int, wall_ns: int, grown: dict[str, int | None], block_delay: float | None) -> WorkerUse:
    own_ns = grown["on_cpu_ns"]
    return WorkerUse(
        worker=worker,
        wall_ns=wall_ns,
        ops=grown["ops"] or 0,
        on_cpu_ns=None if own_ns is None else own_ns + (grown["children_cpu_ns"] or 0),
        run_delay_ns=grown["run_delay_ns"],
        block_delay=block_delay,
        idle_ns=grown["idle_ns"],
        user_cpu_ns=grown["user_cpu_ns"],
        system_cpu_ns=grown["system_cpu_ns"],
        io_calls=grown["io_calls"],
    )


def time_budget(uses: tuple[WorkerUse, ...]) -> TimeBudget:
    """Return the mean time budget of a job's workers; shares sum to 1 exactly."""
    on_cpu = _mean_share([(use.on_cpu_ns, use.wall_ns) for use in uses])
    run_delay = _mean_share([(use.run_delay_ns, use.wall_ns) for use in uses])
    if on_cpu is None or run_delay is None:
        return UNKNOWN
    block_delays = [use.block_delay for use in uses if use.block_delay is not None]
    block_delay = sum(block_delays) / len(uses) if len(block_delays) == len(uses) else None
    idle = _mean_share([(use.idle_ns, use.wall_ns) for use in uses])
    left, units = _UNITS, []
    # Block delay last: it comes in ticks, the others do not.
    for share in (on_cpu, run_delay, idle, block_delay):
        units.append(min(round((share or 0.0) * _UNITS), left))
        left -= units[-1]
    on_cpu_units, run_units, idle_units, block_units = units
    return TimeBudget(
        on_cpu=on_cpu_units / _UNITS,
        run_delay=run_units / _UNITS,
        block_delay=None if block_delay is None else block_units / _UNITS,
        idle=None if idle is None else idle_units / _UNITS,
        other_wait=left / _UNITS,
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


def cpu_bound_share(uses: tuple[WorkerUse, ...]) -> float | None:
    """Return the part of the operations that came from workers that had nothing left of the CPU time that they got.

    None where nothing is known of any worker, or nothing was done. A worker of which nothing is known is not among them.
    """
    ops = sum(use.ops for use in uses)
    if not ops or all(use.busy_share is None for use in uses):
        return None
    return sum(use.ops for use in uses if (use.busy_share or 0.0) >= thresholds.BUSY_SHARE) / ops


def user_share(uses: tuple[WorkerUse, ...]) -> float | None:
    """Return the part of the workers' CPU time that was not the kernel's; None for too few of its ticks of 10 ms."""
    user_ns, system_ns = (sum(getattr(use, name) or 0 for use in uses) for name in ("user_cpu_ns", "system_cpu_ns"))
    known_ns = user_ns + system_ns
    return user_ns / known_ns if known_ns >= _TICKS_S * NS_PER_S else None


def greatest_run_delay(uses: tuple[WorkerUse, ...]) -> tuple[int, float] | None:
    """Return the worker that waited longest for a CPU, with the share of its time.

    The kernel counts a wait when it ends, so one that began before the window can make the sum exceed it: at most 1.
    """
    shares = [(use.worker, min(1.0, use.run_delay_ns / use.wall_ns)) for use in uses if use.run_delay_ns is not None]
    return max(shares, key=lambda pair: pair[1], default=None)


def throttled_share(record: PhaseRecord, window: Window) -> float:
    """Return the share of the window in which the kernel stopped this control group, or one above it, on a CPU."""
    counters, span = record.counters, window.counted
    if span.seconds <= 0:
        return 0.0
    stopped = [counters.delta(span, "cgroup", group, "throttled_ns") for group in counters.instances("cgroup")]
    return min(1.0, max((ns or 0.0 for ns in stopped), default=0.0) / (span.seconds * NS_PER_S))
