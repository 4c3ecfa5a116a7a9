"""What each job of a run did, as fio counts it: I/Os, bytes, the time of the job, and the distribution of its latencies.

The time of a job is from the common start (with ramp_time, from its end) to the end of its last I/O, in all of its
workers; where its time ended it, to the end of that; with end_fsync to the end of that flush. Its rates are by that time.
Of several clients, counts and time are of the part in which all were at work, where that is clearly less than all of it;
where it is too little there is not a rate (`window_of_all`).
A latency is from when an I/O is handed over to when it is done: fio's `lat`. fio splits it into the call (`slat`) and what
follows (`clat`), which Assay does not.
Percentiles are the value of rank `ceil(p n)` of all I/Os, to half a bucket of Assay's histogram, 0.05 %.
"""

import errno
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay import events
from assay.analysis import histogram
from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.client_records import load_clients
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import Rows, Span
from assay.tools.fio.instances import JobInstance, groups, instances
from assay.tools.fio.job_settings import METADATA, JobSettings, Settings
from assay.tools.fio.loop import READ, TRIM, WRITE, extent_name
from assay.tools.measured import Totals, cpu_ns
from assay.tools.over_clients import window_of_all

_NS_PER_MS = 1e6
_PERCENT = 100
_SLACK_NS = 20_000_000
"""By which the last I/O of a time may end before it is over."""
_SAMPLE_NS = 500_000_000
"""fio's own bwavgtime and iopsavgtime."""


@dataclass(frozen=True)
class Latency:
    """Of some I/Os, in nanoseconds."""

    least: float
    most: float
    mean: float
    deviation: float
    percentiles: tuple[tuple[float, float], ...]
    """Per cent, and the value."""
    count: int


@dataclass(frozen=True)
class Direction:
    """Reads, writes or trims of a job or a group."""

    name: str
    """`read`, `write` or `trim`."""
    ops: int
    bytes: int
    runtime_ns: int
    latency: Latency | None
    """None where there was no I/O."""
    value_ns: IntArray
    counts: IntArray
    samples: tuple[FloatArray, FloatArray]
    """IOPS and bytes a second of each whole half second, which is what fio samples; none where there is no sum."""
    is_sum: bool = True
    """Whether rates can be given; not where several clients were hardly at work together."""

    @property
    def iops(self) -> float | None:
        """I/Os a second."""
        return self._per_s(self.ops)

    @property
    def bytes_per_s(self) -> float | None:
        """Bytes a second."""
        return self._per_s(self.bytes)

    def _per_s(self, amount: int) -> float | None:
        if not self.is_sum:
            return None
        return amount * 1e9 / self.runtime_ns if self.runtime_ns else 0.0

    @property
    def runtime_ms(self) -> int:
        """Time in whole milliseconds, as fio shows it."""
        return round(self.runtime_ns / _NS_PER_MS)


@dataclass(frozen=True)
class Reported:
    """What fio prints as one: a job, or with group_reporting a group."""

    settings: JobSettings
    """Of the first."""
    group: int
    workers: int
    directions: tuple[Direction, ...]
    error: int
    """errno of what failed most often, or ended the run before the job was done; 0: nothing."""
    user_percent: float
    system_percent: float
    queue_depth: float
    """Mean I/Os in flight of a worker when one was issued; 0: there was none, or the job did not end."""
    reap_batch: float
    """Mean I/Os that came back from one wait."""
    clients: int
    """Whose workers these are."""

    def of(self, name: str) -> Direction | None:
        """Give a direction, None where it has none."""
        return next((one for one in self.directions if one.name == name), None)


def sum_up(run: RunRecord, settings: Settings) -> list[Reported]:
    """Sum a run up, whole or cut."""
    parts: list[tuple[int, list[JobInstance]]] = []
    for group, members in _groups(settings):
        together = [member for member in members if member.settings.group_reporting]
        if together:
            parts.append((group, together))
        parts += [(group, [member]) for member in members if not member.settings.group_reporting]
    return [_sum(run, group, members) for group, members in parts if members[0].settings.is_shown]


def _groups(settings: Settings) -> Iterator[tuple[int, list[JobInstance]]]:
    """Give the jobs by group."""
    by_group: dict[int, list[JobInstance]] = {}
    group_of = {id(job): group for job, group in zip(settings.jobs, groups(settings.jobs), strict=True)}
    for member in instances(settings.jobs):
        by_group.setdefault(group_of[id(member.settings)], []).append(member)
    yield from by_group.items()


@dataclass(frozen=True)
class _Part:
    """A job that began."""

    member: JobInstance
    phase: PhaseRecord
    window: Span
    """What rates are divided by."""
    counted: Span | None
    """Intervals that are counted; None: all, of which the first and the last reach beyond the window."""
    is_sum: bool


def _part(run: RunRecord, member: JobInstance) -> _Part | None:
    phase = next((one for one in run.phases if any(job.name == member.name for job in one.phase.jobs)), None)
    if phase is None:
        return None
    window, of_all = _window(phase, member), window_of_all(run, phase, member.name)
    if of_all is not None and of_all.has_sum and of_all.counted != phase.whole:
        return _Part(member, phase, of_all.span, of_all.counted, is_sum=True)
    counted = Span(window.begin_ns, phase.whole.end_ns) if member.settings.size.ramp_s else None
    return _Part(member, phase, window, counted, is_sum=of_all is None or of_all.has_sum)


def _sum(run: RunRecord, group: int, members: Sequence[JobInstance]) -> Reported:
    found = [part for member in members if (part := _part(run, member)) is not None]
    job = members[0].settings
    runtime_ns = max((round(part.window.seconds * 1e9) for part in found), default=0)
    directions = tuple(
        made
        for name in (READ, WRITE, TRIM)
        if (made := _direction(name, found, runtime_ns, job.percentiles)) is not None
    )
    # Of several clients, each has the workers of the job.
    counts = [len(part.phase.workers_at(part.member.name)) or part.member.workers for part in found]
    whole = sum(count * round(part.window.seconds * 1e9) for count, part in zip(counts, found, strict=True))
    user, system = (
        _PERCENT * sum(cpu_ns(part.phase, name, part.member.name, part.counted) for part in found) / whole
        if whole
        else 0.0
        for name in ("user_cpu_ns", "system_cpu_ns")
    )
    clients = len(load_clients(run)) or 1
    workers = clients * sum(member.workers for member in members)
    depths = _in_flight(found)
    return Reported(job, group, workers, directions, _error(run, members, found), user, system, *depths, clients)


def _in_flight(parts: Sequence[_Part]) -> tuple[float, float]:
    """Give the means of queue depth and of a reap, by I/Os; what moves no data waits for each operation: 1."""
    issued, depths, reaps = 0, 0.0, 0.0
    for part in parts:
        if (finished := part.phase.finished) is None:
            continue
        for facts in finished.jobs:
            if facts.job == part.member.name:
                count = sum(window.started for window in finished.workers if window.job == facts.job)
                issued += count
                depths += count * (facts.mean_queue_depth or 1.0)
                reaps += count * (facts.mean_reap_batch or 1.0)
    return (depths / issued, reaps / issued) if issued else (0.0, 0.0)


def _error(run: RunRecord, members: Sequence[JobInstance], found: Sequence[_Part]) -> int:
    """Give the errno that fio would call a job's error."""
    counts = [
        (error.count, error.errno)
        for part in found
        for error in (part.phase.found.errors if part.phase.found else ())
        if error.job == part.member.name
    ]
    if counts:
        return max(counts)[1]
    ended = run.first(events.Error)
    is_whole = len(found) == len(members) and all(part.phase.finished for part in found)
    if ended is not None and not is_whole:
        return ended.errno or errno.EIO
    is_any = any(
        rows.total("errors")
        for part in found
        for (of, _), rows in part.phase.operation_rows.items()
        if of == part.member.name
    )
    return errno.EIO if is_any else 0


def _window(phase: PhaseRecord, member: JobInstance) -> Span:
    job = member.settings
    begin = phase.start_ns + next(round(one.delay_s * 1e9) for one in phase.phase.jobs if one.name == member.name)
    mine = [window for window in phase.finished.workers if window.job == member.name] if phase.finished else []
    ends = [window.last_op_ns for window in mine if window.last_op_ns is not None]
    end = max(ends, default=phase.whole.end_ns)
    if any(window.stopped_by is events.StoppedBy.TIME for window in mine):
        # It was there until its time was over, whether or not an I/O was due.
        end = max(end, begin + round((job.size.ramp_s + job.size.seconds) * 1e9))
    if job.size.ramp_s:
        # The counts are of whole intervals.
        ramp_end = begin + round(job.size.ramp_s * 1e9)
        begin = next((span.end_ns for span in phase.grid if span.end_ns >= ramp_end), ramp_end)
    if job.end_fsync:
        end += sum(round(step.seconds * 1e9) for step in phase.steps if step.step == "sync")
    return Span(min(begin, end), end)


def operations_of(job: JobSettings, direction: str) -> dict[str, int | None]:
    """Name the operations that fio counts as reads, writes or trims; empty: it has none.

    Returns:
        The bytes that each counts for; None: those that it moves.
    """
    if job.is_metadata:
        is_write = job.options.get("rw", "read").startswith(("write", "randwrite"))
        return {METADATA[job.engine]: job.most_bytes} if {True: WRITE, False: READ}[is_write] == direction else {}
    is_written = direction == (TRIM if job.trims else WRITE) and job.writes
    if not job.moves_data:
        return {extent_name(job, size): size for _, size, _ in job.sizes[1]} if is_written else {}
    reads = direction == READ and (job.reads or job.backlog > 0)
    return {direction: None} if reads or is_written else {}


def _direction(name: str, parts: Sequence[_Part], runtime_ns: int, percentiles: Sequence[float]) -> Direction | None:
    ops = moved = latency_ns = largest = 0
    buckets: list[tuple[IntArray, IntArray]] = []
    done_in, moved_in = np.zeros(0), np.zeros(0)
    is_there = False
    is_sum = all(part.is_sum for part in parts)
    for part in parts:
        member, phase = part.member, part.phase
        for operation, bytes_each in operations_of(member.settings, name).items():
            is_there = True
            of = Totals(phase, ((member.name, operation),), part.counted)
            ops += of.ops
            moved += of.bytes if bytes_each is None else of.ops * bytes_each
            latency_ns += of.latency_sum_ns
            largest = max(largest, of.latency_max_ns)
            buckets.append(of.buckets)
            rows = phase.rows(member.name, operation)
            sampled = _sample(rows, "ops", part.window)
            done_in = _add(done_in, sampled)
            moved_in = _add(
                moved_in, _sample(rows, "bytes", part.window) if bytes_each is None else sampled * bytes_each
            )
    if not is_there:
        return None
    bucket, count = (np.concatenate([each[i] for each in buckets]) for i in (0, 1))
    values = histogram.bucket_middle_ns(bucket)
    latency = _latency(bucket, count, latency_ns, largest, percentiles) if count.sum() else None
    samples = (done_in, moved_in) if is_sum else (np.zeros(0), np.zeros(0))
    return Direction(name, ops, moved, runtime_ns, latency, values.astype(np.int64), count, samples, is_sum)


def _sample(rows: Rows, column: str, window: Span) -> FloatArray:
    """Give a rate of each whole half second of a window, from the intervals whose middle is in it."""
    whole = int((window.end_ns - window.begin_ns + _SLACK_NS) // _SAMPLE_NS)
    place = (rows.t_ns - rows.column("dt_ns") // 2 - window.begin_ns) // _SAMPLE_NS
    inside = (place >= 0) & (place < whole)
    done = np.bincount(place[inside], rows.column(column)[inside], minlength=whole).astype(np.float64)
    return done * (1e9 / _SAMPLE_NS)


def _add(one: FloatArray, other: FloatArray) -> FloatArray:
    """Add up what several jobs did in the same half seconds."""
    if len(one) < len(other):
        one, other = other, one
    total = one.astype(np.float64)
    total[: len(other)] += other
    return total


def _latency(bucket: IntArray, count: IntArray, sum_ns: int, largest: int, percentiles: Sequence[float]) -> Latency:
    order = np.argsort(bucket, kind="stable")
    values, counts = histogram.bucket_middle_ns(bucket[order]), count[order]
    ranks = np.cumsum(counts)
    total = int(ranks[-1])
    mean = sum_ns / total
    variance = float((counts * (values - mean) ** 2).sum()) / total
    at = [
        (
            part,
            min(float(values[np.searchsorted(ranks, max(1, math.ceil(round(part * total / _PERCENT, 9))))]), largest),
        )
        for part in percentiles
    ]
    return Latency(
        least=float(histogram.bucket_lowest_ns(bucket[order][:1])[0]),
        most=float(largest),
        mean=mean,
        deviation=math.sqrt(variance),
        percentiles=tuple(at),
        count=total,
    )
