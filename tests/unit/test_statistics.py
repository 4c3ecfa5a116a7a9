"""Intervals that cover what they say, quantiles and partitions as other programs find them, modes where they were put."""

import sys
from fractions import Fraction

import numpy as np
import pytest
import ruptures
import scipy.stats

from assay.analysis.arrays import IntArray
from assay.analysis.histogram import quantiles_ns
from assay.analysis.statistics.beta import beta_quantile, beta_share, student_quantile
from assay.analysis.statistics.levels import partition
from assay.analysis.statistics.mean import mean_interval
from assay.analysis.statistics.modes import find_modes
from assay.analysis.statistics.period import find_period
from assay.analysis.statistics.quantile import enclosing_shares
from unit.noise import FloatArray, correlated

# -- distributions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [1, 2, 2.5, 4, 19, 119, 9999])
@pytest.mark.parametrize("share", [0.5, 0.6, 0.9, 0.975, 0.999])
def test_quantiles_of_student_are_those_of_scipy(share: float, freedom: float) -> None:
    assert student_quantile(share, freedom) == pytest.approx(scipy.stats.t.ppf(share, freedom), rel=1e-8, abs=1e-5)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (3, 7.5), (990, 11), (99_000, 1001), (0.3, 400)])
def test_the_beta_distribution_is_that_of_scipy(a: float, b: float) -> None:
    for share in (0.001, 0.025, 0.5, 0.975, 0.999):
        x = float(scipy.stats.beta.ppf(share, a, b))
        assert beta_share(x, a, b) == pytest.approx(share, rel=1e-8)
        assert beta_quantile(share, a, b) == pytest.approx(x, rel=1e-8, abs=1e-14)


def test_a_beta_distribution_at_its_limits() -> None:
    assert beta_quantile(0.025, 0, 5) == 0
    assert beta_quantile(0.975, 5, 0) == 1
    assert (beta_share(0, 2, 3), beta_share(1, 2, 3)) == (0, 1)


# -- the interval of a mean --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "correlation", "least"),
    [(30, 0.0, 0.93), (60, 0.0, 0.93), (60, 0.5, 0.92), (60, 0.8, 0.90), (120, 0.8, 0.90), (300, 0.8, 0.93)],
)
def test_an_interval_of_a_mean_holds_it_as_often_as_it_says(n: int, correlation: float, least: float) -> None:
    trials = 500
    found = [mean_interval(1000 * (1 + 0.04 * correlated(seed, n, correlation))) for seed in range(trials)]
    held = sum(one is not None and one.low <= 1000 <= one.high for one in found) / trials

    sys.stdout.write(f"n {n}, correlation {correlation}: {held:.3f} of 0.95\n")
    assert least <= held <= 0.985


def test_a_rate_that_wanders_slowly_is_known_less_well_than_its_neighbours_say() -> None:
    def held(n: int) -> float:
        found = []
        for seed in range(400):
            rng = np.random.default_rng(seed)
            wandering = np.repeat(rng.normal(0, 30, n // 10), 10)
            found.append(mean_interval(1000 + wandering + rng.normal(0, 60, n)))
        return sum(one is not None and one.low <= 1000 <= one.high for one in found) / len(found)

    # Correlation of neighbours hardly shows what lasts for ten of them: it is too small beside the noise.
    assert held(90) < 0.89
    assert held(100) > 0.90


@pytest.mark.parametrize("n", [10, 60, 200])
def test_of_values_whose_neighbours_are_not_alike_the_interval_is_student_s(n: int) -> None:
    sizes = np.abs(np.random.default_rng(n).normal(0, 40, n))
    values = 1000 + np.where(np.arange(n) % 2 == 0, sizes, -sizes)  # to and fro

    found = mean_interval(values)

    known = scipy.stats.t.interval(0.95, n - 1, values.mean(), values.std(ddof=1) / np.sqrt(n))
    assert found is not None
    assert found.effective == n
    assert (found.low, found.high) == pytest.approx(known, rel=1e-9)


def test_an_interval_is_wider_where_neighbours_are_alike() -> None:
    free, tied = (mean_interval(1 + 0.04 * correlated(1, 200, correlation)) for correlation in (0.0, 0.8))

    assert free is not None
    assert tied is not None
    assert free.effective > 150
    assert tied.effective < 60
    assert tied.half_width > 1.5 * free.half_width


def test_an_interval_of_next_to_nothing() -> None:
    assert mean_interval(np.array([1.0, 2.0])) is None
    constant = mean_interval(np.full(30, 5.0))
    assert constant is not None
    assert (constant.low, constant.mean, constant.high) == (5, 5, 5)


# -- percentiles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
@pytest.mark.parametrize("correlation", [None, 0.5])
def test_an_interval_of_a_percentile_holds_it_as_often_as_it_says(
    quantile: Fraction, correlation: float | None
) -> None:
    """Latencies whose level is one for all operations of an interval, or none: the design effect is theirs."""
    trials, intervals, each, sway = 200, 60, 60, 0.3
    spread = 1.0 if correlation is None else float(np.hypot(1.0, sway))
    truth = float(np.exp(scipy.stats.norm.ppf(float(quantile)) * spread))
    held = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        level = np.zeros(intervals) if correlation is None else sway * correlated(seed + 1000, intervals, correlation)
        latency = np.exp(level[:, None] + rng.normal(0, 1, (intervals, each)))
        low, high = interval_of(latency, quantile)
        held += low <= truth <= high

    sys.stdout.write(f"{float(quantile)}, correlation {correlation}: {held / trials:.3f} of 0.95\n")
    assert 0.90 <= held / trials <= 0.99


def interval_of(latency: FloatArray, quantile: Fraction) -> tuple[float, float]:
    """The values that enclose a percentile of all latencies, shape `(intervals, operations)`."""
    values = np.sort(latency.ravel())
    ones = np.ones(len(values), dtype=np.int64)
    (middle,) = quantiles_ns(values, ones, [quantile])
    assert middle is not None
    total = np.full(len(latency), latency.shape[1], dtype=np.int64)
    shares = enclosing_shares(float(quantile), (latency > middle).sum(axis=1), total)
    assert shares is not None
    low, high = shares
    assert low < quantile
    assert high is not None
    assert high > quantile
    return float(values[int(low * len(values))]), float(values[min(int(high * len(values)), len(values) - 1)])


@pytest.mark.parametrize(("each", "above"), [(100, 1), (100, 50), (1000, 10)])
def test_of_values_that_are_not_alike_the_enclosing_shares_are_those_of_clopper_and_pearson(
    each: int, above: int
) -> None:
    total = np.full(60, each, dtype=np.int64)
    quantile = 1 - above / each

    shares = enclosing_shares(quantile, np.full(60, above, dtype=np.int64), total)

    below = 60 * (each - above)
    known = scipy.stats.binomtest(below, 60 * each).proportion_ci(0.95, method="exact")
    assert shares == pytest.approx((known.low, known.high), rel=1e-6)


def test_beyond_the_largest_value_nothing_is_known() -> None:
    total = np.full(30, 40, dtype=np.int64)
    above = np.zeros(30, dtype=np.int64)
    above[3] = 1

    shares = enclosing_shares(0.999, above, total)

    assert shares is not None
    assert shares[1] is None
    assert enclosing_shares(0.5, total[:2] // 2, total[:2]) is None


# -- changes, periods, modes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_partition_is_that_of_ruptures(seed: int) -> None:
    z = 0.04 * correlated(seed, 120, 0.5)
    z[35:] += 0.3
    z[90:] -= 0.1
    penalty = 3 * np.log(len(z)) * 0.04**2

    theirs = ruptures.Pelt(model="l2", min_size=5, jump=1).fit_predict(z, pen=penalty)

    assert partition(z, penalty, 5) == [0, *theirs]


@pytest.mark.parametrize("period", [3, 5, 10, 19])
def test_a_period_is_found_and_not_its_multiple(period: int) -> None:
    at = np.arange(120)
    found = [
        find_period(np.where(at % period == 0, 0.3, 0.0) + 0.04 * correlated(seed, 120, 0.3)) for seed in range(50)
    ]

    assert found.count(period) >= 45


def bucketed(*parts: tuple[float, float, int], seed: int = 1) -> tuple[FloatArray, IntArray]:
    """Log-normal latencies as a histogram: median, deviation of the logarithm, count."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([np.exp(rng.normal(np.log(at), spread, count)) for at, spread, count in parts])
    found, counts = np.unique(np.maximum(np.round(values), 1.0), return_counts=True)
    return found, counts.astype(np.int64)


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        # Sixteen classes of an eighth of an octave are four times.
        ({0: 600, 16: 400}, [0.6, 0.4]),
        ({0: 600, 15: 400}, [1.0]),
        # What counts is where the peaks are, and not the ends of what is around them.
        ({0: 500, 15: 400, 16: 100}, [1.0]),
        ({-1: 100, 0: 500, 15: 400}, [1.0]),
        ({-1: 100, 0: 400, 16: 400, 17: 100}, [0.5, 0.5]),
        # A valley lies between two peaks: the end of the second, however steep, is none.
        ({0: 2000, **dict.fromkeys(range(1, 20), 400), 20: 900, 21: 60}, [1.0]),
        ({-1: 60, 0: 2000, **dict.fromkeys(range(1, 20), 400), 20: 900}, [1.0]),
    ],
)
def test_two_modes_have_a_valley_between_peaks_that_lie_four_times_apart(
    counts: dict[int, int], shares: list[float]
) -> None:
    values = np.array([2 ** (10 + (place + 0.5) / 8) for place in counts])

    modes = find_modes(values, np.array(list(counts.values())))

    assert [mode.share for mode in modes] == pytest.approx(shares)
    assert modes[0].at == pytest.approx(2 ** (10 + 0.5 / 8))


def test_the_modes_of_a_cache_a_server_and_a_disk_are_told_apart() -> None:
    modes = find_modes(*bucketed((2000, 0.3, 9000), (100_000, 0.3, 800), (8e6, 0.4, 1000)))

    assert [mode.at for mode in modes] == pytest.approx([2000, 100_000, 8e6], rel=0.25)
    assert [mode.share for mode in modes] == pytest.approx([9000 / 10800, 800 / 10800, 1000 / 10800], abs=0.005)


@pytest.mark.parametrize(
    "parts",
    [
        [(2000, 0.3, 10_000)],
        [(2000, 0.3, 10_000), (5000, 0.3, 5000)],
        [(50_000, 1.2, 10_000)],
        [(2000, 0.3, 9990), (200_000, 0.3, 10)],
    ],
)
def test_one_place_close_ones_and_a_tail_are_one_mode(parts: list[tuple[float, float, int]]) -> None:
    assert len(find_modes(*bucketed(*parts))) == 1


def test_few_values_have_no_modes_by_chance() -> None:
    counts = [20, 50, 200, 1000, 3000]
    found = [len(find_modes(*bucketed((50_000, 1.0, counts[seed % 5]), seed=seed))) for seed in range(300)]

    assert set(found) == {1}
    assert find_modes(np.array([]), np.array([], dtype=np.int64)) == ()


def classes(counts: dict[int, int]) -> tuple[FloatArray, IntArray]:
    """Make a histogram from counts by class, of which an octave has eight."""
    middles = np.array([2 ** ((place + 0.5) / 8) for place in counts])
    return middles, np.array(list(counts.values()), dtype=np.int64)


@pytest.mark.parametrize(
    ("counts", "modes"),
    [
        # Two octaves are four times; 15 classes are 3.7 times.
        ({80: 10_000, 95: 10_000}, 1),
        ({80: 10_000, 96: 10_000}, 2),
        # A valley of b between peaks of p is b / ((p + b) / 2) of them: smoothed, a class is half itself. 49 and 51 %.
        ({80: 100_000, 100: 100_000, **dict.fromkeys((79, *range(81, 100), 101), 32_450)}, 2),
        ({80: 100_000, 100: 100_000, **dict.fromkeys((79, *range(81, 100), 101), 34_230)}, 1),
        # A peak of 15 may stand beside an empty valley by chance, 4 sqrt(15) = 15.5; one of 17 does not, 4 sqrt(17) = 16.5.
        ({80: 30, 100: 30}, 1),
        ({80: 34, 100: 34}, 2),
        # Half a per cent of all is a mode, less is a tail.
        ({80: 99_510, 100: 490}, 1),
        ({80: 99_490, 100: 510}, 2),
    ],
)
def test_two_peaks_are_two_modes_on_one_side_of_each_threshold(counts: dict[int, int], modes: int) -> None:
    assert len(find_modes(*classes(counts))) == modes


@pytest.mark.parametrize(("share", "period"), [(0.89, 10), (0.91, 5)])
def test_a_period_is_the_shorter_lag_where_it_has_nine_tenths_of_the_highest_peak(share: float, period: int) -> None:
    # Every fifth value is 1 + d and 1 - d in turns. Their correlation is 1 at lag 10, and at lag 5 it is
    # (0.8 - d^2) / (0.8 + d^2).
    d = (0.8 * (1 - share) / (1 + share)) ** 0.5

    assert find_period(np.tile([1 + d, 0, 0, 0, 0, 1 - d, 0, 0, 0, 0], 12)) == period
