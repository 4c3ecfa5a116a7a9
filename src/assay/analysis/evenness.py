"""Is what a phase does even enough to end, by the rule that the load gives?

Of the last `window_s` of it, in values of `step_s`: y(0) to y(n - 1). By slope, the line of least squares

    b = (sum i y(i) - sum i sum y(i) / n) / (sum i^2 - (sum i)^2 / n)

rises or falls by less than the bound from one value to the next; by deviation, each value is nearer to their mean than the
bound. In per cent, both are held against the mean. This is what fio's `steadystate` does (HOWTO, "Steady state"; 3.33).

Limits: it ends a phase at the first window that looks even, which noise makes one do sooner or later; whether the rate was
steady is judged by the result's own rules (`statistics/steady.py`).
"""

from collections import deque
from collections.abc import Iterable

import numpy as np

from assay.analysis.rows import NS_PER_S
from assay.plan import SteadyBy, SteadyOf, SteadyRule

_SLACK = 0.5
"""Of an interval: by so much the last of a step may end before it is over, because ticks are late by different times."""


class Evenness:
    """Follows one phase from its start."""

    def __init__(self, rule: SteadyRule) -> None:
        """Nothing was heard yet."""
        self._rule = rule
        self._values: deque[float] = deque(maxlen=max(2, round(rule.window_s / rule.step_s)))
        self._passed_ns = 0
        self._step_ns = self._ops = self._bytes = self._latency_ns = 0

    def hear(self, dt_ns: int, parts: Iterable[tuple[int, int, int]]) -> bool:
        """Take an interval in; whether the phase is even now.

        Args:
            dt_ns: Its length.
            parts: Operations, bytes and the sum of latencies in nanoseconds, of each operation.
        """
        self._passed_ns += dt_ns
        if self._passed_ns - dt_ns < self._rule.skip_s * NS_PER_S - _SLACK * dt_ns:
            return False
        self._step_ns += dt_ns
        for ops, moved, latency_ns in parts:
            self._ops += ops
            self._bytes += moved
            self._latency_ns += latency_ns
        if self._step_ns < self._rule.step_s * NS_PER_S - _SLACK * dt_ns:
            return False
        self._values.append(self._value())
        self._step_ns = self._ops = self._bytes = self._latency_ns = 0
        return len(self._values) == self._values.maxlen and self._is_even()

    def _value(self) -> float:
        match self._rule.of:
            case SteadyOf.OPS:
                return self._ops * NS_PER_S / self._step_ns
            case SteadyOf.BYTES:
                return self._bytes * NS_PER_S / self._step_ns
            case SteadyOf.LATENCY:
                return self._latency_ns / self._ops if self._ops else 0.0

    def _is_even(self) -> bool:
        values = np.array(self._values)
        mean = float(values.mean())
        if self._rule.by is SteadyBy.SLOPE:
            number = np.arange(len(values)) - (len(values) - 1) / 2
            found = abs(float((number * values).sum() / (number * number).sum()))
        else:
            found = float(np.abs(values - mean).max())
        if not self._rule.is_percent:
            return found < self._rule.bound
        return mean > 0 and 100 * found / mean < self._rule.bound
