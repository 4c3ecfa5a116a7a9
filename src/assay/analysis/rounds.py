"""Find the window of a run whose phases were repeated in rounds, and whether the results in it are steady.

The window is the last `window` whole rounds (SNIA SSS PTS 2.0.2, "Steady State"): the run ends as soon as these are steady,
or after the most rounds.
"""

from collections.abc import Iterator, Sequence

from assay import events
from assay.analysis.record import RunRecord
from assay.analysis.repeats_by_label import by_label
from assay.analysis.rounds_window import result_value
from assay.analysis.statistics.round_level import RoundsLevel, level_of
from assay.plan import SteadyOf
from assay.results import Result, RoundsCell, RoundsOutcome, TrackedRounds


def rounds_of(run: RunRecord, measured: Sequence[Result]) -> RoundsOutcome | None:
    """Describe the rounds of a run; None where there are none.

    Args:
        run: As it was read.
        measured: Its results.
    """
    rule = run.plan.rounds
    if rule is None:
        return None
    done = _whole_rounds(run)
    window = (done - rule.window, done - 1) if done >= rule.window else None
    tracked: dict[str, TrackedRounds] = {}
    levels: list[RoundsLevel | None] = []
    for label, results in by_label(measured).items():
        # The first result of a job is that of all it does.
        if (phase := results[0].phase) not in rule.of or phase in tracked:
            continue
        values = _values(results, done, rule.by)
        known = [value for value in values[done - rule.window :] if value is not None] if window else []
        levels.append(level_of(known) if len(known) == rule.window else None)
        level = levels[-1]
        tracked[phase] = TrackedRounds(
            label=label,
            title=results[0].title,
            values=values,
            mean=level and level.mean,
            range_share=level and level.range_share,
            slope_share=level and level.slope_share,
        )
    are_steady = bool(levels) and all(level is not None and level.is_steady(rule) for level in levels)
    # While it ran the decision was made from the same results, but for the last tick of each phase.
    was_decided = run.first(events.Skipped) is not None
    return RoundsOutcome(
        by=rule.by.value,
        done=done,
        most=rule.most,
        window=window,
        is_steady=window is not None and (are_steady or was_decided),
        range_share=rule.range_share,
        slope_share=rule.slope_share,
        tracked=tuple(tracked.values()),
        cells=tuple(_cells(run, measured)),
    )


def _cells(run: RunRecord, measured: Sequence[Result]) -> Iterator[RoundsCell]:
    """Give the table that the load makes of its phases; the first result of a phase is that of all it does."""
    cells = {phase.name: phase.cell for phase in run.plan.phases}
    labels: dict[str, str] = {}
    for label, results in by_label(measured).items():
        labels.setdefault(results[0].phase, label)
    for name, label in labels.items():
        if (cell := cells.get(name)) is not None:
            yield RoundsCell(row=cell.row, column=cell.column, label=label)


def _whole_rounds(run: RunRecord) -> int:
    """Count the rounds of which every phase came to its end."""
    ended = [0] * (max(phase.repeat for phase in run.plan.phases) + 1)
    for record in run.phases:
        if record.phase.name in run.round_phases and record.finished is not None:
            ended[record.phase.repeat] += record.finished.stopped_by is not events.StoppedBy.CONTROL
    return next((place for place, count in enumerate(ended) if count < len(run.round_phases)), len(ended))


def _values(results: Sequence[Result], done: int, by: SteadyOf) -> tuple[float | None, ...]:
    by_round = {result.repeat: result_value(result, by.value) for result in results}
    return tuple(by_round.get(place) for place in range(done))
