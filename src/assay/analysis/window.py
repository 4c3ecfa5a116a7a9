"""Which part of a phase do its numbers come from?

A sum over workers holds only while all of them work. `first` and `last` are when each worker's work began and ended: at its
first issue and its last completion, except that

- a worker that was stopped by time was at work until then, also where its next operation was not due yet;
- a worker whose arrivals are scheduled (open loop) was at work from the start of its job on;
- a worker with operations that never completed was at work until they were given up: a device that hangs must not look fast.

Else a load at a rate would be one of `n` operations in `n - 1` of its distances: 1.33 a second in 4 s at 1 a second.

    skew = max(first) - min(first)      tail = max(last) - min(last)
    overlap = (min(last) - max(first)) / (max(last) - min(first))

- overlap >= 0.95: the whole span from the first begin to the last end, with all operations;
- below: only the intervals that lie wholly inside [max(first), min(last)], with a warning;
- below 0.80: a sum means nothing.

A sum over clients is trimmed to the intervals inside that time wherever more than 0.1 % of the span is outside: clients that
start or end 70 ms apart in 3.5 s would make it 2 % too small. Intervals at its ends in which a client was paused are not in
it: the client counts with its next tick what it did before.

`Phase.ramp_s` is left out by intervals: one that begins inside the ramp is not counted. The workers are all workers of
the phase, since its jobs are one mix. The span ends where the last worker's work ends, and not at a tick.

A sum over clients that ends where one was lost ends with an interval, and counts what was before; the client that was lost
was at work from its start on.

Limits: this is the structural window. Whether the level inside it is steady is another judgement.
"""

import dataclasses
from collections.abc import Sequence

from assay import events
from assay.analysis import thresholds
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.work_times import workers_at_work
from assay.plan import Job, Open, OpenShare

_SUM_OUTSIDE = 0.0005
"""A sum over clients may reach so far beyond their common time at each end, as a share of the span: what its digits show."""
_GRID_TOLERANCE = 0.01
"""A tick may miss its place on the grid by this share of the sample interval."""


@dataclasses.dataclass(frozen=True)
class AtWork:
    """When the workers of a phase were at work."""

    skew_s: float
    tail_s: float
    overlap: float
    """Share of `span` in which all of them were."""
    span: Span
    """From the first begin to the last completion."""
    common: Span
    """From the last worker's begin to the first one's end."""
    silent_s: float
    """Longest time in which a worker waited at its end for operations that never came back; it was at work until then."""
    end_ns: int
    """When the phase ended: later than `span` where operations were outstanding."""


@dataclasses.dataclass(frozen=True)
class Window:
    """Part of a phase that its numbers come from."""

    span: Span
    """What rates are divided by."""
    counted: Span
    """From the start of the first interval counted to the end of the last: which rows and samples belong to it."""
    at_work: AtWork | None = None
    """None: no worker did anything; or the phase was cut, and is no sum over clients that others came to the end of."""
    is_trimmed: bool = False
    """Whether only the intervals in which all workers were at work are counted."""
    lacks_interval: bool = False
    """Whether no whole interval lay in the part that is wanted, so that all of the phase is used instead."""

    @property
    def common(self) -> Span:
        """The part of it in which all workers were at work."""
        return self.at_work.common if self.at_work else self.span

    @property
    def has_sum(self) -> bool:
        """Whether a sum over the workers means something: they shared most of the time, and intervals of it are known."""
        shared = self.at_work is None or self.at_work.overlap >= thresholds.OVERLAP_SUM
        return shared and not self.lacks_interval

    @property
    def is_resolved(self) -> bool:
        """Whether what was sampled is of the window: a counter's samples must not enclose much else."""
        return self.counted.share_of(self.span) >= thresholds.NEARLY_ALL


def find_window(record: PhaseRecord, sample_interval_s: float) -> Window:
    """Find the window of a phase."""
    tolerance_ns = int(_GRID_TOLERANCE * sample_interval_s * NS_PER_S)
    work = _work_of_workers(record)
    if not work:
        return Window(record.whole, record.whole) if record.finished else _cut_window(record, tolerance_ns)
    ramp_end_ns = record.start_ns + int(record.phase.ramp_s * NS_PER_S)
    firsts = [max(one.begin_ns, ramp_end_ns) if record.phase.ramp_s > 0 else one.begin_ns for one in work]
    lasts = [one.end_ns for one in work]
    span = Span(min(firsts), max(one.last_ns for one in work))
    common_ns, at_work_ns = max(0, min(lasts) - max(firsts)), max(lasts) - span.begin_ns
    overlap = common_ns / at_work_ns if at_work_ns > 0 else 1.0
    end_ns = max(lasts) if record.finished else record.whole.end_ns
    at_work = AtWork(
        skew_s=(max(firsts) - min(firsts)) / NS_PER_S,
        tail_s=(max(lasts) - min(lasts)) / NS_PER_S,
        overlap=overlap,
        span=span,
        common=Span(max(firsts), max(*firsts, min(lasts))),
        silent_s=max(one.end_ns - one.last_ns if one.has_abandoned else 0 for one in work) / NS_PER_S,
        end_ns=end_ns,
    )
    whole_from, outside_ns = thresholds.OVERLAP_WHOLE, tolerance_ns
    if record.is_sum_of_clients:
        whole_from = 1 - 2 * _SUM_OUTSIDE
        outside_ns = int(_SUM_OUTSIDE * span.seconds * NS_PER_S)
    if overlap < whole_from and (inside := _where_all_counted(record, _inside(record, at_work.common, outside_ns))):
        counted = Span(inside[0].begin_ns, inside[-1].end_ns)
        return Window(Span(counted.begin_ns, min(counted.end_ns, end_ns)), counted, at_work, is_trimmed=True)
    if overlap < thresholds.OVERLAP_WHOLE:
        return Window(Span(span.begin_ns, end_ns), record.whole, at_work, lacks_interval=True)
    if record.phase.ramp_s <= 0:
        return Window(Span(span.begin_ns, end_ns), record.whole, at_work)
    after_ramp = _inside(record, Span(ramp_end_ns, record.whole.end_ns), tolerance_ns)
    if not after_ramp:
        return Window(Span(span.begin_ns, end_ns), record.whole, at_work, lacks_interval=True)
    return Window(Span(after_ramp[0].begin_ns, end_ns), Span(after_ramp[0].begin_ns, record.whole.end_ns), at_work)


@dataclasses.dataclass(frozen=True)
class _Work:
    """When a worker was at work."""

    begin_ns: int
    last_ns: int
    """Its last completion."""
    end_ns: int
    has_abandoned: bool = False


def _work_of_workers(record: PhaseRecord) -> Sequence[_Work]:
    """Give the work of each worker that did anything."""
    if record.finished is None:
        return [_Work(own.begin_ns, own.end_ns, own.end_ns) for own in record.until_cut]
    jobs = {job.name: job for job in record.phase.jobs}
    return [_work_of(record, jobs.get(worker.job), worker, own) for worker, own in workers_at_work(record.finished)]


def _work_of(record: PhaseRecord, job: Job | None, worker: events.WorkerWindow, own: Span) -> _Work:
    begin_ns, end_ns = own.begin_ns, own.end_ns
    if job and isinstance(job.arrival, Open | OpenShare):
        begin_ns = min(begin_ns, record.start_ns + int(job.delay_s * NS_PER_S))
    if worker.stopped_by is events.StoppedBy.TIME:
        asked_s = min((seconds for seconds in (record.phase.longest_s, job and job.longest_s) if seconds), default=0.0)
        end_ns = max(end_ns, record.start_ns + int(asked_s * NS_PER_S))
    elif worker.abandoned:
        end_ns = max(end_ns, record.whole.end_ns)
    return _Work(begin_ns, own.end_ns, end_ns, has_abandoned=worker.abandoned > 0)


def _inside(record: PhaseRecord, limits: Span, tolerance_ns: int) -> Sequence[Span]:
    return [
        interval
        for interval in record.grid
        if interval.begin_ns >= limits.begin_ns - tolerance_ns and interval.end_ns <= limits.end_ns + tolerance_ns
    ]


def _where_all_counted(record: PhaseRecord, inside: Sequence[Span]) -> Sequence[Span]:
    """Leave out, of a sum over clients, intervals at either end that are a part of one of a client's own: it was paused."""
    begins = [place for place, interval in enumerate(inside) if interval.begin_ns in record.common_ns]
    ends = [place for place, interval in enumerate(inside) if interval.end_ns in record.common_ns]
    return inside[begins[0] : ends[-1] + 1] if begins and ends and begins[0] <= ends[-1] else inside


def _cut_window(record: PhaseRecord, tolerance_ns: int) -> Window:
    """Window of a phase that has no end in the stream: the intervals that were written before the cut."""
    ramp_end_ns = record.start_ns + int(record.phase.ramp_s * NS_PER_S)
    limits = Span(ramp_end_ns, record.whole.end_ns)
    inside = _inside(record, limits, tolerance_ns) if record.phase.ramp_s > 0 else record.grid
    counted = inside or record.grid
    span = Span(counted[0].begin_ns, counted[-1].end_ns)
    return Window(span, span, lacks_interval=not inside)
