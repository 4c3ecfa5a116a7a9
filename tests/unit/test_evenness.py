"""When is a phase even enough to end? Values whose slope and spread are known."""

import pytest

from assay import events, plan
from assay.analysis.evenness import Evenness
from assay.analysis.settling import Settling
from unit.synthetic import NS, interval_of, one_job, one_plan

Part = tuple[int, int, int]


def rule(of: str = "ops", by: str = "deviation", bound: float = 10.0, **others: object) -> plan.SteadyRule:
    fields = {"window_s": 4.0, "step_s": 1.0} | others
    return plan.SteadyRule(of=plan.SteadyOf(of), by=plan.SteadyBy(by), bound=bound, **fields)  # type: ignore[arg-type]


def even_after(of: plan.SteadyRule, parts: list[Part], dt_ns: int = NS) -> int | None:
    """Number of intervals after which it is even."""
    evenness = Evenness(of)
    return next((number for number, part in enumerate(parts, start=1) if evenness.hear(dt_ns, [part])), None)


def ops(*counts: int) -> list[Part]:
    return [(count, 4096 * count, 1000 * count) for count in counts]


@pytest.mark.parametrize(
    ("values", "bound", "after"),
    [
        # The largest distance from the mean of 100, 110, 90, 100 is a tenth of it.
        (ops(100, 110, 90, 100), 10.1, 4),
        (ops(100, 110, 90, 100), 10.0, None),
        # A window later 200 has left.
        (ops(200, 100, 100, 100, 100), 10.0, 5),
        (ops(100, 100, 100), 10.0, None),
        (ops(0, 0, 0, 0), 10.0, None),
    ],
)
def test_deviation_is_the_largest_distance_from_the_mean(values: list[Part], bound: float, after: int | None) -> None:
    assert even_after(rule(bound=bound), values) == after


@pytest.mark.parametrize(
    ("bound", "is_percent", "after"), [(5.1, False, 4), (5.0, False, None), (4.7, True, 4), (4.6, True, None)]
)
def test_slope_is_that_of_the_line_of_least_squares(bound: float, *, is_percent: bool, after: int | None) -> None:
    # 100, 105, 110, 115: 5 from one to the next, 4.65 % of the mean of 107.5.
    found = even_after(rule(by="slope", bound=bound, is_percent=is_percent), ops(100, 105, 110, 115))

    assert found == after


def test_what_falls_is_as_uneven_as_what_rises() -> None:
    assert even_after(rule(by="slope", bound=4.6), ops(115, 110, 105, 100)) is None


@pytest.mark.parametrize(("of", "after"), [("ops", 4), ("bytes", None), ("latency", None)])
def test_each_is_judged_by_its_own_values(of: str, after: int | None) -> None:
    parts = [(100, moved, latency) for moved, latency in ((100, 100), (200, 200), (300, 300), (400, 400))]

    assert even_after(rule(of=of), parts) == after


def test_latency_is_the_mean_of_all_operations_of_a_step() -> None:
    # 1 us each, however many.
    assert even_after(rule(of="latency", bound=0.1), ops(1, 100, 7, 1000)) == 4


def test_a_step_without_an_operation_has_a_latency_of_nothing() -> None:
    # 1, 0, 1 and 0 ns are half a nanosecond from their mean.
    parts = [(1, 4096, 1), (0, 0, 0)] * 2

    assert even_after(rule(of="latency", bound=0.51, is_percent=False), parts) == 4
    assert even_after(rule(of="latency", bound=0.49, is_percent=False), parts) is None


def test_what_is_skipped_is_in_no_value_and_steps_are_made_of_whole_intervals() -> None:
    levels = [50] * 10 + [10] * 40

    # 1 s of the ramp, and four values of 1 s.
    assert even_after(rule(skip_s=1.0), ops(*levels), dt_ns=NS // 10) == 50


def test_a_phase_is_told_once_to_end_when_it_is_even() -> None:
    phase = plan.Phase(name="p", title="p", jobs=(one_job(),), steady=rule())
    settling = Settling(one_plan(phase, sample_interval_s=1.0))
    settling.hear(events.Started(t_ns=0, phase_index=0, start_ns=0))

    said = [settling.hear(interval_of(number, 100, dt_ns=NS)) for number in range(8)]

    assert said == [None] * 4 + [events.EndPhase(phase_index=0)] + [None] * 3
