"""When did something happen, and what was before, during and after it?

Marks are the user's, and what was found: pauses of the client, stalls that the engine saw end, and changes of level that
steadiness is judged by. For each result of the phase in which a mark lies:

- A user's mark. Before: from the user's mark before it, or from the start of the phase, without what came before the rate
  was steady. During: to the user's next mark, or, where there is none, until the rate is back (`statistics/recovery.py`).
  After: from there on, to the mark after that.
- A pause: during is the pause itself.
- A change of level: before and after are the two levels.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay import events
from assay.analysis import thresholds
from assay.analysis.mark_series import MarkSeries
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.statistics.share_interval import Interval, ratio_interval
from assay.analysis.window import find_window
from assay.results import (
    DETECTED,
    MarkedChange,
    MarkedChanges,
    MarkedLevel,
    MarkEffect,
    Recovery,
    Result,
    RunMark,
)
from assay.units import format_seconds
from assay.verdicts import SteadyVerdict

MOST_DETECTED = 50
"""Of a run: the first."""
_NO_CHANGES = MarkedChanges(iops=None, p50=None, p99=None)


@dataclass(frozen=True)
class _Moment:
    """A mark, and where its stretches are known, which they are."""

    t_ns: int
    label: str
    source: str
    before: Span | None = None
    during: Span | None = None
    after: Span | None = None
    job: str | None = None
    """Of which alone it is; None: of all."""

    @property
    def is_given(self) -> bool:
        return self.source != DETECTED


def marks_of_run(run: RunRecord, measured: Sequence[Result]) -> tuple[RunMark, ...]:
    """Give the marks of a run in the order of time.

    Args:
        run: What was recorded.
        measured: Its results.
    """
    given = [_Moment(mark.t_ns, mark.label, mark.given.value) for mark in run.marks]
    found = sorted((*_stalls(run), *_pauses(run), *_changes(run, measured)), key=lambda moment: moment.t_ns)
    moments = sorted((*given, *found[:MOST_DETECTED]), key=lambda moment: moment.t_ns)
    if not moments:
        return ()
    by_phase = _Phases(run, measured)
    return tuple(by_phase.mark(number, moment, given) for number, moment in enumerate(moments, 1))


# -- what was found ----------------------------------------------------------------------------------------------------


def _stalls(run: RunRecord) -> Iterator[_Moment]:
    """Give the marks of the engine: the ends of stalls."""
    for event in run.all(events.Mark):
        yield _Moment(event.t_ns, event.label, DETECTED)


def _pauses(run: RunRecord) -> Iterator[_Moment]:
    if run.client_set is None:
        yield from _pauses_of("the client", run, {}, {})
    begins_ns = {index: phase.begin_ns for index, phase in run.of_set.items()}
    for client in run.members:
        yield from _pauses_of(client.member.name, client.run, client.shift_ns, begins_ns)


def _pauses_of(
    who: str, run: RunRecord, shift_ns: Mapping[int, int], begins_ns: Mapping[int, int]
) -> Iterator[_Moment]:
    """Give the pauses of one client; one that reaches across the start of its phase is placed at the start."""
    for record in run.phases:
        shift = shift_ns.get(record.index, 0)
        start_ns = begins_ns.get(record.index, record.start_ns)
        for pause in record.pauses:
            text = f"{who} was paused for {format_seconds(pause.paused_ns / NS_PER_S)}"
            during = Span(pause.begun_ns + shift, max(pause.t_ns, pause.begun_ns + 1) + shift)
            is_across = during.begin_ns < start_ns < during.end_ns
            yield _Moment(start_ns if is_across else during.begin_ns, text, DETECTED, during=during)


def _changes(run: RunRecord, measured: Sequence[Result]) -> Iterator[_Moment]:
    """Give the changes between the levels of each job; those of a drift are nowhere in particular."""
    records = {(record.phase.name, record.phase.repeat): record for record in run.phases}
    seen = set()
    for result in measured:
        place = (result.phase, result.repeat, result.job)
        steady, record = result.steady, records.get(place[:2])
        if place in seen or record is None or steady is None or steady.window_s is None:
            continue
        seen.add(place)
        if steady.verdict not in {SteadyVerdict.STEADY, SteadyVerdict.LATE_SHIFT}:
            continue
        levels = [*((level.window_s, level.ratio) for level in steady.before), (steady.window_s, 1.0)]
        for (before_s, was), (after_s, becomes) in itertools.pairwise(levels):
            if was > 0 and abs(becomes / was - 1) >= thresholds.SAME_LEVEL:
                before, after = (_span(record, window_s) for window_s in (before_s, after_s))
                text = f"the rate of '{result.job}' changed by {100 * (becomes / was - 1):+.0f} %"
                yield _Moment(after.begin_ns, text, DETECTED, before=before, after=after, job=result.job)


def _span(record: PhaseRecord, window_s: tuple[float, float]) -> Span:
    begin_ns, end_ns = (record.start_ns + round(second * NS_PER_S) for second in window_s)
    return Span(begin_ns, end_ns)


# -- what was around it ------------------------------------------------------------------------------------------------


class _Phases:
    """The phases of a run, with the series of their results."""

    def __init__(self, run: RunRecord, measured: Sequence[Result]) -> None:
        self._run = run
        self._measured = measured
        self._series: dict[int, list[tuple[str, MarkSeries]]] = {}

    def mark(self, number: int, moment: _Moment, given: Sequence[_Moment]) -> RunMark:
        """Write one mark down."""
        record = next((one for one in self._run.phases if _holds(one, moment.t_ns)), None)
        effects: Iterable[MarkEffect] = ()
        if record is not None and (moment.is_given or moment.during or moment.before):
            inside = sorted(one.t_ns for one in given if _holds(record, one.t_ns))
            effects = (
                _effect(label, series, moment, inside)
                for label, series in self._of(record)
                if moment.job in {None, series.job} and len(series.fine)
            )
        return RunMark(
            number=number,
            t_s=moment.t_ns / NS_PER_S,
            phase=record.phase.name if record else None,
            repeat=record.phase.repeat if record else 0,
            phase_s=(moment.t_ns - record.start_ns) / NS_PER_S if record else None,
            label=moment.label,
            source=moment.source,
            effects=tuple(effects),
        )

    def _of(self, record: PhaseRecord) -> list[tuple[str, MarkSeries]]:
        """Give the series of a phase with the labels of their results."""
        if record.index not in self._series:
            common = find_window(record, self._run.plan.sample_interval_s).common
            self._series[record.index] = [
                (
                    result.label,
                    MarkSeries(
                        record,
                        result.job,
                        result.operation,
                        common,
                        moves_data=result.throughput_bytes_per_s is not None,
                    ),
                )
                for result in self._measured
                if (result.phase, result.repeat) == (record.phase.name, record.phase.repeat) and result.ops
            ]
        return self._series[record.index]


def _holds(record: PhaseRecord, t_ns: int) -> bool:
    return record.start_ns <= t_ns <= record.whole.end_ns


def _effect(label: str, series: MarkSeries, moment: _Moment, given_ns: Sequence[int]) -> MarkEffect:
    whole, recovery = series.span, None
    if moment.is_given:
        before, during, after, recovery = _around(series, moment.t_ns, given_ns)
    else:
        before = moment.before or Span(whole.begin_ns, moment.t_ns)
        during = moment.during
        after = moment.after or Span(during.end_ns if during else moment.t_ns, whole.end_ns)
    levels = [None if span is None else series.level(span) for span in (before, during, after)]
    return MarkEffect(
        result=label,
        before=levels[0],
        during=levels[1],
        after=levels[2],
        during_changes=_changes_between(levels[0], levels[1]),
        after_changes=_changes_between(levels[0], levels[2]),
        recovery=recovery,
        missing=_missing(series, {"before": before, "during": during, "after": after}, levels),
    )


def _around(
    series: MarkSeries, mark_ns: int, given_ns: Sequence[int]
) -> tuple[Span, Span | None, Span | None, Recovery | None]:
    """Give the stretches before, during and after a user's mark, and what became of the rate."""
    whole = series.span
    earlier = max((t for t in given_ns if t < mark_ns), default=whole.begin_ns)
    later = sorted(t for t in given_ns if t > mark_ns)
    before = series.settled(Span(max(earlier, whole.begin_ns), mark_ns))
    followed = series.recovery(before, mark_ns)
    recovery, off = followed or (None, None)
    if later:
        return before, Span(mark_ns, later[0]), Span(later[0], later[1] if later[1:] else whole.end_ns), recovery
    if off is None:
        return before, None, Span(mark_ns, whole.end_ns), recovery
    after = Span(off.end_ns, whole.end_ns) if off.end_ns < whole.end_ns else None
    return before, off, after, recovery


def _missing(series: MarkSeries, spans: dict[str, Span | None], levels: Sequence[MarkedLevel | None]) -> str:
    """Return which stretches have no level although they are there."""
    lacking = [name for (name, span), level in zip(spans.items(), levels, strict=True) if span and level is None]
    if not lacking:
        return ""
    return f"{' and '.join(lacking)}: shorter than an interval ({format_seconds(series.interval_s)})"


def _changes_between(before: MarkedLevel | None, then: MarkedLevel | None) -> MarkedChanges:
    if before is None or then is None:
        return _NO_CHANGES
    return MarkedChanges(
        iops=_change(before.iops, before.iops_interval, then.iops, then.iops_interval),
        p50=_change(before.p50_ns, before.p50_interval_ns, then.p50_ns, then.p50_interval_ns),
        p99=_change(before.p99_ns, before.p99_interval_ns, then.p99_ns, then.p99_interval_ns),
    )


def _change(a: float | None, of_a: Interval | None, b: float | None, of_b: Interval | None) -> MarkedChange | None:
    if a is None or b is None or a <= 0:
        return None
    ends = ratio_interval(a, of_a, b, of_b) if of_a and of_b else None
    return MarkedChange(share=b / a - 1, interval=None if ends is None else (ends[0] - 1, ends[1] - 1))
