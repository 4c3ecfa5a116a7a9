"""Report rounds that did not become steady."""

from collections.abc import Iterable, Sequence

from assay.analysis import findings
from assay.analysis.record import RunRecord
from assay.analysis.rounds import rounds_of
from assay.results import Finding, Result, RoundsOutcome, TrackedRounds
from assay.units import format_percent

_LONGER = "Precondition more, or make each phase longer. A device that does not become steady is reported as such."
_AS_DEFINED = "Run it without --scale, --set and --time for results by its definition."
_MORE = "Let it run to its end: results are means over a window of steady rounds."


def judge(run: RunRecord, measured: Sequence[Result]) -> Iterable[Finding]:
    """Judge the rounds of a run, where it has any."""
    rounds = rounds_of(run, measured)
    if rounds is None:
        return
    if changed := run.plan.origin.changed:
        text = f"The load was changed: {', '.join(changed)}. Results are not those of the load as its file defines it."
        yield findings.weak("load-changed", text, _AS_DEFINED, brief="shortened")
    if rounds.is_steady:
        return
    if rounds.window is None:
        text = f"Only {rounds.done} rounds came to their end, too few to show whether results are steady."
        yield findings.warning("rounds-not-steady", text, _MORE)
        return
    for one in rounds.tracked:
        if (why := _why(one, rounds)) is not None:
            text = f"'{one.title}' was not steady in the last of {rounds.done} rounds: {why}."
            yield findings.warning("rounds-not-steady", text, _LONGER)


def _why(one: TrackedRounds, rounds: RoundsOutcome) -> str | None:
    if one.range_share is None or one.slope_share is None:
        return "some of them have no result"
    parts = []
    if one.range_share > rounds.range_share:
        parts.append(f"a range of {_percent(one.range_share)} of the mean ({_percent(rounds.range_share)} are allowed)")
    if abs(one.slope_share) > rounds.slope_share:
        parts.append(f"a slope of {_percent(one.slope_share)} ({_percent(rounds.slope_share)} are allowed)")
    return " and ".join(parts) or None


def _percent(share: float) -> str:
    return f"{format_percent(share)} %"
