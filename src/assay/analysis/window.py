"""Which part of a phase do its numbers come from?

A sum over workers holds only while all of them work. With `first` and `last` the stamps of each worker's first issue
and last completion:

    skew = max(first) - min(first)      tail = max(last) - min(last)
    overlap = (min(last) - max(first)) / (max(last) - min(first))

- overlap >= 0.95: the whole span from the first issue to the last completion, with all operations;
- below: only the intervals that lie wholly inside [max(first), min(last)], with a warning;
- below 0.80: a sum means nothing.

`Phase.ramp_s` is left out by intervals: one that begins inside the ramp is not counted. The workers are all workers of
the phase, since its jobs are one mix. The span ends at the last completion and not at a tick, except that a phase which
was stopped by its time while operations were outstanding lasts until that time: a device that hangs must not look fast.

Limits: this is the structural window. Whether the level inside it is steady is another judgement.
"""

import dataclasses
from collections.abc import Sequence

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.results import Finding
from assay.units import format_seconds


@dataclasses.dataclass(frozen=True)
class Window:
    """Part of a phase that its numbers come from."""

    span: Span
    """What rates are divided by."""
    counted: Span
    """From the start of the first interval counted to the end of the last: which rows and samples belong to it."""
    findings: tuple[Finding, ...]


def find_window(record: PhaseRecord, sample_interval_s: float) -> Window:
    """Find the window of a phase."""
    tolerance_ns = int(thresholds.GRID_TOLERANCE * sample_interval_s * NS_PER_S)
    if record.finished is None:
        return _cut_window(record, tolerance_ns)
    at_work = _workers_at_work(record.finished)
    if not at_work:
        return Window(record.whole, record.whole, ())
    ramp_end_ns = record.start_ns + int(record.phase.ramp_s * NS_PER_S)
    firsts = [max(first, ramp_end_ns) if record.phase.ramp_s > 0 else first for first, _ in at_work]
    lasts = [last for _, last in at_work]
    span = Span(min(firsts), max(lasts))
    common_ns = max(0, min(lasts) - max(firsts))
    overlap = common_ns / (span.end_ns - span.begin_ns) if span.end_ns > span.begin_ns else 1.0
    skew_s = (max(firsts) - min(firsts)) / NS_PER_S
    tail_s = (max(lasts) - min(lasts)) / NS_PER_S
    end_ns, outstanding = _end(record, record.finished, span)
    found = [*_skew_findings(skew_s, tail_s, overlap, span.seconds), *outstanding, *_idle(record.finished)]
    is_trimmed = overlap < thresholds.OVERLAP_WHOLE
    if not is_trimmed and record.phase.ramp_s <= 0:
        return Window(Span(span.begin_ns, end_ns), record.whole, tuple(found))
    limit_ns = min(lasts) if is_trimmed else record.whole.end_ns
    inside = _inside(record, Span(max(firsts) if is_trimmed else ramp_end_ns, limit_ns), tolerance_ns)
    if not inside:
        found.append(_nothing_inside(record, overlap))
        return Window(Span(span.begin_ns, end_ns), record.whole, tuple(found))
    counted = Span(inside[0].begin_ns, inside[-1].end_ns)
    reaches_end = counted.end_ns == record.whole.end_ns
    used = Span(counted.begin_ns, end_ns if reaches_end else counted.end_ns)
    return Window(used, counted, tuple(found))


def _workers_at_work(finished: events.PhaseFinished) -> list[tuple[int, int]]:
    return [
        (worker.first_op_ns, worker.last_op_ns)
        for worker in finished.workers
        if worker.first_op_ns is not None and worker.last_op_ns is not None
    ]


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
    found = [
        findings.warning(
            "unfinished",
            f"The run was cut {format_seconds(record.whole.seconds)} into this phase; the numbers are"
            " from the intervals that were written before. Start skew and errors at the end are not known.",
            "Run it again to the end.",
        )
    ]
    if not inside:
        found.append(_nothing_inside(record, None))
        inside = record.grid
    counted = Span(inside[0].begin_ns, inside[-1].end_ns)
    return Window(counted, counted, tuple(found))


def _nothing_inside(record: PhaseRecord, overlap: float | None) -> Finding:
    if overlap is not None and overlap < thresholds.OVERLAP_WHOLE:
        return findings.warning(
            "start-skew-kept",
            "No whole interval lies inside the time that all workers share, so the number is from the whole span, in"
            " which some workers were missing.",
            "Run longer, or sample more often.",
        )
    return findings.invalid(
        "ramp-not-excluded",
        f"The ramp of {record.phase.ramp_s:g} s leaves no whole interval of a phase of"
        f" {format_seconds(record.whole.seconds)}, so the number still contains the ramp.",
        "Make the phase longer than its ramp.",
    )


def _skew_findings(skew_s: float, tail_s: float, overlap: float, span_s: float) -> list[Finding]:
    what = (
        f"The workers started {format_seconds(skew_s)} and ended {format_seconds(tail_s)} apart; all were at work for"
        f" {100 * overlap:.0f} % of the time."
    )
    if overlap < thresholds.OVERLAP_SUM:
        cure = "Bound the phase by time, or stop all workers when the first is done (stop.of = first)."
        if skew_s > tail_s:
            cure = "Run longer, with more to do if nothing was left; workers beyond the number of CPUs start late."
        return [findings.invalid("sum-invalid", f"{what} A sum over workers means nothing here.", cure)]
    if overlap < thresholds.OVERLAP_WHOLE:
        return [
            findings.warning(
                "start-skew",
                f"{what} Only the intervals inside that time are counted.",
                "Run longer, so that start and end weigh less.",
            )
        ]
    if skew_s > thresholds.SKEW_SHARE * span_s:
        return [findings.note("start-skew", what, "Run longer, so that start and end weigh less.")]
    return []


def _end(record: PhaseRecord, finished: events.PhaseFinished, span: Span) -> tuple[int, list[Finding]]:
    """End of the span, and what to say about operations that never came back."""
    abandoned = sum(worker.abandoned for worker in finished.workers)
    if not abandoned:
        return span.end_ns, []
    asked_s = [stop.seconds for stop in (record.phase.stop, *(job.stop for job in record.phase.jobs)) if stop.seconds]
    end_ns = span.end_ns
    if finished.stopped_by is events.StoppedBy.TIME and asked_s:
        end_ns = max(end_ns, record.start_ns + int(min(asked_s) * NS_PER_S))
    elif finished.stopped_by is not events.StoppedBy.TIME:
        end_ns = max(end_ns, record.whole.end_ns)
    silent_s = (end_ns - span.end_ns) / NS_PER_S
    text = f"{abandoned} operations had no result when the phase stopped; they are in no count and no latency."
    if silent_s > thresholds.SILENT_END_SHARE * (end_ns - span.begin_ns) / NS_PER_S:
        text += f" Nothing completed in the last {format_seconds(silent_s)}, so the true tail is longer than shown."
        return end_ns, [findings.warning("abandoned", text, "Look for a hung device or server, then run again.")]
    return end_ns, [findings.note("abandoned", text)]


def _idle(finished: events.PhaseFinished) -> list[Finding]:
    idle = len(finished.workers) - len(_workers_at_work(finished))
    if not idle or idle == len(finished.workers):
        return []
    return [
        findings.warning(
            "idle-workers",
            f"{idle} of {len(finished.workers)} workers completed nothing; the number is from fewer than asked for.",
            "Give each worker something to do: more files, or a longer phase.",
        )
    ]
