"""Were the arrivals of an open loop served as they came?

`kept_up` when at least 99 % of those that were due had been issued when the phase ended (METHOD 2.5), and the backlog did
not grow throughout (METHOD 2.8, `statistics/backlog.py`). Otherwise the response times depend on the length of the run.
"""

import dataclasses

from assay.analysis import thresholds
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.series import ops_within, series_edges
from assay.analysis.statistics.backlog import grows
from assay.analysis.subject import Subject
from assay.events import Arrivals
from assay.plan import Arrival, Open, OpenShare
from assay.results import Schedule
from assay.verdicts import ScheduleVerdict


def schedule_of(subject: Subject) -> Schedule | None:
    """Describe what became of a job's arrivals; None for a closed loop, and for a phase that was cut."""
    arrival, arrivals = subject.job.arrival, subject.facts.arrivals if subject.facts else None
    rate_per_s = scheduled_rate(arrival, arrivals)
    if rate_per_s is None or arrivals is None or not arrivals.scheduled:
        return None
    issued = (arrivals.scheduled - arrivals.unissued) / arrivals.scheduled
    keeps_up = issued >= (1 - thresholds.NEGLIGIBLE_SHARE) and lateness_of(subject) is None
    return Schedule(
        verdict=ScheduleVerdict.KEPT_UP if keeps_up else ScheduleVerdict.FELL_BEHIND,
        rate_per_s=rate_per_s,
        arrivals=arrivals.scheduled,
        late=arrivals.missed,
        backlog=arrivals.unissued,
    )


@dataclasses.dataclass(frozen=True)
class GrowingLateness:
    """Mean lateness of an open loop whose backlog grew, in nanoseconds."""

    first_ns: float
    """Of the first fifth of the phase."""
    last_ns: float
    """Of the last."""


def lateness_of(subject: Subject) -> GrowingLateness | None:
    """Give the lateness at the begin and the end of a phase; None where the backlog did not grow throughout."""
    record, job = subject.record, subject.job.name
    rows = [found for (of, _), found in record.operation_rows.items() if of == job and found.total("response_sum_ns")]
    begin_ns = record.start_ns + int(record.phase.ramp_s * NS_PER_S)
    edges = series_edges(record, Span(begin_ns, record.whole.end_ns))
    ops, response_ns, latency_ns = (
        ops_within(edges, rows, name) for name in ("ops", "response_sum_ns", "latency_sum_ns")
    )
    done = ops > 0
    late_ns = (response_ns - latency_ns)[done] / ops[done]
    if not done.any() or not grows(late_ns, float(latency_ns.sum() / ops.sum())):
        return None
    fifth = len(late_ns) // 5
    return GrowingLateness(float(late_ns[:fifth].mean()), float(late_ns[-fifth:].mean()))


def scheduled_rate(arrival: Arrival, arrivals: Arrivals | None) -> float | None:
    """Return how many arrivals a second there were to be; None: a closed loop, or a share of an unknown rate."""
    if not isinstance(arrival, Open | OpenShare):
        return None
    scheduled = arrivals.rate_per_s if arrivals else None
    # What an engine says that it scheduled holds for shares of a load, too.
    return arrival.rate_per_s if scheduled is None and isinstance(arrival, Open) else scheduled
