"""The figures of one window that the rules are asked about, from what was recorded."""

import bisect
from collections.abc import Mapping, Sequence

from assay.analysis import budget, thresholds
from assay.analysis.ceilings import cached_read_bytes_per_s, ceilings_of
from assay.analysis.cpus import CpuUse, cpu_use, steal_share
from assay.analysis.io_limits import most_used
from assay.analysis.limiter.signals import CurvePoint, DeviceSignals, Signals
from assay.analysis.record import PhaseRecord
from assay.analysis.recorded_operations import work_of
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.schedule import schedule_of, scheduled_rate
from assay.analysis.subject import Subject
from assay.analysis.window import Window
from assay.host.facts import DEVICE_FACT, LINK_FACT
from assay.plan import IoUring, Open, OpenShare, Spacing
from assay.plan.walk import job_ops
from assay.results import LatencyNs
from assay.units import format_bytes, format_number
from assay.verdicts import ScheduleVerdict

_THREADS = "psync"
"""What runs where io_uring was refused and the Plan allows threads instead."""


def gather(
    subject: Subject, window: Window, uses: Sequence[budget.WorkerUse], latency_ns: LatencyNs, *, is_absorbed: bool
) -> Signals | None:
    """Collect what is known of an operation that is all that its job does; None where no sample is of the window."""
    record, job, span = subject.record, subject.job, window.counted
    if not window.is_resolved or window.span.seconds <= 0:
        return None
    workers = tuple(uses)
    shares = budget.time_budget(workers)
    latency_s = None if latency_ns.mean is None else latency_ns.mean / NS_PER_S
    outstanding = float(job.workers * job.queue_depth)
    offered_per_s, issued_share, late_share = _schedule(subject)
    scheduled = schedule_of(subject)
    own_limit_share, own_limit = _own_limit(subject, window)
    fewer, more = _beside(subject, outstanding)
    cpus = cpu_use(subject.run, record, window, job)
    is_polling = _is_polling(subject)
    dirty_share, background_share = _dirty(record, span)
    return Signals(
        outstanding=outstanding,
        ops_per_s=subject.rows.total("ops", span) / window.span.seconds,
        latency_s=latency_s,
        fewer=fewer,
        more=more,
        is_absorbed=is_absorbed,
        offered_per_s=offered_per_s,
        issued_share=issued_share,
        falls_behind=scheduled is not None and scheduled.verdict is ScheduleVerdict.FELL_BEHIND,
        late_share=late_share,
        own_limit_share=own_limit_share,
        own_limit=own_limit,
        idle=shares.idle,
        workers=job.workers,
        is_polling=is_polling,
        on_cpu=None if is_polling else shares.on_cpu,
        run_delay=shares.run_delay,
        block_delay=shares.block_delay,
        cpu_bound_share=None if is_polling else budget.cpu_bound_share(workers),
        user_share=budget.user_share(workers),
        cpus=cpus.allowed,
        is_confined=cpus.is_confined,
        own_cpus=_own_cpus(subject, workers, cpus),
        cpu_users=str(cpus),
        is_crowded=cpus.is_crowded,
        held_up_by=cpus.held_up(workers),
        steal=steal_share(record, window),
        cpu_limit=_number(subject.run.facts.get("host.cgroup.cpu_limit_cpus")),
        throttled=budget.throttled_share(record, window),
        cached_read_share=_cached_read_share(subject, window),
        device=_device(subject, span),
        others_ops_per_s=_others_ops_per_s(subject, window),
        device_ceiling_bytes_per_s=_number(subject.run.facts.get(DEVICE_FACT)),
        link_bytes_per_s=_number(subject.run.facts.get(LINK_FACT)),
        wire_bytes_per_s=_wire(record, span),
        dirty_share=dirty_share,
        background_share=background_share,
    )


def _is_polling(subject: Subject) -> bool:
    """Return whether workers may busy-wait for completions: the ring's polling, and direct I/O with RWF_HIPRI.

    The kernel ignores RWF_HIPRI where it cannot poll, which is not recorded.
    """
    backend, facts = subject.job.backend, subject.facts
    if isinstance(backend, IoUring) and backend.iopoll:
        return facts is None or facts.backend != _THREADS
    return subject.is_direct and any(op.flags.high_priority for op in job_ops(subject.job))


def _own_cpus(subject: Subject, workers: Sequence[budget.WorkerUse], cpus: CpuUse) -> float | None:
    """Give the CPUs that the load kept busy with work: a thread of the kernel that polls for submissions spins."""
    backend = subject.job.backend
    if not isinstance(backend, IoUring) or not backend.sqpoll:
        return cpus.own_of_allowed
    shares = [None if use.on_cpu_ns is None else use.on_cpu_ns / use.wall_ns for use in workers]
    return None if None in shares else sum(share for share in shares if share is not None)


def _cached_read_share(subject: Subject, window: Window) -> float | None:
    """Hold each worker's rate against the page cache of this machine; None for what does not read."""
    known = ceilings_of(subject.run)
    ops, moved = (subject.rows.total(name, window.counted) for name in ("ops", "bytes"))
    if known is None or subject.operation.direction != "read" or not ops:
        return None
    most = cached_read_bytes_per_s(known, moved / ops)
    return moved / window.span.seconds / subject.job.workers / most if most else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _others_ops_per_s(subject: Subject, window: Window) -> float | None:
    """What other clients of the run on this machine asked of its devices; None where that is not known."""
    if subject.run.machine is None:
        return 0.0
    total = subject.ops_on_devices(window.counted)
    own = subject.rows.total("ops", window.counted)
    return None if total is None else max(0.0, total - own) / window.span.seconds


def _schedule(subject: Subject) -> tuple[float | None, float | None, float]:
    """Arrivals a second of an open loop, which part was issued where they came at random, and which part was late."""
    job, facts = subject.job, subject.facts
    arrivals = facts.arrivals if facts else None
    rate_per_s = scheduled_rate(job.arrival, arrivals)
    if rate_per_s is None or arrivals is None or not arrivals.scheduled:
        return rate_per_s, None, 0.0
    issued = (arrivals.scheduled - arrivals.unissued) / arrivals.scheduled
    is_random = isinstance(job.arrival, Open | OpenShare) and job.arrival.spacing is not Spacing.UNIFORM
    return rate_per_s, issued if is_random else None, (arrivals.missed + arrivals.unissued) / arrivals.scheduled


def _own_limit(subject: Subject, window: Window) -> tuple[float | None, str]:
    """Which of its own limits a closed loop comes closest to, and how close."""
    limit, rows, seconds = subject.job.limit, subject.rows, window.span.seconds
    used: list[tuple[float, str]] = []
    if limit.ops_per_s:
        words = f"{format_number(limit.ops_per_s)} operations"
        used.append((rows.total("ops", window.counted) / seconds / limit.ops_per_s, words))
    if limit.bytes_per_s:
        words = format_bytes(limit.bytes_per_s)
        used.append((rows.total("bytes", window.counted) / seconds / limit.bytes_per_s, words))
    return max(used, default=(None, ""))


def _beside(subject: Subject, outstanding: float) -> tuple[CurvePoint | None, CurvePoint | None]:
    """Give the next points of the curve with at most half of what is in flight, and with at least twice as much."""
    curve = subject.run.once(("curve", work_of(subject.job), subject.operation.name), lambda: _curve(subject))
    fewer = bisect.bisect_right(curve, outstanding / 2, key=_in_flight)
    more = bisect.bisect_left(curve, outstanding * 2, key=_in_flight)
    return curve[fewer - 1] if fewer else None, curve[more] if more < len(curve) else None


def _curve(subject: Subject) -> list[CurvePoint]:
    """The same operation in all phases of this run that do nothing else, one point for each number in flight, in order."""
    points: dict[float, CurvePoint] = {}
    for record in subject.run.by_work.get(work_of(subject.job), ()):
        if record.finished is None:
            continue
        (job,) = record.phase.jobs
        rows = record.rows(job.name, subject.operation.name)
        ops, seconds, outstanding = rows.total("ops"), record.whole.seconds, float(job.workers * job.queue_depth)
        if ops >= thresholds.FEW_OPS and seconds > 0:
            latency_s = rows.total("latency_sum_ns") / ops / NS_PER_S
            points.setdefault(outstanding, CurvePoint(outstanding, ops / seconds, latency_s))
    return sorted(points.values(), key=_in_flight)


def _in_flight(at: CurvePoint) -> float:
    return at.outstanding


def _wire(record: PhaseRecord, span: Span) -> float | None:
    """Bytes a second over the busiest interface, in its busier direction."""
    rates = [
        record.counters.delta(span, "net", interface, name) or 0.0
        for interface in record.counters.instances("net")
        for name in ("rx_bytes", "tx_bytes")
    ]
    return max(rates) / span.seconds if rates else None


def _dirty(record: PhaseRecord, span: Span) -> tuple[float | None, float | None]:
    """Give dirty memory (with what is being written), and where write-back begins, by where writers are made to wait."""
    dirty, written, most, background = (
        record.counters.mean(span, "vmstat", "", name)
        for name in ("nr_dirty", "nr_writeback", "nr_dirty_threshold", "nr_dirty_background_threshold")
    )
    # They wait from the middle between the two thresholds on (mm/page-writeback.c, dirty_freerun_ceiling).
    waits_from = ((most or 0.0) + (background if background is not None else most or 0.0)) / 2
    if dirty is None or not waits_from:
        return None, None
    return (dirty + (written or 0.0)) / waits_from, None if background is None else background / waits_from


# -- the devices -------------------------------------------------------------------------------------------------------


def _device(subject: Subject, span: Span) -> DeviceSignals | None:
    """What the devices of an operation did; None where they are not known."""
    record, names = subject.record, subject.devices
    if names is None or span.seconds <= 0:
        return None
    grown = [_grown(record, span, name) for name in names]
    devices = [device for device in grown if device]
    if len(devices) < len(names):
        return None
    total = {name: sum(device[name] for device in devices) for name in devices[0]}
    direction = subject.operation.direction
    counted = {"read": ("reads",), "write": ("writes",)}.get(direction or "", ("reads", "writes"))
    requests = sum(total[name] for name in counted)
    times_ns = sum(total[name.removesuffix("s") + "_ns"] for name in counted)
    moved = sum(total[name.removesuffix("s") + "_bytes"] for name in counted)
    # Those of a job that asks for none are others', and in no operation of it.
    flushes = total["flushes"] if subject.waits_for_flushes else 0.0
    used = most_used(subject, span)
    return DeviceSignals(
        names=names,
        utilisation=max(min(1.0, device["io_ns"] / (span.seconds * NS_PER_S)) for device in devices),
        in_flight=total["weighted_io_ns"] / (span.seconds * NS_PER_S),
        await_s=times_ns / requests / NS_PER_S if requests else None,
        flush_s=total["flush_ns"] / flushes / NS_PER_S if flushes else None,
        requests_per_s=requests / span.seconds,
        bytes_per_s=moved / span.seconds,
        flushes_per_s=flushes / span.seconds,
        limit_share=used.share if used else None,
        limit=str(used.limit) if used else "",
        is_limit_of_group=used is not None and used.is_of_group,
    )


_ALWAYS = ("reads", "read_bytes", "read_ns", "writes", "write_bytes", "write_ns", "io_ns", "weighted_io_ns")
_LATER = ("flushes", "flush_ns")
"""Counted since Linux 5.5."""


def _grown(record: PhaseRecord, span: Span, device: str) -> Mapping[str, float] | None:
    grown = {name: record.counters.delta(span, "diskstats", device, name) for name in (*_ALWAYS, *_LATER)}
    if any(grown[name] is None for name in _ALWAYS):
        return None
    return {name: value or 0.0 for name, value in grown.items()}
