"""Buckets and percentiles against raw samples."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.analysis import histogram
from unit.memory_run import bucket_of, filled_buckets

HOUR_NS = 3_600 * 10**9


@given(st.integers(min_value=1, max_value=HOUR_NS))
def test_a_value_lies_in_the_bucket_that_it_is_encoded_to(value_ns: int) -> None:
    index = np.array([bucket_of(value_ns)], dtype=np.int64)

    lowest, width = int(histogram.bucket_lowest_ns(index)[0]), int(histogram.bucket_width_ns(index)[0])

    assert lowest <= value_ns < lowest + width
    assert width <= max(1, value_ns / 1000)
    assert (
        filled_buckets(np.array([value_ns, value_ns]))[0].tolist() == index.tolist()
    )  # which synthetic runs are made by


def test_buckets_leave_no_gap_and_do_not_overlap() -> None:
    index = np.arange(0, 40_000, dtype=np.int64)

    ends = histogram.bucket_lowest_ns(index) + histogram.bucket_width_ns(index)

    assert np.array_equal(ends[:-1], histogram.bucket_lowest_ns(index)[1:])


@given(st.integers(min_value=1, max_value=10**12), st.integers(min_value=0, max_value=10**12))
@example(49, 0)  # 49 * (1 / 49) is 0.9999999999999999
def test_all_values_are_a_share_of_exactly_one(first: int, second: int) -> None:
    shares = histogram.shares_at_most(np.array([first, second], dtype=np.int64))

    assert shares.tolist() == [first / (first + second), 1.0]
    assert histogram.shares_at_most(np.array([], dtype=np.int64)).size == 0


@pytest.mark.parametrize("seed", range(5))
def test_percentiles_agree_with_the_sorted_samples_within_half_a_bucket(seed: int) -> None:
    samples = np.random.default_rng(seed).lognormal(13, 1.5, 20_000).astype(np.int64) + 1
    index, count = np.unique([bucket_of(int(value)) for value in samples], return_counts=True)

    for quantile in histogram.QUANTILES.values():
        (found,) = histogram.percentiles_ns(index.astype(np.int64), count, [quantile], float(samples.max()))
        truth = float(np.quantile(samples, float(quantile), method="inverted_cdf"))

        assert found is not None
        assert abs(found - truth) <= truth / 2048 + 0.5


def test_a_percentile_never_exceeds_the_largest_value() -> None:
    index, count = np.array([bucket_of(1_000_000)], dtype=np.int64), np.array([1000], dtype=np.int64)

    assert histogram.percentiles_ns(index, count, [histogram.QUANTILES["p99"]], 1_000_000.0) == [1_000_000.0]


@pytest.mark.parametrize(("name", "needed"), [("p50", 20), ("p90", 100), ("p99", 1_000), ("p99_9", 10_000)])
def test_a_percentile_needs_ten_samples_beyond_it(name: str, needed: int) -> None:
    index, quantile = np.array([100], dtype=np.int64), histogram.QUANTILES[name]

    assert histogram.samples_needed(quantile) == needed
    assert histogram.percentiles_ns(index, np.array([needed - 1]), [quantile], 100.0) == [None]
    assert histogram.percentiles_ns(index, np.array([needed]), [quantile], 100.0) == [100.0]


def test_single_nanoseconds_are_exact() -> None:
    index, count = np.array([10, 20, 30], dtype=np.int64), np.array([10, 10, 80], dtype=np.int64)

    assert histogram.percentiles_ns(index, count, [histogram.QUANTILES["p50"]], 30.0) == [30.0]
    assert histogram.percentiles_ns(index, np.array([50, 30, 20]), [histogram.QUANTILES["p50"]], 30.0) == [10.0]


@pytest.mark.parametrize(("quantile", "needed"), [("0.5", 20), ("0.9", 100), ("0.99", 1000), ("0.999", 10_000)])
def test_a_percentile_needs_ten_values_beyond_it(quantile: str, needed: int) -> None:
    values_ns = np.array([1000.0])
    of = [Fraction(quantile)]

    assert histogram.quantiles_ns(values_ns, np.array([needed - 1]), of) == [None]
    assert histogram.quantiles_ns(values_ns, np.array([needed]), of) == [1000.0]
