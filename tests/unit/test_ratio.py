"""Is the ratio of two small samples right, and does its interval hold as often as it says?"""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from assay.analysis.arrays import IntArray
from assay.analysis.statistics import rank_sum
from assay.analysis.statistics.ratio import RatioMethod, p_by_t, p_of_pairs_by_t, ratio_between, runs_needed, spread

TRIALS = 20_000
CV = 0.05
TRUE = 1.10


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (3, 3), (4, 4), (5, 5), (3, 7), (20, 20), (20, 1)])
def test_the_distribution_of_u_is_that_of_all_orders(n: int, m: int) -> None:
    counts = rank_sum._orders(n, m)

    assert counts.sum() == math.comb(n + m, n)
    assert np.array_equal(counts, counts[::-1])
    if n + m <= 7:
        places = {tuple(sorted(order[:n])) for order in permutations(range(n + m))}
        u = [sum(place - i for i, place in enumerate(of_b)) for of_b in places]
        assert np.array_equal(np.bincount(u, minlength=n * m + 1), counts)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 4), (5, 5), (6, 6), (5, 9), (25, 30)])
def test_p_is_that_of_scipy(n: int, m: int) -> None:
    random = np.random.default_rng(n * m)
    for _ in range(20):
        a, b = random.normal(0, 1, n), random.normal(0.7, 1, m)

        expected = stats.mannwhitneyu(a, b, method="exact" if max(n, m) <= 20 else "asymptotic").pvalue

        assert rank_sum.p_value(list(a), list(b)) == pytest.approx(expected, rel=1e-9 if max(n, m) <= 20 else 0.02)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 5), (4, 9), (10, 10), (25, 30)])
def test_p_of_equal_values_is_that_of_all_ways_to_deal_them_out(n: int, m: int) -> None:
    random = np.random.default_rng(n * m)
    for _ in range(5):
        a, b = random.integers(0, 4, n), random.integers(1, 5, m)
        by_normal = stats.mannwhitneyu(a, b, method="asymptotic").pvalue

        assert rank_sum.p_normal(list(a), list(b)) == pytest.approx(by_normal, rel=1e-9)
        if n + m <= 13:
            values = np.concatenate([a, b])
            ways = [np.isin(np.arange(n + m), way) for way in combinations(range(n + m), n)]
            far = sum(_apart(values[way], values[~way]) >= _apart(a, b) for way in ways)
            assert rank_sum.p_value(list(a), list(b)) == pytest.approx(far / len(ways))
        elif n > rank_sum.EXACT_TO:
            assert rank_sum.p_value(list(a), list(b)) == pytest.approx(by_normal)
        elif by_normal < 0.2:
            assert rank_sum.p_value(list(a), list(b)) == pytest.approx(by_normal, rel=0.25)


def _apart(a: IntArray, b: IntArray) -> float:
    """How far U lies from its middle."""
    above = b[None, :] - a[:, None]
    return abs(float((above > 0).sum() + (above == 0).sum() / 2) - a.size * b.size / 2)


def test_values_that_are_all_equal_show_no_difference() -> None:
    assert rank_sum.p_value([5.0] * 6, [5.0] * 7) == rank_sum.p_normal([5.0] * 6, [5.0] * 7) == 1.0


@pytest.mark.parametrize(
    ("n", "ends"),
    [
        # P(U <= 0) of 4 and 4 is 1 / 70, P(U <= 1) is 2 / 70: one value at each end is left, and so all are inside.
        (4, (-30, 3)),
        # P(U <= 2) of 5 and 5 is 4 / 252, P(U <= 3) is 7 / 252: the ends are the third of each side.
        (5, (-38, 2)),
    ],
)
def test_the_ends_of_a_shift_are_the_differences_that_the_distribution_leaves(
    n: int, ends: tuple[float, float]
) -> None:
    # Their differences are 0 to n - 1, less 0, 10, 20, ..: all of them differ.
    a, b = [10.0 * i for i in range(n)], [float(i) for i in range(n)]

    middle, low, high = rank_sum.shift(a, b, 0.95)

    assert (low, high) == ends
    assert rank_sum.shift(b, a, 0.95) == (-middle, -high, -low)


def test_three_and_three_values_have_no_interval_at_95_percent() -> None:
    # The smallest P is 1 / 20.
    assert rank_sum.shift([1, 2, 3], [4, 5, 6], 0.89) == (3, 1, 5)
    with pytest.raises(ValueError, match="3 and 3"):
        rank_sum.shift([1, 2, 3], [4, 5, 6], 0.95)


def test_the_smallest_p_are_those_of_so_few_runs() -> None:
    smallest = {n: rank_sum.p_value(range(n), range(n, 2 * n)) for n in (3, 4, 5, 6)}

    assert smallest == pytest.approx({n: 2 / math.comb(2 * n, n) for n in (3, 4, 5, 6)})
    assert [round(p, 3) for p in smallest.values()] == [0.1, 0.029, 0.008, 0.002]


def test_how_many_runs_each_method_has() -> None:
    single = ratio_between([2.0], [3.0, 3.0])
    assert (single.low, single.high, single.p, single.method) == (None, None, None, RatioMethod.SINGLE)
    assert single.ratio == pytest.approx(1.5)
    two = ratio_between([2.0, 4.0], [4.0, 8.0])
    assert (two.low, two.high, two.method) == (1.0, 4.0, RatioMethod.RANGE)
    assert two.ratio == pytest.approx(2.0)
    three = ratio_between([99.0, 100.0, 101.0], [109.0, 110.0, 112.0])
    expected = stats.ttest_ind(
        np.log([109.0, 110.0, 112.0]), np.log([99.0, 100.0, 101.0]), equal_var=False
    ).confidence_interval(0.95)
    assert (math.log(three.low or 0), math.log(three.high or 0)) == pytest.approx(
        (expected.low, expected.high), rel=1e-6
    )
    alike = ratio_between([1.0] * 3, [2.0] * 3)
    assert (alike.ratio, alike.low, alike.high) == pytest.approx((2.0, 2.0, 2.0))
    with pytest.raises(ValueError, match="above 0"):
        ratio_between([1.0], [0.0])


@pytest.mark.parametrize(("runs", "method"), [(3, RatioMethod.WELCH), (5, RatioMethod.RANKS), (10, RatioMethod.RANKS)])
@pytest.mark.long
def test_an_interval_holds_the_true_ratio_as_often_as_it_says(runs: int, method: RatioMethod) -> None:
    random = np.random.default_rng(runs)
    trials = TRIALS // runs
    inside = 0
    for _ in range(trials):
        found = ratio_between(random.lognormal(0, CV, runs).tolist(), (TRUE * random.lognormal(0, CV, runs)).tolist())
        assert found.method is method
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= TRUE <= found.high

    assert 0.93 <= inside / trials <= 0.98
    # Exact: never less than it says, but for the luck of the draw.
    assert stats.binomtest(inside, trials, 0.95, alternative="less").pvalue > 0.001


def test_outliers_among_the_runs_do_not_make_an_interval_wrong() -> None:
    random = np.random.default_rng(9)
    trials = 2_000
    inside = 0
    for _ in range(trials):
        a, b = (random.lognormal(0, CV, 10) * np.where(random.random(10) < 0.1, 0.7, 1.0) for _ in range(2))
        found = ratio_between(a.tolist(), (TRUE * b).tolist())
        inside += (found.low or 0) <= TRUE <= (found.high or 0)

    assert inside / trials >= 0.93


def test_p_by_t_is_that_of_scipy() -> None:
    a, b = [99.0, 100.0, 103.0, 98.0], [104.0, 101.0, 106.0]
    pairs = list(zip(a, b, strict=False))

    welch = stats.ttest_ind(np.log(b), np.log(a), equal_var=False).pvalue
    paired = stats.ttest_1samp(np.log(b) - np.log(a[:3]), 0.0).pvalue

    assert p_by_t(a, b) == pytest.approx(welch, rel=1e-9)
    assert p_of_pairs_by_t(pairs) == pytest.approx(paired, rel=1e-9)
    assert (p_by_t([1.0], b), p_of_pairs_by_t(pairs[:1])) == (None, None)


@pytest.mark.parametrize(("ratio", "p"), [(1.0, 1.0), (2.0, 0.0)])
def test_values_that_do_not_vary_are_alike_or_differ_for_sure(ratio: float, p: float) -> None:
    assert p_by_t([3.0] * 3, [3.0 * ratio] * 3) == p
    assert p_of_pairs_by_t([(3.0, 3.0 * ratio)] * 3) == p


def test_runs_needed_are_those_of_the_formula() -> None:
    assert runs_needed(0.05, 0.05) == 17
    assert runs_needed(0.02, 0.05) == 5
    assert runs_needed(0.05, 0.03) == math.ceil(2 * (1.959964 + 0.841621) ** 2 * 0.05**2 / math.log(1.03) ** 2)


def test_the_spread_is_that_of_the_runs_and_not_of_what_is_compared() -> None:
    random = np.random.default_rng(3)
    a, b = random.lognormal(0, 0.04, 200), 3 * random.lognormal(0, 0.04, 200)

    assert spread(a.tolist(), b.tolist()) == pytest.approx(0.04, rel=0.1)
    assert spread([1.0], [2.0]) is None
