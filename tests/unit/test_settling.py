"""When may a phase end that can be extended? Intervals of known rates, fed one by one."""

from collections.abc import Iterable

import numpy as np

from assay import events, plan
from assay.analysis.settling import Settling
from unit.noise import FloatArray, correlated
from unit.synthetic import NS, interval_of, one_job, one_plan

INTERVAL_NS = NS // 10


def phase(extend_to_s: float | None = 30.0) -> plan.Phase:
    return plan.Phase(name="p", title="p", jobs=(one_job(),), stop=plan.Stop(seconds=5.0), extend_to_s=extend_to_s)


def interval(number: int, ops: int) -> events.Interval:
    return interval_of(number, ops, dt_ns=INTERVAL_NS)


def noisy(levels: FloatArray, seed: int, *, cv: float, phi: float) -> FloatArray:
    rates: FloatArray = levels * (1 + cv * correlated(seed, len(levels), phi))
    return rates


def ended_after_s(rates: Iterable[float], *, of: plan.Phase | None = None) -> float | None:
    """Say after how long the phase is told to end, if it is, and that it is told so once."""
    settling = Settling(one_plan(of or phase(), sample_interval_s=0.1))
    settling.hear(events.Started(t_ns=0, phase_index=0, start_ns=0))
    said = [
        (number, order)
        for number, rate in enumerate([0.0, *rates])
        if (order := settling.hear(interval(number, round(rate / 10)))) is not None
    ]
    assert [order for _, order in said] in ([], [events.EndPhase(phase_index=0)])
    return said[0][0] / 10 if said else None


def test_a_steady_rate_ends_with_the_asked_time() -> None:
    rates = noisy(np.full(300, 10_000.0), 1, cv=0.03, phi=0.3)

    assert ended_after_s(rates) == 5.0


def test_a_rate_that_settles_later_goes_on_for_as_long_as_was_asked() -> None:
    level = np.full(300, 10_000.0)
    level[:40] *= 3  # a cache that is full after 4 s
    rates = noisy(level, 2, cv=0.03, phi=0.3)

    ended_s = ended_after_s(rates)

    # Steady from 4 s on, for 80 % of 5 s, looked at every 1.25 s.
    assert ended_s is not None
    assert 8.0 < ended_s <= 12.5


def test_a_phase_is_looked_at_again_after_each_quarter_of_the_asked_time() -> None:
    rates = np.full(300, 10_000.0)
    rates[:42] *= 3

    # Steady from 4.2 s on, which has to last for more than 4 s: 80 % of 5 s. After 5 s it is looked at every 1.25 s, at the
    # next end of an interval of 0.1 s: 6.3, 7.6, 8.9 s.
    assert ended_after_s(rates) == 8.9


def test_a_rate_that_never_settles_is_left_to_the_longest_time() -> None:
    rates = noisy(np.linspace(20_000, 5_000, 300), 3, cv=0.02, phi=0.0)

    assert ended_after_s(rates) is None


def test_a_phase_without_a_longest_time_is_left_alone() -> None:
    rates = noisy(np.full(100, 10_000.0), 4, cv=0.03, phi=0.3)

    assert ended_after_s(rates, of=phase(extend_to_s=None)) is None


def test_a_wide_interval_is_not_enough() -> None:
    rates = noisy(np.full(60, 10_000.0), 5, cv=0.9, phi=0.0)

    assert ended_after_s(np.maximum(rates, 10.0)) is None
