"""Report whether rate and latency were steady, and known well enough, as `analysis/steadiness.py` found."""

from collections.abc import Iterable, Iterator, Sequence

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.latency_steadiness import Course, LatencyChange
from assay.analysis.rows import NS_PER_S
from assay.analysis.statistics.steady import Stretch
from assay.results import Finding
from assay.units import format_ns, format_seconds
from assay.verdicts import SteadyVerdict

_LONGER_FOR_A_LEVEL = "Run longer, until the level lasts; look at the timeline for when it changed."
_LOOK = "Run longer; look at the timeline for a cache that was full, a burst that ended or a neighbour that left."
_MORE_WORK = "Give the phase more work, so that the start weighs less, or bound it by time."
_ENDS_TOO_SOON = "The phase ended too soon to show whether it stays there."
_LATENCIES = {
    ("latency", "p50"): "median latency",
    ("latency", "p99"): "p99 latency",
    ("response", "p50"): "median response time",
    ("response", "p99"): "p99 response time",
}


def judge(case: Case) -> Iterable[Finding]:
    """Judge the rate of the operation's job over the phase."""
    if case.ops == 0:
        return ()
    if case.record.phase.name in case.run.round_phases:
        return _within_round(case)
    found = case.steadiness.found
    match found.verdict:
        case SteadyVerdict.LATE_SHIFT:
            return (_late_shift(case),)
        case SteadyVerdict.DRIFTING:
            return (_drifting(case.steadiness.drift),)
        case SteadyVerdict.TOO_SHORT | SteadyVerdict.NO_DATA:
            return (_too_short(case),)
    return (*_start(case), *_latency(case), *_uncertain(case), *_period(case), *_methods(case))


def _within_round(case: Case) -> Iterable[Finding]:
    """Report a phase of a round that was not steady by itself: its result is the mean of all its time, and weak."""
    match case.steadiness.found.verdict:
        case SteadyVerdict.LATE_SHIFT:
            found = _late_shift(case)
        case SteadyVerdict.DRIFTING:
            found = _drifting(case.steadiness.drift)
        case SteadyVerdict.TOO_SHORT | SteadyVerdict.NO_DATA:
            found = _too_short(case)
        case _:
            return ()
    return (findings.weak(found.id, found.text, found.cure, brief=found.brief, effect=found.effect),)


def _at(case: Case, place: int) -> str:
    """Return when an interval begins, since the phase began."""
    return format_seconds((int(case.steadiness.series.edges_ns[place]) - case.record.start_ns) / NS_PER_S)


def _times(before: Stretch, after: Stretch) -> str:
    return f"{before.mean / after.mean:.2g} times" if after.mean > 0 else "many times"


def _late_shift(case: Case) -> Finding:
    found = case.steadiness.found
    if found.last is None or not found.before:
        return _too_short(case)
    before, last = found.before[-1], found.last
    text = (
        f"The rate changed {_at(case, last.begin)} into the phase: before, it was {_times(before, last)} the rate after."
        f" {_ENDS_TOO_SOON}"
    )
    effect = abs(before.mean / last.mean - 1) if last.mean > 0 else None
    graded = findings.weak if effect is not None and effect <= thresholds.WIDE_INTERVAL else findings.warning
    return graded("not-steady", text, _LONGER_FOR_A_LEVEL, brief="rate changed late", effect=effect)


def _drifting(trend: float) -> Finding:
    way = "rose" if trend > 0 else "fell"
    text = (
        f"The rate {way} by {100 * abs(trend):.0f} % over the phase and reached no level, so its mean depends on the length"
        " of the phase."
    )
    cure = "Run longer; look at the timeline for caches that fill, a device that slows down or space that runs out."
    graded = findings.warning if abs(trend) > thresholds.STEADY_RANGE else findings.weak
    return graded("not-steady", text, cure, brief=f"rate {way} {100 * abs(trend):.0f} %", effect=abs(trend))


def _too_short(case: Case) -> Finding:
    count = len(case.steadiness.series)
    text = (
        f"{count} intervals in {format_seconds(case.seconds)} are too few to show whether the rate is steady"
        f" ({thresholds.STEADY_VALUES} are needed)."
    )
    return findings.weak("small-sample", text, "Run longer, or sample more often.", brief="too short to judge")


def _start(case: Case) -> Iterator[Finding]:
    """Report the levels before the one that the rate settled at."""
    found, window = case.steadiness.found, case.window
    if found.last is None or found.last.begin == 0:
        return
    begin = _at(case, found.last.begin)
    is_excluded = window.span.begin_ns >= int(case.steadiness.series.edges_ns[found.last.begin])
    levels = " then ".join(
        f"{_times(level, found.last)} the rate up to {_at(case, level.end)}" for level in found.before
    )
    if is_excluded:
        text = f"The rate is steady from {begin} on; the time before ({levels or 'a start'}) is excluded."
        yield _longer_than_a_start(text, found.last, found.before)
        return
    of_last = found.last.mean or 1.0
    change = max((abs(level.mean / of_last - 1) for level in found.before), default=0.0)
    text = f"The rate settled {begin} into the phase ({levels or 'a start'}); the number includes the time before."
    yield findings.weak("earlier-levels", text, _MORE_WORK, brief="includes the start", effect=change)


def _latency(case: Case) -> Iterator[Finding]:
    """Report how the latencies went, the gravest of each kind."""
    own = [one for one in case.steadiness.latency if one.operation == case.operation.name or case.operation.is_group]
    for course in Course:
        changes = [one for one in own if one.course is course]
        if changes:
            yield from _of_course(case, max(changes, key=lambda one: (one.quantile == "p50", _factor(one))))


def _factor(change: LatencyChange) -> float:
    return max(change.before_ns / change.last_ns, change.last_ns / change.before_ns)


def _of_course(case: Case, change: LatencyChange) -> Iterator[Finding]:
    name = _LATENCIES[change.series, change.quantile]
    before, last = format_ns(change.before_ns), format_ns(change.last_ns)
    begin = format_seconds((change.begin_ns - case.record.start_ns) / NS_PER_S)
    effect = _factor(change) - 1
    # The rate and the median are still valid where only the slowest operations change.
    graded = findings.warning if change.quantile == "p50" else findings.weak
    match change.course:
        case Course.DRIFTING:
            way = "rose" if change.last_ns > change.before_ns else "fell"
            text = f"The {name} {way} from {before} to {last} over the window and reached no level, at a steady rate."
            yield graded("not-steady", text, _LONGER_FOR_A_LEVEL, brief=f"{name} {way}", effect=effect)
        case Course.LATE_SHIFT:
            text = f"The {name} changed {begin} into the phase, from {before} to {last}, at a steady rate. {_ENDS_TOO_SOON}"
            yield graded("not-steady", text, _LONGER_FOR_A_LEVEL, brief=f"{name} changed late", effect=effect)
        case Course.SETTLED if case.window.counted.begin_ns >= change.begin_ns:
            text = f"The {name} stays at {last} from {begin} on; the time before, at {before}, is excluded."
            if change.share < thresholds.EARLIER_SHARE:
                yield findings.note("earlier-levels", text)
                return
            text += (
                f" For {100 * change.share:.0f} % of the phase the {name} was at other levels, so another run may settle"
                " at another."
            )
            yield findings.weak("earlier-levels", text, _LOOK, brief=f"other {name} before", effect=effect)
        case Course.SETTLED:
            text = f"The {name} changed {begin} into the phase, from {before} to {last}; the number includes both."
            yield findings.weak("earlier-levels", text, _MORE_WORK, brief=f"{name} changed", effect=effect)


def _longer_than_a_start(text: str, last: Stretch, before: Sequence[Stretch]) -> Finding:
    """Report an excluded start: weak where it was long enough for another run to settle at another of its levels."""
    other = [level for level in before if abs(level.mean / (last.mean or 1.0) - 1) > thresholds.WIDE_INTERVAL]
    share = sum(level.end - level.begin for level in other) / last.end
    if last.mean <= 0 or share < thresholds.EARLIER_SHARE:
        return findings.note("earlier-levels", text)
    longest = max(other, key=lambda level: level.end - level.begin)
    text += (
        f" For {100 * share:.0f} % of the phase the rate was at other levels, mostly {_times(longest, last)} this one, so"
        " another run may settle at another."
    )
    effect = abs(longest.mean / last.mean - 1)
    return findings.weak("earlier-levels", text, _LOOK, brief="other levels before", effect=effect)


def _uncertain(case: Case) -> Iterator[Finding]:
    rate, change = case.steadiness.rate, case.steadiness.halves_change
    if change is not None:
        way = "faster" if change > 0 else "slower"
        text = (
            f"The second half of the window was {100 * abs(change):.0f} % {way} than the first, more than chance explains:"
            " something changes slowly."
        )
        yield findings.weak("not-steady", text, _LONGER_FOR_A_LEVEL, brief="halves differ", effect=abs(change))
    if rate is None or rate.mean <= 0:
        return
    half = rate.half_width / rate.mean
    if half > thresholds.WIDE_INTERVAL:
        text = (
            f"The rate is known to within {100 * half:.0f} % only (95 %, {rate.effective:.0f} independent intervals)."
        )
        cure = "Run longer: four times as long halves the interval."
        yield findings.weak("wide-interval", text, cure, brief=f"± {100 * half:.0f} %", effect=half)


def _period(case: Case) -> Iterator[Finding]:
    period, series = case.steadiness.found.period, case.steadiness.series
    if period is not None and len(series):
        length_s = (int(series.edges_ns[-1]) - int(series.edges_ns[0])) / NS_PER_S / len(series)
        text = (
            f"The rate repeats itself every {format_seconds(period * length_s)}, as with flushes, commits or garbage"
            " collection. The number includes whole periods."
        )
        yield findings.note("periodic", text)


def _methods(case: Case) -> Iterator[Finding]:
    found = case.steadiness.found
    if found.mser_mean is None or found.last is None or not found.last.mean:
        return
    apart = found.mser_mean / found.last.mean - 1
    if abs(apart) > thresholds.SAME_LEVEL:
        text = f"MSER-5, another method of excluding the start, gives a rate {100 * apart:+.0f} % from this one."
        yield findings.note("earlier-levels", text, "Run longer.", effect=abs(apart))
