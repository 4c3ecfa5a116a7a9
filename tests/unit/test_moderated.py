import math

import numpy as np
import pytest
from scipy import stats

from assay.analysis.arrays import FloatArray
from assay.analysis.statistics.moderated import (
    CommonVariance,
    adjusted,
    common_variance,
    digamma,
    median_inflation,
    trigamma,
)

EULER = 0.57721566490153286
GAUSS = np.polynomial.legendre.leggauss(200)


@pytest.mark.parametrize("n", [1, 2, 5, 11, 40])
def test_digamma_and_trigamma_of_whole_numbers_are_sums(n: int) -> None:
    # DLMF 5.4.14 and 5.15.3.
    assert digamma(n) == pytest.approx(-EULER + sum(1 / k for k in range(1, n)), abs=1e-10)
    assert trigamma(n) == pytest.approx(math.pi**2 / 6 - sum(1 / k**2 for k in range(1, n)), abs=1e-10)


def test_digamma_and_trigamma_of_a_half_are_known() -> None:
    # DLMF 5.4.15 and 5.15.3.
    assert digamma(0.5) == pytest.approx(-EULER - 2 * math.log(2), abs=1e-10)
    assert trigamma(0.5) == pytest.approx(math.pi**2 / 2, abs=1e-10)


def density_of_median(n: int, x: FloatArray) -> FloatArray:
    """Density of the median of n normal values (David and Nagaraja, Order Statistics, 2.1 and 2.3)."""
    half = n // 2
    if n % 2:
        factor = math.factorial(n) / math.factorial(half) ** 2
        odd: FloatArray = factor * (stats.norm.cdf(x) * stats.norm.sf(x)) ** half * stats.norm.pdf(x)
        return odd
    # The two in the middle are equally far from their mean: up to nine deviations.
    at, weights = GAUSS
    low, high = (x[:, None] + sign * 4.5 * (at + 1) for sign in (-1, 1))
    outside = (stats.norm.cdf(low) * stats.norm.sf(high)) ** (half - 1)
    factor = 2 * math.factorial(n) / math.factorial(half - 1) ** 2
    even: FloatArray = factor * (outside * stats.norm.pdf(low) * stats.norm.pdf(high)) @ (4.5 * weights)
    return even


@pytest.mark.parametrize("n", range(1, 11))
def test_the_inflation_of_a_median_is_that_of_the_order_statistic(n: int) -> None:
    at, weights = GAUSS
    x, dx = 9 * at, 9 * weights

    density = density_of_median(n, x)

    assert density @ dx == pytest.approx(1)
    assert median_inflation(n) == pytest.approx(n * (x * x * density) @ dx, abs=1e-4)


def test_the_inflation_of_few_and_of_many_runs_has_a_closed_form() -> None:
    assert median_inflation(1) == median_inflation(2) == 1.0  # the median is the mean
    assert median_inflation(3) == pytest.approx(3 * (1 - math.sqrt(3) / math.pi), abs=1e-4)
    assert median_inflation(11) == pytest.approx(math.pi / 2)


def test_cells_of_one_variance_lend_four_degrees_of_freedom() -> None:
    common = common_variance([(0.09, 2.0)] * 5)

    assert common.freedom == 4.0
    # The median of chi^2 with two degrees of freedom is 2 ln 2: the approximation is within 2 %.
    assert common.variance == pytest.approx(0.09 / math.log(2), rel=0.02)


def test_cells_that_differ_lend_as_much_as_their_variances_tell() -> None:
    # With two degrees of freedom, chance gives the logarithms a variance of trigamma(1) = pi^2 / 6. As much again is that of
    # a prior of two degrees of freedom. Three logarithms that are `apart` from each other have the variance apart^2.
    apart = math.pi / math.sqrt(3)

    common = common_variance([(math.exp(logarithm), 2.0) for logarithm in (-apart, 0.0, apart)])

    assert common.freedom == pytest.approx(2.0, rel=1e-6)
    assert common.variance == pytest.approx(1 / math.log(2), rel=0.02)


def test_two_cells_have_nothing_in_common_and_cells_without_a_variance_do_not_count() -> None:
    assert common_variance([(1.0, 2.0), (1.0, 2.0)]) == CommonVariance(0.0, 0.0)
    assert common_variance([(1.0, 2.0), (1.0, 2.0), (0.0, 2.0), (1.0, 0.0)]) == CommonVariance(0.0, 0.0)


def test_a_variance_is_moved_by_the_degrees_of_freedom_of_both() -> None:
    # (4 x 3 + 2 x 6) / 6
    assert CommonVariance(3.0, 4.0).moderated(6.0, 2.0) == (4.0, 6.0)


def test_a_family_of_p_is_adjusted_as_by_benjamini_and_hochberg() -> None:
    # In order: 0.005 x 4 / 1, 0.01 x 4 / 2, 0.03 x 4 / 3, 0.04 x 4 / 4.
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    # A larger one lowers those below it: 0.02 x 3 / 1, 0.025 x 3 / 2, 0.03 x 3 / 3.
    assert adjusted([0.02, 0.025, 0.03]) == pytest.approx([0.03, 0.03, 0.03])
    assert adjusted([0.9, 0.99]) == pytest.approx([0.99, 0.99])
