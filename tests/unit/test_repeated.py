"""Is what is typical of a few repeats right, does its interval hold as often as it says, and is what spoils it seen?"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from assay.analysis.statistics import signed_rank
from assay.analysis.statistics.repeated import TypicalMethod, stands_out, trend, typical, variation

TRIALS = 4_000
CV = 0.05
TRUE = 10_000.0


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_the_distribution_of_signed_ranks_is_that_of_all_signs(n: int) -> None:
    sums = [sum(ranks) for size in range(n + 1) for ranks in itertools.combinations(range(1, n + 1), size)]

    assert np.array_equal(np.bincount(sums), signed_rank._subsets(n))
    for w in range(-1, n * (n + 1) // 2 + 1):
        assert signed_rank.at_most(w, n) == pytest.approx(sum(each <= w for each in sums) / 2**n)


def test_so_few_values_have_no_interval_by_ranks_and_the_normal_distribution_takes_over_smoothly() -> None:
    with pytest.raises(ValueError, match="5 differences have no interval"):
        signed_rank.centre([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    assert signed_rank.centre([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95) == (3.5, 1.0, 6.0)

    edge = [signed_rank.at_most(int(0.36 * n * (n + 1) / 2), n) for n in (50, 51)]

    assert edge[0] == pytest.approx(edge[1], rel=0.1)


def test_the_interval_by_ranks_is_the_one_that_the_test_by_ranks_does_not_refuse() -> None:
    random = np.random.default_rng(4)
    for n in (6, 10, 17):
        values = random.normal(0, 1, n).tolist()
        _, low, high = signed_rank.centre(values, 0.95)

        # Just inside an end the exact test of scipy holds the middle for possible, just outside it does not.
        for end, inside in ((low, 1e-9), (high, -1e-9)):
            assert stats.wilcoxon(np.array(values) - end - inside, method="exact").pvalue > 0.05
            assert stats.wilcoxon(np.array(values) - end + inside, method="exact").pvalue <= 0.05
        expected = stats.wilcoxon(values, method="exact").pvalue
        assert signed_rank.p_value(values) == pytest.approx(expected)


def test_how_many_repeats_each_method_has() -> None:
    one, two = typical([4.0]), typical([2.0, 8.0])
    assert (one.interval, one.method) == (None, TypicalMethod.SINGLE)
    assert (two.interval, two.method) == (None, TypicalMethod.GEOMETRIC_MEAN)
    assert (one.value, two.value) == pytest.approx((4.0, 4.0))
    for n in (3, 4, 5):
        values = np.geomspace(90.0, 110.0, n)
        found = typical(values.tolist())
        logs = np.log(values)
        expected = stats.t.interval(0.95, n - 1, loc=logs.mean(), scale=logs.std(ddof=1) / math.sqrt(n))
        assert found.method is TypicalMethod.GEOMETRIC_MEAN
        assert found.interval == pytest.approx(tuple(np.exp(expected)), rel=1e-6)
    six = typical([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    assert six.method is TypicalMethod.HODGES_LEHMANN
    assert six.value == pytest.approx(2**2.5)
    assert six.interval == pytest.approx((1.0, 32.0))
    many = typical([99.0, 101.0] * 300)
    assert many.method is TypicalMethod.GEOMETRIC_MEAN
    assert many.value == pytest.approx(100.0, rel=1e-3)
    for wrong in ([], [1.0, 0.0]):
        with pytest.raises(ValueError, match="above 0"):
            typical(wrong)


@pytest.mark.parametrize("repeats", [3, 5, 6, 10, 20])
@pytest.mark.long
def test_an_interval_holds_the_truth_as_often_as_it_says(repeats: int) -> None:
    random = np.random.default_rng(repeats)
    inside = 0
    for _ in range(TRIALS):
        interval = typical((TRUE * random.lognormal(0, CV, repeats)).tolist()).interval
        assert interval is not None
        inside += interval[0] <= TRUE <= interval[1]

    assert 0.93 <= inside / TRIALS <= 0.98
    assert stats.binomtest(inside, TRIALS, 0.95, alternative="less").pvalue > 0.001


def test_slow_repeats_among_ten_hardly_move_what_is_typical_and_the_interval_still_holds() -> None:
    random = np.random.default_rng(9)
    inside, apart = 0, []
    for _ in range(2_000):
        found = typical((TRUE * random.lognormal(0, CV, 10) * np.where(random.random(10) < 0.1, 0.7, 1.0)).tolist())
        assert found.interval is not None
        inside += found.interval[0] <= TRUE <= found.interval[1]
        apart.append(found.value / TRUE)

    # The mean of them is 3.5 % too low.
    assert 0.98 <= np.median(apart) <= 1.0
    assert inside / 2_000 >= 0.89


def test_a_value_that_stands_out_is_named_from_five_on_and_hardly_any_where_none_does() -> None:
    assert stands_out([100.0, 101.0, 99.0, 100.5, 70.0]) == [4]
    assert stands_out([100.0, 101.0, 99.0, 70.0]) == []
    # As good as equal: a step of one in a thousand is none that matters.
    assert stands_out([100.0, 100.0, 100.0, 100.0, 100.1]) == []
    assert stands_out([100.0, 100.0, 100.0, 100.0, 104.0]) == [4]
    random = np.random.default_rng(2)
    false = sum(bool(stands_out((TRUE * random.lognormal(0, CV, 5)).tolist())) for _ in range(2_000))
    assert false / 2_000 < 0.06


def test_a_trend_is_told_where_it_matters_and_is_sure() -> None:
    falling = [100.0, 95.0, 90.5, 86.0, 81.5]

    assert trend(falling) == pytest.approx(-0.185, abs=0.005)
    assert trend([100.0, None, 90.5, 86.0, 81.5]) == pytest.approx(-0.185, abs=0.005)
    assert trend([100.0, 100.4, 100.9, 101.3, 101.8]) is None
    assert trend([100.0, 80.0, 120.0, 90.0, 110.0]) is None
    assert trend(falling[:3]) is None
    random = np.random.default_rng(6)
    false = sum(trend((TRUE * random.lognormal(0, CV, 6)).tolist()) is not None for _ in range(2_000))
    assert 0.02 < false / 2_000 < 0.07


def test_the_variation_is_the_deviation_by_the_mean() -> None:
    assert variation([90.0, 110.0]) == pytest.approx(math.sqrt(200) / 100)
    assert variation([90.0]) is None


@pytest.mark.parametrize(("last", "found"), [(114.8, []), (114.9, [6])])
def test_a_value_stands_out_beyond_14826_thousandths_of_the_median_distance(last: float, found: list[int]) -> None:
    # The median is 100 and the median distance from it 1.
    assert stands_out([98.0, 99.0, 99.0, 100.0, 101.0, 101.0, last]) == found
