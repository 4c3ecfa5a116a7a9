"""Was the rate steady, and is it known well enough? `analysis/steadiness.py` finds it out."""

from collections.abc import Iterable, Iterator, Sequence

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.latency_steadiness import Course, LatencyChange
from assay.analysis.rows import NS_PER_S
from assay.analysis.statistics.steady import Stretch
from assay.results import Finding
from assay.units import format_ns, format_seconds
from assay.verdicts import SteadyVerdict

_LONGER = "Run longer."
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
    found = case.steadiness.found
    match found.verdict:
        case SteadyVerdict.LATE_SHIFT:
            return (_late_shift(case),)
        case SteadyVerdict.DRIFTING:
            return (_drifting(case.steadiness.drift),)
        case SteadyVerdict.TOO_SHORT | SteadyVerdict.NO_DATA:
            return (_too_short(case),)
    return (*_start(case), *_latency(case), *_uncertain(case), *_period(case), *_methods(case))


def _at(case: Case, place: int) -> str:
    """Say when an interval begins, since the phase began."""
    return format_seconds((int(case.steadiness.series.edges_ns[place]) - case.record.start_ns) / NS_PER_S)


def _times(before: Stretch, after: Stretch) -> str:
    return f"{before.mean / after.mean:.2g} times" if after.mean > 0 else "many times"


def _late_shift(case: Case) -> Finding:
    found = case.steadiness.found
    if found.last is None or not found.before:
        return _too_short(case)
    before, last = found.before[-1], found.last
    text = (
        f"The rate changed {_at(case, last.begin)} into the phase: before, it stood at {_times(before, last)} what it was"
        " then, and what came after is too short to tell whether it stays there. A full cache, credits that were used up?"
    )
    effect = abs(before.mean / last.mean - 1) if last.mean > 0 else None
    judged = findings.weak if effect is not None and effect <= thresholds.WIDE_INTERVAL else findings.warning
    return judged(
        "late-shift", text, f"{_LONGER} Only what it settles at is a number.", brief="rate changed late", effect=effect
    )


def _drifting(trend: float) -> Finding:
    way = "rose" if trend > 0 else "fell"
    text = f"The rate {way} by {100 * abs(trend):.0f} % over the phase and came to no level."
    cure = f"{_LONGER} Look at the timeline for what goes on: caches that fill, a device that tires, space that is used up."
    judged = findings.warning if abs(trend) > thresholds.STEADY_RANGE else findings.weak
    return judged("drifting", text, cure, brief=f"rate {way} {100 * abs(trend):.0f} %", effect=abs(trend))


def _too_short(case: Case) -> Finding:
    count = len(case.steadiness.series)
    text = (
        f"{count} intervals in {format_seconds(case.seconds)} are too few to tell a steady rate from one that changes"
        f" ({thresholds.STEADY_VALUES} are needed)."
    )
    return findings.weak("too-short", text, f"{_LONGER} Or sample more often.", brief="too short to judge")


def _start(case: Case) -> Iterator[Finding]:
    found, window = case.steadiness.found, case.window
    if found.last is None or found.last.begin == 0:
        return
    begin_s = (int(case.steadiness.series.edges_ns[found.last.begin]) - case.record.start_ns) / NS_PER_S
    is_left_out = window.span.begin_ns >= int(case.steadiness.series.edges_ns[found.last.begin])
    levels = " then ".join(
        f"{_times(level, found.last)} the rate up to {_at(case, level.end)}" for level in found.before
    )
    if is_left_out:
        text = f"The rate is steady from {format_seconds(begin_s)} on: {levels or 'what came before'} is in no number."
        yield findings.note("start-left-out", text)
        yield from _earlier_levels(found.last, found.before)
        return
    of_last = found.last.mean or 1.0
    change = max((abs(level.mean / of_last - 1) for level in found.before), default=0.0)
    text = f"The rate settled {format_seconds(begin_s)} into the phase ({levels or 'a start'}); the number is of all of it."
    cure = "Give it more to do, so that the start weighs less, or bound the phase by time."
    yield findings.weak("start-included", text, cure, brief="start is in it", effect=change)


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
    # The rate and the median still say something where the slowest operations change.
    judged = findings.warning if change.quantile == "p50" else findings.weak
    match change.course:
        case Course.DRIFTING:
            way = "rose" if change.last_ns > change.before_ns else "fell"
            text = f"The {name} {way} from {before} to {last} over the window and came to no level, at a steady rate."
            yield judged("drifting", text, _LONGER, brief=f"{name} {way}", effect=effect)
        case Course.LATE_SHIFT:
            text = (
                f"The {name} changed {begin} into the phase, from {before} to {last}, at a steady rate, and the rest is too"
                " short to tell whether it stays there."
            )
            cure = f"{_LONGER} Only what it settles at is a number."
            yield judged("late-shift", text, cure, brief=f"{name} changed late", effect=effect)
        case Course.SETTLED if case.window.counted.begin_ns >= change.begin_ns:
            text = f"The {name} stays at {last} from {begin} on: before, it was {before}, which is in no number."
            yield findings.note("start-left-out", text)
            if change.share >= thresholds.EARLIER_SHARE:
                text = (
                    f"For {100 * change.share:.0f} % of the phase the {name} was at other levels, such as {before}: the"
                    " number is of the last, and another run may meet another."
                )
                cure = f"{_LONGER} Look at the timeline: a cache that was full, a neighbour that came or went?"
                yield findings.weak("other-levels", text, cure, brief=f"other {name} before", effect=effect)
        case Course.SETTLED:
            text = f"The {name} changed {begin} into the phase, from {before} to {last}; the number is of both."
            cure = "Give it more to do, so that the start weighs less, or bound the phase by time."
            yield findings.weak("start-included", text, cure, brief=f"{name} changed", effect=effect)


def _earlier_levels(last: Stretch, before: Sequence[Stretch]) -> Iterator[Finding]:
    """Say where a rate stood elsewhere for so long that nobody knows which of its levels another run meets."""
    if last.mean <= 0:
        return
    other = [level for level in before if abs(level.mean / last.mean - 1) > thresholds.WIDE_INTERVAL]
    share = sum(level.end - level.begin for level in other) / last.end
    if share < thresholds.EARLIER_SHARE:
        return
    longest = max(other, key=lambda level: level.end - level.begin)
    text = (
        f"For {100 * share:.0f} % of the phase the rate stood at other levels, for the longest at"
        f" {_times(longest, last)} this one: the number is of the last, and another run may meet another."
    )
    cure = "Run longer, and look at the timeline: a cache that was full, a burst that ended, a neighbour that came or went?"
    yield findings.weak(
        "other-levels", text, cure, brief="other levels before", effect=abs(longest.mean / last.mean - 1)
    )


def _uncertain(case: Case) -> Iterator[Finding]:
    rate, change = case.steadiness.rate, case.steadiness.halves_change
    if change is not None:
        way = "faster" if change > 0 else "slower"
        text = f"The second half of the window was {100 * abs(change):.0f} % {way} than the first."
        yield findings.weak("halves-differ", text, _LONGER, brief="halves differ", effect=abs(change))
    if rate is None or rate.mean <= 0:
        return
    half = rate.half_width / rate.mean
    if half > thresholds.WIDE_INTERVAL:
        text = (
            f"The rate is known to within {100 * half:.0f} % only (95 %, {rate.effective:.0f} independent intervals)."
        )
        yield findings.weak("wide-interval", text, _LONGER, brief=f"± {100 * half:.0f} %", effect=half)


def _period(case: Case) -> Iterator[Finding]:
    period, series = case.steadiness.found.period, case.steadiness.series
    if period is not None and len(series):
        length_s = (int(series.edges_ns[-1]) - int(series.edges_ns[0])) / NS_PER_S / len(series)
        text = (
            f"The rate repeats itself every {format_seconds(period * length_s)}: flushes, commits, a device tidying up."
        )
        yield findings.note("periodic", f"{text} They belong to it and are in the number.")


def _methods(case: Case) -> Iterator[Finding]:
    found = case.steadiness.found
    if found.mser_mean is None or found.last is None or not found.last.mean:
        return
    apart = found.mser_mean / found.last.mean - 1
    if abs(apart) > thresholds.METHODS_DISAGREE:
        text = f"By MSER-5, another method, the steady rate would be {100 * apart:+.0f} % of this one."
        yield findings.note("methods-disagree", text, effect=abs(apart))
