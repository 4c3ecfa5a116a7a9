"""Which part of a phase do its numbers come from?

A sum over workers holds only while all of them work. With `first` and `last` the stamps of each worker's first issue
and last completion:

    skew = max(first) - min(first)      tail = max(last) - min(last)
    overlap = (min(last) - max(first)) / (max(last) - min(first))

- overlap >= 0.95: the whole span from the first issue to the last completion, with all operations;
- below: only the intervals that lie wholly inside [max(first), min(last)], with a warning;
- below 0.80: a sum means nothing.

A sum over clients is trimmed to the intervals inside that time wherever more than 0.1 % of the span is outside: clients that
start or end 70 ms apart in 3.5 s would make it 2 % too small.

`Phase.ramp_s` is left out by intervals: one that begins inside the ramp is not counted. The workers are all workers of
the phase, since its jobs are one mix. The span ends at the last completion and not at a tick, except that a phase which
was stopped by its time while operations were outstanding lasts until that time: a device that hangs must not look fast.

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


@dataclasses.dataclass(frozen=True)
class AtWork:
    """When the workers of a phase were at work."""

    skew_s: float
    tail_s: float
    overlap: float
    """Share of `span` in which all of them were."""
    span: Span
    """From the first issue to the last completion."""
    common: Span
    """From the last worker's first issue to the first one's last completion."""
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
    """Whether no whole interval lay in the part that is wanted, so that all of the phase stands for it."""

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
        return self.counted.share_of(self.span) >= thresholds.SAMPLED_SHARE


def find_window(record: PhaseRecord, sample_interval_s: float) -> Window:
    """Find the window of a phase."""
    tolerance_ns = int(thresholds.GRID_TOLERANCE * sample_interval_s * NS_PER_S)
    worked = workers_at_work(record.finished) if record.finished else record.until_cut
    if not worked:
        return Window(record.whole, record.whole) if record.finished else _cut_window(record, tolerance_ns)
    ramp_end_ns = record.start_ns + int(record.phase.ramp_s * NS_PER_S)
    firsts = [max(own.begin_ns, ramp_end_ns) if record.phase.ramp_s > 0 else own.begin_ns for own in worked]
    lasts = [own.end_ns for own in worked]
    span = Span(min(firsts), max(lasts))
    common_ns = max(0, min(lasts) - max(firsts))
    overlap = common_ns / (span.end_ns - span.begin_ns) if span.end_ns > span.begin_ns else 1.0
    end_ns = _end_ns(record, span)
    at_work = AtWork(
        skew_s=(max(firsts) - min(firsts)) / NS_PER_S,
        tail_s=(max(lasts) - min(lasts)) / NS_PER_S,
        overlap=overlap,
        span=span,
        common=Span(max(firsts), max(*firsts, min(lasts))),
        end_ns=end_ns,
    )
    whole_from, outside_ns = thresholds.OVERLAP_WHOLE, tolerance_ns
    if record.is_sum_of_clients:
        whole_from = 1 - 2 * thresholds.SUM_OUTSIDE
        outside_ns = int(thresholds.SUM_OUTSIDE * span.seconds * NS_PER_S)
    if overlap < whole_from and (inside := _inside(record, at_work.common, outside_ns)):
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


def _inside(record: PhaseRecord, limits: Span, tolerance_ns: int) -> Sequence[Span]:
    return [
        interval
        for interval in record.grid
        if interval.begin_ns >= limits.begin_ns - tolerance_ns and interval.end_ns <= limits.end_ns + tolerance_ns
    ]


def _cut_window(record: PhaseRecord, tolerance_ns: int) -> Window:
    """Window of a phase that has no end in the stream: the intervals that were written before the cut."""
    ramp_end_ns = record.start_ns + int(record.phase.ramp_s * NS_PER_S)
    limits = Span(ramp_end_ns, record.whole.end_ns)
    inside = _inside(record, limits, tolerance_ns) if record.phase.ramp_s > 0 else record.grid
    counted = inside or record.grid
    span = Span(counted[0].begin_ns, counted[-1].end_ns)
    return Window(span, span, lacks_interval=not inside)


def _end_ns(record: PhaseRecord, span: Span) -> int:
    """End of the span: with operations that never came back, the phase went on for as long as it was to."""
    finished = record.finished
    if finished is None:
        return record.whole.end_ns
    if not any(worker.abandoned for worker in finished.workers):
        return span.end_ns
    phase = record.phase
    asked_s = [seconds for seconds in (phase.longest_s, *phase.job_times_s) if seconds]
    if finished.stopped_by is not events.StoppedBy.TIME:
        return max(span.end_ns, record.whole.end_ns)
    return max(span.end_ns, record.start_ns + int(min(asked_s) * NS_PER_S)) if asked_s else span.end_ns
