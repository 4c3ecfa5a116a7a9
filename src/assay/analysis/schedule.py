"""Were the arrivals of an open loop served as they came?

`kept_up` when at least 99 % of those that were due had been issued when the phase ended (METHOD 2.5): below, the backlog
grows with the length of the run, and so do the response times.
"""

from assay.analysis import thresholds
from assay.analysis.subject import Subject
from assay.events import Arrivals
from assay.plan import Arrival, Open, OpenShare
from assay.results import Schedule
from assay.verdicts import ScheduleVerdict


def schedule_of(subject: Subject) -> Schedule | None:
    """Say what became of a job's arrivals; None for a closed loop, and for a phase that was cut before it could be told."""
    arrival, arrivals = subject.job.arrival, subject.facts.arrivals if subject.facts else None
    rate_per_s = scheduled_rate(arrival, arrivals)
    if rate_per_s is None or arrivals is None or not arrivals.scheduled:
        return None
    issued = (arrivals.scheduled - arrivals.unissued) / arrivals.scheduled
    keeps_up = issued >= thresholds.ACHIEVED_SHARE
    return Schedule(
        verdict=ScheduleVerdict.KEPT_UP if keeps_up else ScheduleVerdict.FELL_BEHIND,
        rate_per_s=rate_per_s,
        arrivals=arrivals.scheduled,
        late=arrivals.missed,
        backlog=arrivals.unissued,
    )


def scheduled_rate(arrival: Arrival, arrivals: Arrivals | None) -> float | None:
    """Say how many arrivals a second there were to be; None: a closed loop, or a share of a rate that nobody told."""
    if not isinstance(arrival, Open | OpenShare):
        return None
    told = arrivals.rate_per_s if arrivals else None
    # What an engine says that it scheduled holds for shares of a load, too.
    return arrival.rate_per_s if told is None and isinstance(arrival, Open) else told
