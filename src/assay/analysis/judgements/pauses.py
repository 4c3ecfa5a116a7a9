"""Did the client stand still while the number was measured?

A machine that was suspended, a frozen virtual machine or control group, an engine that was stopped: the engine sees that a
sleep of at most a quarter of a second took far longer, and was spent neither on a CPU nor waiting for one. A machine that
is merely busy makes no such pause (`engine/src/observe/pauses.rs`).
"""

from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.rows import NS_PER_S
from assay.results import Finding
from assay.units import format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Judge the pauses of the phase: those that reach into the window moved its number."""
    counted = case.window.counted
    pauses = [pause for pause in case.record.pauses if pause.paused_ns / NS_PER_S >= thresholds.PAUSE_S]
    if not pauses:
        return ()
    inside = [pause for pause in pauses if pause.begun_ns < counted.end_ns and pause.t_ns > counted.begin_ns]
    long_s = [pause.paused_ns / NS_PER_S for pause in inside or pauses]
    times = "" if len(long_s) == 1 else f" in {len(long_s)} pauses"
    text = (
        f"The client stood still for {format_seconds(sum(long_s))}{times}: it was suspended, frozen or stopped. What was"
        " under way then took that much longer than the storage needed, and nothing else was done."
    )
    if not inside:
        return (findings.note("client-paused", f"{text} That was outside the window, and is in no number."),)
    is_grave = sum(long_s) > thresholds.PAUSE_SHARE * case.seconds
    judged = findings.invalid if is_grave else findings.warning
    return (judged("client-paused", text, "Keep the machine awake and the run going, then run again."),)
