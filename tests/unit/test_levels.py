"""Where a series changes its level: known changes are found where they are, noise is left whole."""

import itertools

import numpy as np
import pytest

from assay.analysis.arrays import FloatArray
from assay.analysis.statistics.levels import MOST_VALUES, Level, Levels, find_levels, settled

SEEDS = range(100)


def noise(seed: int, count: int, *, deviation: float = 0.1, correlation: float = 0.0) -> FloatArray:
    """AR(1) noise about 1."""
    rng = np.random.default_rng(seed)
    white = rng.normal(0, 1, count)
    z = np.array(list(itertools.accumulate(white, lambda z, e: correlation * z + np.sqrt(1 - correlation**2) * e)))
    return np.exp(deviation * z)


def with_outliers(values: FloatArray, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed + 1000)
    return np.where(rng.random(len(values)) < 0.08, values * rng.uniform(2, 10, len(values)), values)


def test_a_change_is_found_where_it_is_and_both_levels_are_right() -> None:
    values = np.array([2.0, 2.02, 1.98, 2.01, 1.99, 2.0, 3.0, 3.03, 2.97, 3.01, 2.99, 3.0])

    found = find_levels(values)

    assert [(level.begin, level.end) for level in found.levels] == [(0, 6), (6, 12)]
    assert [level.value for level in found.levels] == pytest.approx([2.0, 3.0], rel=0.001)
    assert found.noise == pytest.approx(0.0079, abs=0.002)


@pytest.mark.parametrize("count", [40, 100, 600])
def test_a_change_by_half_is_found_in_noise_of_a_tenth(count: int) -> None:
    found = 0
    for seed in SEEDS:
        values = noise(seed, count)
        values[count // 2 :] *= 1.5
        levels = find_levels(values)
        near = 2 * levels.gathered
        found += len(levels.levels) == 2 and abs(levels.levels[0].end - count // 2) <= near

    assert found >= 90


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("count", [12, 40, 200])
def test_noise_without_a_change_stays_whole(count: int, correlation: float) -> None:
    cut = sum(len(find_levels(noise(seed, count, correlation=correlation)).levels) > 1 for seed in SEEDS)

    assert cut <= 8


@pytest.mark.parametrize("count", [40, 100, 600])
def test_lone_outliers_are_no_change_of_level(count: int) -> None:
    cut = sum(len(find_levels(with_outliers(noise(seed, count), seed)).levels) > 1 for seed in SEEDS)

    assert cut <= 20


def test_a_change_that_drowns_in_the_noise_is_not_claimed() -> None:
    values = noise(3, 60, deviation=0.3)
    values[30:] *= 1.1

    assert len(find_levels(values).levels) == 1


@pytest.mark.parametrize(
    ("levels", "count"), [((1.0, 1.049), 1), ((1.0, 1.051), 2), ((1.051, 1.0), 2), ((1.0, 1.04, 1.2), 2)]
)
def test_levels_less_than_5_percent_apart_are_one(levels: tuple[float, ...], count: int) -> None:
    assert len(find_levels(np.repeat(levels, 20)).levels) == count


@pytest.mark.parametrize(("count", "gathered"), [(60, 1), (61, 3), (180, 3), (181, 5), (300, 5), (301, 7)])
def test_an_odd_number_of_neighbours_is_gathered_so_that_at_most_sixty_medians_are_left(
    count: int, gathered: int
) -> None:
    assert find_levels(np.ones(count)).gathered == gathered


def test_a_long_series_is_cut_in_its_own_numbers() -> None:
    values = np.concatenate([np.full(7000, 1.0), np.full(3001, 2.0)])

    first, second = find_levels(values).levels

    assert abs(first.end - 7000) <= 10001 / MOST_VALUES + 2
    assert (first.begin, second.begin, second.end) == (0, first.end, 10001)


def test_only_a_last_level_that_lasts_is_settled() -> None:
    late = np.concatenate([np.full(16, 1.0), np.full(4, 2.0)])
    early = late[::-1]

    assert settled(find_levels(late, shortest=2)) is None
    last = settled(find_levels(early, shortest=2))
    assert last is not None
    assert (last.begin, last.end) == (4, 20)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0], [1.0, float("nan")]])
def test_what_has_no_logarithm_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="above zero"):
        find_levels(np.array(values))


def test_one_value_is_one_level() -> None:
    found = find_levels(np.array([5.0]))

    assert [(level.begin, level.end) for level in found.levels] == [(0, 1)]
    assert found.noise == 0


@pytest.mark.parametrize(
    ("before", "last", "is_settled"),
    [
        # Three values, and three in ten of all.
        (4, 2, False),
        (4, 3, True),
        (7, 3, True),
        (8, 3, False),
        (71, 29, False),
        (70, 30, True),
    ],
)
def test_a_series_has_settled_with_three_values_and_three_tenths_at_its_last_level(
    before: int, last: int, is_settled: bool
) -> None:
    levels = (Level(0, before, 2.0), Level(before, before + last, 1.0))

    found = settled(Levels(levels=levels, noise=0.01, gathered=1, outliers=0))

    assert found == (levels[1] if is_settled else None)
