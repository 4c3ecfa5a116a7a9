"""Report pauses of the client during the measurement.

A machine that was suspended, a frozen virtual machine or control group, an engine that was stopped: the engine sees that a
sleep of at most a quarter of a second took far longer, and was spent neither on a CPU nor waiting for one. A machine that
is merely busy makes no such pause (`engine/src/observe/pauses.rs`).

The share of the window decides: above 1 % the result must not be used. The engine records pauses of 0.25 s and more.

A sum over clients has a window of its own, so its pauses are held against that, and each by the client's part of the sum.
A pause of the phase that is outside the window is reported all the same: left out as a start, it would leave no trace.
"""

from collections.abc import Iterable, Sequence

import msgspec

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.sum_case import SumCase
from assay.results import Finding
from assay.units import format_seconds

_CURE = "Keep the machine awake and the run going. Then run again."
_MOST_NAMED = 4


def judge(case: Case) -> Iterable[Finding]:
    """Judge the pauses of the phase: those that reach into the window moved its number."""
    pauses = case.record.pauses
    inside = [pause for pause in pauses if _reaches_into(pause, case.window.counted)]
    long_s = [pause.paused_ns / NS_PER_S for pause in inside or pauses]
    times = "" if len(long_s) == 1 else f" in {len(long_s)} pauses"
    text = f"The client was paused for {format_seconds(sum(long_s))}{times}: it was suspended, frozen or stopped."
    return _finding(text, case, pauses, inside, share=1.0)


def of_sum(at: SumCase) -> Iterable[Finding]:
    """Judge the pauses of all clients by the window of their sum."""
    pauses, texts = [], []
    for name, times in at.phase.clients.items():
        record = at.clients[name].run.phases_by_index.get(at.phase.index)
        for own in record.pauses if record else ():
            pause = _moved(own, times.shift.ns)
            pauses.append(pause)
            since_s = max(0, pause.begun_ns - at.phase.begin_ns) / NS_PER_S
            long = format_seconds(pause.paused_ns / NS_PER_S)
            texts.append(f"{name} was paused for {long}, {format_seconds(since_s)} into the phase")
    inside = [pause for pause in pauses if _reaches_into(pause, at.case.window.counted)]
    more = [f"{len(texts) - _MOST_NAMED} more pauses"] if len(texts) > _MOST_NAMED else []
    text = f"{'; '.join((*texts[:_MOST_NAMED], *more))}: suspended, frozen or stopped."
    return _finding(text, at.case, pauses, inside, share=1 / max(1, len(at.phase.clients)))


def _moved(pause: events.Paused, by_ns: int) -> events.Paused:
    return msgspec.structs.replace(pause, t_ns=pause.t_ns + by_ns, begun_ns=pause.begun_ns + by_ns)


def _reaches_into(pause: events.Paused, span: Span) -> bool:
    return pause.begun_ns < span.end_ns and pause.t_ns > span.begin_ns


def _finding(
    text: str, case: Case, pauses: Sequence[events.Paused], inside: Sequence[events.Paused], *, share: float
) -> Iterable[Finding]:
    """Give the one finding of a phase; `share` of a paused client of the result."""
    if not pauses:
        return ()
    if not inside:
        text += " That was outside the window, and no result includes it."
        timed = _timed(case.record)
        if share * _long_s(pauses, timed) <= thresholds.NEGLIGIBLE_SHARE * timed.seconds:
            return (findings.note("client-paused", text),)
        return (findings.weak("client-paused", text, _CURE, brief="a client was paused"),)
    text += " Latencies of that time include the pause, and the rate is too low."
    part = share * _long_s(inside, case.window.counted) / case.seconds
    judged = findings.invalid if part > thresholds.NEGLIGIBLE_SHARE else findings.weak
    return (judged("client-paused", text, _CURE, brief="a client was paused", effect=part),)


def _long_s(pauses: Sequence[events.Paused], span: Span) -> float:
    """Sum up the pauses that reach into a span; while a machine is suspended, the run's own clock does not go on."""
    return sum(pause.paused_ns for pause in pauses if _reaches_into(pause, span)) / NS_PER_S


def _timed(record: PhaseRecord) -> Span:
    """Give the phase without its ramp."""
    return Span(record.start_ns + int(record.phase.ramp_s * NS_PER_S), record.whole.end_ns)
