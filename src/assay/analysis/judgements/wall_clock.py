"""Compare the wall clock with the duration of the run.

Every duration and rate of a run is by a clock that nobody steps (CLOCK_MONOTONIC). The times of day at its begin and its
end are the wall clock's. What they are apart beyond what the run took is what the wall clock was stepped, or for how long
the machine was suspended. Nothing that was measured turns on it; the times of day, and with them the order of runs, do.
"""

import datetime as dt
from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.record import RunRecord
from assay.results import Finding


def judge(run: RunRecord) -> Iterable[Finding]:
    """Judge the times of day of a sealed run."""
    if run.info.ended_utc is None or run.info.seconds is None:
        return ()
    apart = dt.datetime.fromisoformat(run.info.ended_utc) - dt.datetime.fromisoformat(run.info.started_utc)
    stepped_s = apart.total_seconds() - run.info.seconds
    if abs(stepped_s) < thresholds.CLOCK_STEP_S:
        return ()
    way = "forwards" if stepped_s > 0 else "backwards"
    why = " (or the machine was suspended)" if stepped_s > 0 else ""
    text = (
        f"The wall clock was stepped {way} by {abs(stepped_s):,.0f} s in this run{why}. Durations, rates and latencies are"
        " not affected; times of day are."
    )
    cure = "Let a time service set the clock before the run."
    return (findings.note("clock-stepped", text, cure),)
