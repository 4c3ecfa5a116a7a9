"""Are pairs of runs compared rightly, and does the interval of their ratio hold as often as it says?"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from assay.analysis.statistics import signed_rank
from assay.analysis.statistics.beta import student_p
from assay.analysis.statistics.ratio import RatioMethod, ratio_between, ratio_of_pairs, spread_of_pairs

TRIALS = 4_000
CV = 0.05
TRUE = 1.10


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_distribution_of_w_is_that_of_all_signs(n: int) -> None:
    sums = [
        sum(rank for rank, sign in enumerate(signs, start=1) if sign) for signs in itertools.product((0, 1), repeat=n)
    ]

    found = [signed_rank.at_most(w, n) for w in range(-1, n * (n + 1) // 2 + 1)]

    assert found == pytest.approx([sum(each <= w for each in sums) / 2**n for w in range(-1, n * (n + 1) // 2 + 1)])


@pytest.mark.parametrize("n", [5, 6, 10, 25, 60])
def test_p_is_that_of_scipy(n: int) -> None:
    random = np.random.default_rng(n)
    for _ in range(20):
        apart = random.normal(0.3, 1, n)

        expected = stats.wilcoxon(apart, method="exact" if n <= 50 else "asymptotic", correction=n > 50).pvalue

        assert signed_rank.p_value(apart.tolist()) == pytest.approx(expected, rel=1e-9 if n <= 50 else 1e-6)


def test_equal_differences_and_none_never_make_p_too_small() -> None:
    assert signed_rank.p_value([0.0] * 6) == 1.0
    assert signed_rank.p_value([0.1] * 6) == pytest.approx(2 / 2**6)


def test_five_pairs_have_no_interval_of_ranks_and_six_have_all_that_was_seen() -> None:
    with pytest.raises(ValueError, match="no interval"):
        signed_rank.centre([0.1, 0.2, 0.3, 0.4, 0.5], 0.95)

    assert signed_rank.centre([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.95) == pytest.approx((0.35, 0.1, 0.6))


def test_student_p_is_that_of_scipy() -> None:
    for t, freedom in ((0.0, 3.0), (1.0, 2.0), (2.5, 8.0), (9.0, 5.5), (-2.5, 8.0)):
        assert student_p(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-9)


@pytest.mark.parametrize(
    ("pairs", "method"), [(3, RatioMethod.PAIRED_T), (5, RatioMethod.PAIRED_T), (10, RatioMethod.SIGNED_RANKS)]
)
def test_an_interval_of_pairs_holds_the_true_ratio_as_often_as_it_says(pairs: int, method: RatioMethod) -> None:
    random = np.random.default_rng(pairs)
    inside = 0
    for _ in range(TRIALS):
        # What the round does to both, four times what a run does by itself, is in no ratio.
        rounds = random.lognormal(0, 4 * CV, pairs)
        a, b = rounds * random.lognormal(0, CV, pairs), TRUE * rounds * random.lognormal(0, CV, pairs)
        found = ratio_of_pairs(list(zip(a.tolist(), b.tolist(), strict=True)))
        assert found.method is method
        assert found.is_interval
        inside += (found.low or 0) <= TRUE <= (found.high or 0)

    assert 0.93 <= inside / TRIALS <= 0.97


def test_pairs_see_through_what_changes_between_rounds() -> None:
    rounds = [1.0, 1.4, 0.7, 1.2, 0.9, 1.6, 0.8]
    a = [100 * x for x in rounds]
    b = [110 * x * y for x, y in zip(rounds, (1.001, 0.999, 1.0, 1.002, 0.998, 1.0, 1.001), strict=True)]

    paired, apart = ratio_of_pairs(list(zip(a, b, strict=True))), ratio_between(a, b)

    assert (paired.low or 0) > 1.09
    assert (paired.high or 9) < 1.11
    assert (apart.low or 9) < 1 < (apart.high or 0)
    assert paired.p == pytest.approx(2 / 2**7)


def test_too_few_pairs_and_values_without_a_logarithm_are_refused() -> None:
    with pytest.raises(ValueError, match="three and more"):
        ratio_of_pairs([(1.0, 1.0)] * 2)
    with pytest.raises(ValueError, match="above 0"):
        ratio_of_pairs([(1.0, 1.0)] * 2 + [(0.0, 1.0)])


def test_the_spread_of_pairs_is_that_of_one_run_in_its_round() -> None:
    random = np.random.default_rng(3)
    rounds = random.lognormal(0, 0.3, 400)
    pairs = list(
        zip(
            (rounds * random.lognormal(0, 0.04, 400)).tolist(),
            (2 * rounds * random.lognormal(0, 0.04, 400)).tolist(),
            strict=True,
        )
    )

    assert spread_of_pairs(pairs) == pytest.approx(0.04, rel=0.1)
    assert spread_of_pairs(pairs[:2]) is None
    assert math.isfinite(ratio_of_pairs(pairs).ratio)
