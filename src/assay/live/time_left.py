"""Estimate the remaining time of the phases of a run, from their stop rules."""

from assay.plan import Phase, Plan


def words_left(plan: Plan, index: int, passed_s: float) -> str:
    """Return the time left: of the run if all its phases have a limit, else of the phase.

    What is laid out and removed between phases is not in it, nor what a phase goes on for until it is steady.

    Args:
        plan: The Plan that runs.
        index: The phase that is on.
        passed_s: Seconds since it began.
    """
    own_s = _seconds(plan.phases[index])
    if own_s is None:
        return ""
    left_s = max(0.0, own_s - passed_s)
    others = [_seconds(phase) for phase in plan.phases[index + 1 :]]
    if any(each is None for each in others):
        return f"{_clock(left_s)} left in this"
    return f"{_clock(left_s + sum(each or 0.0 for each in others))} left"


def _seconds(phase: Phase) -> float | None:
    """Time after which a phase ends if nothing else ends it; of a phase that may be extended, its usual time."""
    own = [seconds for seconds in (phase.stop.seconds, *phase.job_times_s) if seconds]
    return min(own) if own else None


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, seconds_left = divmod(whole, 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours}:{minutes_left:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
