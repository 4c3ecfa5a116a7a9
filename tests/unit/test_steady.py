"""The eight shapes of short runs: where each is steady, at which level, and what is refused (docs/method.md)."""

import math
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from assay.analysis.judgements import steady as steady_judgement
from assay.analysis.rows import Span
from assay.analysis.series import RateSeries, gathered_rates, series_edges
from assay.analysis.statistics.levels import Level, Levels
from assay.analysis.statistics.mean import MeanInterval
from assay.analysis.statistics.period import _is_peak
from assay.analysis.statistics.steady import (
    Steadiness,
    Stretch,
    _matters,
    _moves,
    _rest_of_start,
    judge,
    mser_cut,
    staircase,
)
from assay.analysis.statistics.trend import trend
from assay.analysis.steadiness import JobSteadiness
from assay.analysis.window import Window
from assay.verdicts import SteadyVerdict
from unit.noise import FloatArray, correlated

SEEDS = range(150)
DRAIN_S = 6.0

SHAPES: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "flat": lambda at, _: np.ones_like(at),
    "cache that drains": lambda at, _: 1 + 1.63 * np.exp(-at / DRAIN_S),
    "ramp": lambda at, _: np.minimum(0.3 + 0.7 * at / 15, 1),
    "plateau, then a cliff": lambda at, _: np.where(at < 20, 3.0, 1.0),
    "late cliff": lambda at, n: np.where(at < 0.75 * n, 2.0, 1.0),
    # What the clients that left took with them is outside: the series ends when the first is done.
    "clients leave": lambda at, n: np.where(at >= n - 10, 1.3, 1.0)[: n - 10],
    "slow drift": lambda at, n: 1.25 - 0.25 * at / n,
    "periodic": lambda at, _: np.where(at % 10 < 2, 1.25, 1.0),
}
TRUTH = {"periodic": 1.05}
"""Means at which they end, where that is not 1: spikes that come again belong to the load."""


def series(shape: str, n: int, seed: int, deviation: float = 0.04, correlation: float = 0.5) -> FloatArray:
    """One of the shapes with noise."""
    level = SHAPES[shape](np.arange(n, dtype=float), n)
    return level * (1 + deviation * correlated(seed, len(level), correlation))


def judged(shape: str, n: int) -> tuple[Counter[SteadyVerdict], FloatArray, list[Steadiness]]:
    """What becomes of a shape in different noise: verdicts, errors of the levels that were believed."""
    found = [judge(series(shape, n, seed)) for seed in SEEDS]
    believed = [one.last.mean for one in found if one.verdict is SteadyVerdict.STEADY and one.last]
    return Counter(one.verdict for one in found), np.array(believed) / TRUTH.get(shape, 1.0) - 1, found


@pytest.mark.parametrize("n", [60, 120])
@pytest.mark.parametrize(
    ("shape", "believed_share"),
    [
        ("flat", 0.95),
        ("cache that drains", 0.5),
        ("ramp", 0.8),
        ("plateau, then a cliff", 0.95),
        ("clients leave", 0.93),
        ("periodic", 0.93),
    ],
)
@pytest.mark.long
def test_the_level_of_what_becomes_steady_is_found(shape: str, believed_share: float, n: int) -> None:
    verdicts, errors, _ = judged(shape, n)

    assert verdicts[SteadyVerdict.STEADY] >= believed_share * len(SEEDS)
    assert abs(errors.mean()) <= 0.015
    assert np.abs(errors).max() <= 0.07


@pytest.mark.parametrize("cliff", [36, 37, 38, 39, 40, 41])
@pytest.mark.parametrize("n", [60, 100, 200])
def test_a_level_begins_at_the_value_at_which_it_does_however_values_are_gathered(n: int, cliff: int) -> None:
    values = np.where(np.arange(n) < cliff, 3000.0, 1000.0)

    found = judge(values)

    assert found.verdict is SteadyVerdict.STEADY
    assert found.last == Stretch(cliff, n, 1000.0)
    assert found.before == (Stretch(0, cliff, 3000.0),)


@pytest.mark.parametrize("n", [60, 120])
def test_a_late_cliff_is_never_believed(n: int) -> None:
    verdicts, _, found = judged("late cliff", n)

    assert verdicts == {SteadyVerdict.LATE_SHIFT: len(SEEDS)}
    assert all(any(abs(stretch.end - 0.75 * n) <= 3 for stretch in one.before) for one in found)
    assert all(abs(one.before[0].mean - 2) < 0.1 for one in found)


@pytest.mark.parametrize(("n", "refused_share"), [(60, 0.93), (120, 0.99)])
def test_a_slow_drift_is_refused(n: int, refused_share: float) -> None:
    verdicts, _, _ = judged("slow drift", n)

    assert verdicts[SteadyVerdict.STEADY] <= (1 - refused_share) * len(SEEDS)


def test_what_came_before_the_cliff_is_told() -> None:
    found = judge(series("plateau, then a cliff", 60, 1))

    (plateau,) = found.before
    assert (plateau.begin, plateau.end) == (0, 20)
    assert plateau.mean == pytest.approx(3, rel=0.05)
    assert found.last is not None
    assert (found.last.begin, found.last.end) == (20, 60)


def test_a_window_is_whole_periods() -> None:
    found = judge(series("periodic", 64, 2))

    assert found.period == 10
    assert found.last is not None
    assert (found.last.end - found.last.begin) % 10 == 0
    assert found.last.mean == pytest.approx(1.05, rel=0.02)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("n", [30, 60, 120, 600])
@pytest.mark.long
def test_noise_has_no_period(n: int, correlation: float) -> None:
    found = sum(judge(1 + 0.04 * correlated(seed, n, correlation)).period is not None for seed in range(200))

    assert found <= 0.05 * 200


def test_mser_cuts_the_start_off_and_sees_no_cliff_past_the_middle() -> None:
    drains, late = series("cache that drains", 60, 3), series("late cliff", 60, 3)

    assert 10 <= (mser_cut(drains) or 0) <= 30
    assert mser_cut(late) is None or mser_cut(late) == 0
    assert judge(drains).mser_mean == pytest.approx(1, abs=0.04)


def test_a_standstill_is_part_of_the_series() -> None:
    values = np.full(60, 1000.0)
    values[40:52] = 0.0

    assert judge(values).verdict is not SteadyVerdict.STEADY


def test_too_little_is_not_judged() -> None:
    assert judge(np.array([])).verdict is SteadyVerdict.NO_DATA
    assert judge(np.zeros(60)).verdict is SteadyVerdict.NO_DATA
    assert judge(np.ones(19)).verdict is SteadyVerdict.TOO_SHORT
    assert judge(np.ones(20)).verdict is SteadyVerdict.STEADY


@pytest.mark.parametrize("n", [20, 21, 33, 61, 3600, 10_000])
def test_any_length_is_judged(n: int) -> None:
    found = judge(1000 * (1 + 0.04 * correlated(5, n, 0.5)))

    assert found.verdict is SteadyVerdict.STEADY
    assert found.last is not None
    assert found.last.mean == pytest.approx(1000, rel=0.06)


def test_a_series_that_comes_to_nothing_has_no_number() -> None:
    for n in (40, 60, 120):
        values = np.full(n, 1000.0)
        values[n // 3 :] = 0

        assert judge(values).verdict is SteadyVerdict.LATE_SHIFT


@pytest.mark.parametrize(("deviation", "is_moving"), [(0.24, True), (0.253, False)])
def test_batch_means_move_beyond_four_times_the_variance_that_chance_leaves_them(
    deviation: float, is_moving: bool
) -> None:
    # Batches of ten about 1 and 1.3: their means differ by more than 20 %, and have the variance 0.108 / 4 = 0.027.
    means = np.repeat([1.0, 1.3, 1.0, 1.3, 1.0], 10)
    noise = deviation * np.tile([1.0, -1.0], 25)

    # The variance inside is deviation^2 * 10 / 9, a tenth of which is that of a mean: 4 times it is 0.0256 and 0.0284.
    assert _moves(means + noise) is is_moving


PATTERN = np.tile([1.0, -1.0, -1.0, 1.0], 10)
"""Forty values without mean, trend or correlation of neighbours."""


@pytest.mark.parametrize(
    ("rise", "noise", "matters"),
    [
        (math.log(1.049), 0.0, False),
        (math.log(1.051), 0.0, True),
        # Over 40 values the standard error is 39 sqrt(40 / 38 noise^2 / 5330) = 0.548 noise; 2.6 of them are 1.425 noise.
        (0.1, 0.0695, True),
        (0.1, 0.0710, False),
    ],
)
def test_a_line_matters_above_5_percent_and_26_tenths_of_its_standard_error(
    rise: float, noise: float, matters: bool
) -> None:
    assert _matters(trend(np.linspace(0.0, rise, 40) + noise * PATTERN)) is matters


@pytest.mark.parametrize(
    ("above", "noise", "left_out"),
    [
        (0.0099, 0.0, 0),
        (0.0101, 0.0, 5),
        # Of 5 and 40 values the means have the standard error sqrt(40 / 39 (1 / 5 + 1 / 40)) = 0.480 noise; twice is 0.961.
        (0.0475, 0.05, 0),
        (0.0485, 0.05, 5),
    ],
)
def test_a_start_is_left_out_that_is_one_percent_and_two_standard_errors_apart(
    above: float, noise: float, left_out: int
) -> None:
    values = np.concatenate([np.full(5, 1 + above), 1 + noise * PATTERN])

    assert _rest_of_start(values) == left_out


@pytest.mark.parametrize(
    ("n", "peak", "at_twice", "is_peak"),
    [
        (200, 0.29, 0.5, False),
        (200, 0.31, 0.5, True),
        # Of 40 values, 35 are a lag of 5 apart: 2.6 / sqrt(35) = 0.439.
        (40, 0.43, 0.5, False),
        (40, 0.45, 0.5, True),
        (200, 0.5, 0.19, False),
        (200, 0.5, 0.21, True),
    ],
)
def test_a_lag_is_a_period_where_its_correlation_is_no_chance_and_returns(
    n: int, peak: float, at_twice: float, is_peak: bool
) -> None:
    correlations = np.array([1.0, 0.0, -0.2, -0.2, 0.0, peak, 0.0, -0.2, -0.2, 0.0, at_twice, 0.0])

    assert _is_peak(correlations, 5, n) is is_peak


@pytest.mark.parametrize(("place", "is_peak"), [(8, False), (9, True), (10, True), (11, True), (12, False)])
def test_a_period_returns_at_twice_its_lag_give_or_take_one(place: int, is_peak: bool) -> None:
    correlations = np.array([1.0, 0.0, -0.2, -0.2, 0.0, 0.9, *[-0.2] * 8])
    correlations[place] = 0.8

    assert _is_peak(correlations, 5, 1000) is is_peak


@pytest.mark.parametrize(("each", "count"), [(21, 100), (20, 100), (19, 50), (10, 50), (9, 33), (2, 20)])
def test_intervals_are_put_together_to_hold_twenty_operations_each(each: int, count: int) -> None:
    # 19 and 10 need two, 9 needs three; of 2 no more than five of a hundred, so that twenty intervals are left.
    edges_ns = np.arange(101) * 1_000_000_000

    assert len(gathered_rates(edges_ns, np.full(100, each))) == count


def steadiness(
    *, half: float = 1.0, change: float = 0.0, known: float = 1.0, mser_mean: float | None = None
) -> JobSteadiness:
    """A steady rate of 100 with half of its interval, whose halves differ and have intervals of 3 and 4 times `known`."""
    begin, end = (MeanInterval(100.0 + side * change / 2, width * known, 20.0) for side, width in ((-1, 3.0), (1, 4.0)))
    return JobSteadiness(
        series=RateSeries(np.arange(41), np.full(40, 100)),
        found=Steadiness(SteadyVerdict.STEADY, last=Stretch(0, 40, 100.0), mser_mean=mser_mean),
        window=Window(Span(0, 40), Span(0, 40)),
        rate=MeanInterval(100.0, half, 20.0),
        halves=(begin, end),
    )


@pytest.mark.parametrize(
    ("known", "id_"),
    [
        ({"half": 9.9}, None),
        ({"half": 10.1}, "wide-interval"),
        # 1.31 times sqrt(3^2 + 4^2) is 6.55.
        ({"change": 6.5}, None),
        ({"change": 6.6}, "not-steady"),
        ({"change": -6.6}, "not-steady"),
        # Where chance leaves 0.66 %, a change has to be one of level: of 5 %.
        ({"change": 4.9, "known": 0.1}, None),
        ({"change": 5.1, "known": 0.1}, "not-steady"),
        ({"mser_mean": 104.9}, None),
        ({"mser_mean": 105.1}, "earlier-levels"),
        ({"mser_mean": 94.9}, "earlier-levels"),
    ],
)
def test_what_makes_a_steady_rate_uncertain_is_named_beyond_its_threshold(
    known: dict[str, float], id_: str | None
) -> None:
    case = SimpleNamespace(steadiness=steadiness(**known))

    found = [*steady_judgement._uncertain(case), *steady_judgement._methods(case)]  # type: ignore[arg-type]

    assert [finding.id for finding in found] == ([id_] if id_ else [])


@pytest.mark.parametrize(
    ("means", "is_moving"),
    [
        # A range of d about a mean of 1 + 0.4 d is 20 % of it at d = 0.217; no line goes through them.
        ([1.0, 1.215, 1.0, 1.215, 1.0], False),
        ([1.0, 1.220, 1.0, 1.220, 1.0], True),
        # A line that rises by 9.9 and 10.1 % of the mean.
        ([0.9505, 0.97525, 1.0, 1.02475, 1.0495], False),
        ([0.9495, 0.97475, 1.0, 1.02525, 1.0505], True),
    ],
)
def test_batch_means_move_beyond_a_fifth_of_their_mean_or_along_a_line_beyond_a_tenth(
    means: list[float], is_moving: bool
) -> None:
    # Ten equal values each, so that nothing is left to chance.
    assert _moves(np.repeat(means, 10)) is is_moving


@pytest.mark.parametrize(
    ("trend", "severity"), [(0.199, "weak"), (0.201, "warning"), (-0.199, "weak"), (-0.201, "warning")]
)
def test_a_drift_of_more_than_a_fifth_leaves_no_number(trend: float, severity: str) -> None:
    assert steady_judgement._drifting(trend).severity == severity


@pytest.mark.parametrize(("last", "verdict"), [(9, SteadyVerdict.LATE_SHIFT), (10, SteadyVerdict.STEADY)])
def test_the_last_level_needs_ten_values(last: int, verdict: SteadyVerdict) -> None:
    # Three tenths of 25 values would be 7.5.
    assert judge(np.repeat([3000.0, 1000.0], [25 - last, last])).verdict is verdict


@pytest.mark.parametrize(
    ("times", "unit_share", "levels"), [(1.049, 0.0, 1), (1.051, 0.0, 2), (1.19, 0.1, 1), (1.21, 0.1, 2)]
)
def test_levels_of_rates_are_5_percent_and_two_operations_apart(times: float, unit_share: float, levels: int) -> None:
    # The first level is more than half of the series: MSER-5 takes it for no start.
    values = np.repeat([times, 1.0], [25, 15])

    found = judge(values, unit=unit_share * float(values.mean()))

    assert 1 + len(found.before) == levels


@pytest.mark.parametrize(("half_step", "is_drift"), [(0.58, True), (0.605, False)])
def test_a_step_is_a_drift_where_a_line_fits_as_well_at_seven_tenths_of_its_cost(
    half_step: float, is_drift: bool
) -> None:
    # About the levels -h and h, forty values have the squares 40; about the line through them, 40 + 9.98 h^2. A step costs
    # 3 ln(40) 40 / 38 = 11.65 and a line 0.7 of it: the line is as good up to h^2 = 0.3 * 11.65 / 9.98, so h = 0.592.
    z = PATTERN + np.repeat([-half_step, half_step], 20)
    levels = (Level(0, 20, math.exp(-half_step)), Level(20, 40, math.exp(half_step)))

    begin = staircase(z, Levels(levels=levels, noise=1.0, gathered=1, outliers=0))

    assert begin == (0 if is_drift else None)


@pytest.mark.parametrize(
    ("common", "last", "counted"),
    [
        # The first of four intervals lies in the common time with 89 and 91 % of it.
        ((11, 400), 100, (1, 4)),
        ((9, 400), 100, (0, 4)),
        # So does the last one.
        ((0, 389), 100, (0, 3)),
        ((0, 391), 100, (0, 4)),
        # It is 89 and 91 % as long as the others.
        ((0, 400), 89, (0, 3)),
        ((0, 400), 91, (0, 4)),
    ],
)
def test_an_interval_counts_with_nine_tenths_of_it_in_the_common_time_and_of_the_usual_length(
    common: tuple[int, int], last: int, counted: tuple[int, int]
) -> None:
    edges = [0, 100, 200, 300, 300 + last]
    record = SimpleNamespace(edges_ns=np.array(edges), finished=None, phase=SimpleNamespace(longest_s=None))
    begin, end = counted

    found = series_edges(record, Span(*common))  # type: ignore[arg-type]

    assert found.tolist() == edges[begin : end + 1]
