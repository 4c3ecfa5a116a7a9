"""Has a phase that may be extended come to a steady rate, so that it can end?

While it runs, from the engine's own intervals: once the asked time is over, and at intervals after that, each of its
jobs is judged as its result will be (`statistics/steady.py`). The phase can end when all of them are steady, were so
for as long as was asked for, and are known well enough. It ends by itself at its longest time. A phase with a rule of
evenness of its own ends by that (`evenness.py`), and rounds by theirs (`next_round.py`).
"""

from collections.abc import Iterator

import numpy as np

from assay import events
from assay.analysis import thresholds
from assay.analysis.evenness import Evenness
from assay.analysis.next_round import RoundDecision
from assay.analysis.rows import NS_PER_S
from assay.analysis.series import gathered_rates
from assay.analysis.statistics.mean import mean_interval
from assay.analysis.statistics.steady import judge
from assay.plan import Phase, Plan
from assay.plan.walk import job_ops
from assay.verdicts import SteadyVerdict

_LOOK_AGAIN, _STEADY_ENOUGH = 0.25, 0.80
"""Of the asked time: after which a phase that is not steady is assessed again, and for which it has to have been steady."""


class Settling:
    """Follows the phases of one run."""

    def __init__(self, plan: Plan) -> None:
        """Nothing was heard yet."""
        self._plan = plan
        self._index = -1
        self._intervals: list[tuple[int, dict[str, int]]] = []
        self._passed_ns = 0
        self._next_s = 0.0
        self._evenness: Evenness | None = None
        self._next_round = RoundDecision(plan)

    def order(self, phase_index: int) -> events.Start | events.SkipTo:
        """Give the order for a phase that is ready."""
        return self._next_round.order(phase_index)

    def hear(self, event: events.Event | None) -> events.EndPhase | None:
        """Take an event in; the order to end the phase, where it can end."""
        match event:
            case events.Started():
                self._index, self._intervals, self._passed_ns = event.phase_index, [], 0
                self._next_s = self._phase.stop.seconds or 0.0
                self._evenness = Evenness(self._phase.steady) if self._phase.steady else None
                self._next_round.begin(event)
            case events.Interval() if event.phase_index == self._index and event.dt_ns > 0:
                self._next_round.hear(event, _parts(self._phase, event))
                return self._look(event)
            case _:
                pass
        return None

    @property
    def _phase(self) -> Phase:
        return self._plan.phases[self._index]

    def _look(self, event: events.Interval) -> events.EndPhase | None:
        phase = self._phase
        if self._evenness is not None and self._evenness.hear(event.dt_ns, _parts(phase, event)):
            self._evenness, self._next_s = None, float("inf")
            return events.EndPhase(phase_index=self._index)
        if phase.extend_to_s is None or phase.stop.seconds is None:
            return None
        ops: dict[str, int] = {job.name: 0 for job in phase.jobs}
        for name, count in _counted(phase, event).items():
            ops[name] += count
        self._intervals.append((event.dt_ns, ops))
        self._passed_ns += event.dt_ns
        passed_s = self._passed_ns / NS_PER_S
        if passed_s < self._next_s:
            return None
        if all(self._has_settled(job.name, phase.stop.seconds) for job in phase.jobs):
            self._next_s = float("inf")
            return events.EndPhase(phase_index=self._index)
        self._next_s = passed_s + _LOOK_AGAIN * phase.stop.seconds
        return None

    def _has_settled(self, job: str, seconds: float) -> bool:
        edges = np.cumsum([0, *(length_ns for length_ns, _ in self._intervals)])
        series = gathered_rates(edges, np.array([ops[job] for _, ops in self._intervals], dtype=np.int64))
        found = judge(series.rates, unit=series.unit)
        if found.verdict is not SteadyVerdict.STEADY or found.last is None:
            return False
        enough_s = max(_STEADY_ENOUGH * seconds, thresholds.SHORT_WINDOW_S)
        if series.span(found.last.begin, found.last.end).seconds <= enough_s:
            return False
        rate = mean_interval(series.rates[found.last.begin :])
        return rate is not None and rate.half_width <= thresholds.WIDE_INTERVAL * rate.mean


def _parts(phase: Phase, event: events.Interval) -> Iterator[tuple[int, int, int]]:
    """Operations, bytes and latencies, each counted once."""
    return ((one.ops, one.bytes, one.latency.sum_ns) for one in _once(phase, event))


def _counted(phase: Phase, event: events.Interval) -> dict[str, int]:
    """Operations by job, each counted once."""
    counted: dict[str, int] = {}
    for one in _once(phase, event):
        counted[one.job] = counted.get(one.job, 0) + one.ops
    return counted


def _once(phase: Phase, event: events.Interval) -> Iterator[events.OperationInterval]:
    """Give what counts: a group of which members are recorded does not."""
    recorded = {(one.job, one.operation) for one in event.operations}
    members = {job.name: {op.name for op in job_ops(job)} for job in phase.jobs}
    for one in event.operations:
        singles = members.get(one.job, set())
        is_group = one.operation not in singles
        if is_group and any((one.job, name) in recorded for name in singles):
            continue
        yield one
