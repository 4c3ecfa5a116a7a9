"""Decide, while a run goes on, whether another round of its phases begins.

A phase with the gate `NextRound` is the first of a round that follows a full window of rounds. When it is ready, the results
of the last `window` rounds are looked at (`statistics/round_level.py`): where those of all the named phases are steady, the
other rounds are left out. A result is the operations or bytes of a phase by its time without its ramp, or the mean latency.
"""

from collections.abc import Iterable

from assay import events
from assay.analysis.rows import NS_PER_S
from assay.analysis.statistics.round_level import level_of
from assay.plan import NextRound, Plan, SteadyOf

_TOLERANCE = 0.01
"""A tick may miss its place on the grid by this share of the sample interval."""


class RoundDecision:
    """Follows the phases of one run."""

    def __init__(self, plan: Plan) -> None:
        """Nothing was heard yet."""
        self._plan = plan
        self._totals: dict[int, list[int]] = {}
        """By index of a phase: time in nanoseconds, operations, bytes, and sum of latencies in nanoseconds."""
        self._ramp_end_ns = 0

    def begin(self, started: events.Started) -> None:
        """Take the start of a phase in."""
        phase = self._plan.phases[started.phase_index]
        self._totals[started.phase_index] = [0, 0, 0, 0]
        slack_s = _TOLERANCE * self._plan.sample_interval_s
        self._ramp_end_ns = started.start_ns + int((phase.ramp_s - slack_s) * NS_PER_S) if phase.ramp_s else 0

    def hear(self, event: events.Interval, parts: Iterable[tuple[int, int, int]]) -> None:
        """Take an interval of the phase in.

        Args:
            event: The interval.
            parts: Operations, bytes and the sum of latencies in nanoseconds, of each operation.
        """
        if event.t_ns - event.dt_ns < self._ramp_end_ns:
            return
        totals = self._totals[event.phase_index]
        totals[0] += event.dt_ns
        for ops, moved, latency_ns in parts:
            for place, amount in enumerate((ops, moved, latency_ns), start=1):
                totals[place] += amount

    def order(self, phase_index: int) -> events.Start | events.SkipTo:
        """Give the order for a phase that is ready."""
        phase = self._plan.phases[phase_index]
        if isinstance(phase.gate, NextRound) and self._is_steady(phase.repeat):
            return events.SkipTo(phase_index=phase_index, next_index=len(self._plan.phases))
        return events.Start(phase_index=phase_index, at_monotonic_ns=0)

    def _is_steady(self, repeat: int) -> bool:
        rule = self._plan.rounds
        if rule is None:
            return False
        window = range(repeat - rule.window, repeat)
        levels = [level_of([self._result(name, one, rule.by) for one in window]) for name in rule.of]
        return all(level is not None and level.is_steady(rule) for level in levels)

    def _result(self, name: str, repeat: int, by: SteadyOf) -> float:
        phases = enumerate(self._plan.phases)
        index = next((place for place, phase in phases if phase.name == name and phase.repeat == repeat), -1)
        time_ns, ops, moved, latency_ns = self._totals.get(index, (0, 0, 0, 0))
        if by is SteadyOf.LATENCY:
            return latency_ns / ops if ops else 0.0
        return (ops if by is SteadyOf.OPS else moved) * NS_PER_S / time_ns if time_ns else 0.0
