"""Are the effects of a factorial design those of the closed form, and do their intervals hold as often as they say?"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from assay.analysis.statistics.factorial import Effect, Factorial, Observation, factorial, middle_interval

TRIALS = 1500


def effects_of(found: Factorial, *factors: int) -> list[Effect]:
    return [effect for effect in found.effects if effect.factors == factors]


def observations(logs: np.ndarray) -> list[Observation]:
    """Of an array whose last axis is the block."""
    return [Observation(at[:-1], at[-1], math.exp(value)) for at, value in np.ndenumerate(logs)]


def test_two_by_two_is_the_table_of_signs() -> None:
    # Four cells of two runs, log2 of the rates: cells 1, 2, 3, 6, the runs of the two rounds 0.5 below and above.
    middle = np.array([[1.0, 2.0], [3.0, 6.0]])
    logs = np.log(2) * np.stack([middle - 0.5, middle + 0.5], axis=-1)

    found = factorial([2, 2], observations(logs))

    # Mean 3; rows 1.5 and 4.5, columns 2 and 4; what is left of (0, 0) is 1 - 3 + 1.5 + 1 = 0.5.
    assert [math.log2(e.ratio) for e in effects_of(found, 0)] == pytest.approx([-1.5, 1.5])
    assert [math.log2(e.ratio) for e in effects_of(found, 1)] == pytest.approx([-1.0, 1.0])
    assert [math.log2(e.ratio) for e in effects_of(found, 0, 1)] == pytest.approx([0.5, -0.5, -0.5, 0.5])
    # Of the squares 4 (1.5^2 + 1^2 + 0.5^2) = 14.
    assert [term.share for term in found.terms] == pytest.approx([9 / 14, 4 / 14, 1 / 14])
    # All that differs between runs of a cell is the round: nothing is left of it.
    assert found.freedom == 3
    assert found.spread == pytest.approx(0, abs=1e-12)


def test_a_balanced_design_has_the_intervals_and_p_of_the_closed_form() -> None:
    a, b, r = 3, 4, 5
    random = np.random.default_rng(3)
    logs = random.normal(0, 0.1, (a, b, r)) + random.normal(0, 0.2, (a, 1, 1)) + random.normal(0, 0.3, r)

    found = factorial([a, b], observations(logs))

    cells = logs.mean(axis=2)
    rest = logs - cells[:, :, None] - logs.mean(axis=(0, 1)) + logs.mean()
    freedom = (a * b - 1) * (r - 1)
    variance = (rest**2).sum() / freedom
    assert found.freedom == freedom
    assert found.spread == pytest.approx(math.sqrt(variance))
    rows, columns = cells.mean(axis=1) - cells.mean(), cells.mean(axis=0) - cells.mean()
    both = cells - cells.mean() - rows[:, None] - columns[None, :]
    for factors, expected, share in (
        ((0,), rows, (a - 1) / (a * b * r)),
        ((1,), columns, (b - 1) / (a * b * r)),
        ((0, 1), both.ravel(), (a - 1) * (b - 1) / (a * b * r)),
    ):
        half = stats.t.ppf(0.975, freedom) * math.sqrt(variance * share)
        for effect, size in zip(effects_of(found, *factors), expected, strict=True):
            assert effect.low is not None
            assert effect.high is not None
            assert math.log(effect.ratio) == pytest.approx(size)
            assert math.log(effect.low) == pytest.approx(size - half, abs=1e-9)
            assert math.log(effect.high) == pytest.approx(size + half, abs=1e-9)
    squares = [b * r * (rows**2).sum() / (a - 1), a * r * (columns**2).sum() / (b - 1)]
    squares.append(r * (both**2).sum() / ((a - 1) * (b - 1)))
    for term, square, free in zip(found.terms, squares, (a - 1, b - 1, (a - 1) * (b - 1)), strict=True):
        assert term.p == pytest.approx(stats.f.sf(square / variance, free, freedom), rel=1e-6)


def test_runs_that_are_left_out_move_no_effect_of_exact_data() -> None:
    sizes = np.array([[0.0, 0.1], [0.2, 0.5], [0.4, 0.3]])
    logs = sizes[:, :, None] + np.array([0.0, 0.7, -0.2])
    whole = observations(logs)
    fewer = [each for i, each in enumerate(whole) if i not in {1, 5, 6}]

    found, of_all = factorial([3, 2], fewer), factorial([3, 2], whole)

    assert [e.ratio for e in found.effects] == pytest.approx([e.ratio for e in of_all.effects])
    assert found.freedom == of_all.freedom - 3


def test_three_factors_have_their_pairs_and_no_more() -> None:
    logs = np.random.default_rng(1).normal(0, 1, (2, 3, 2, 2))

    found = factorial([2, 3, 2], observations(logs))

    assert [term.factors for term in found.terms] == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    cells = logs.mean(axis=3)
    pair = cells.mean(axis=1) - cells.mean(axis=(0, 1)) - cells.mean(axis=(1, 2))[:, None] + cells.mean()
    assert [math.log(e.ratio) for e in effects_of(found, 0, 2)] == pytest.approx(list(pair.ravel()))


def test_a_single_round_has_effects_and_no_intervals() -> None:
    found = factorial([2, 2], observations(np.array([[[0.0], [1.0]], [[2.0], [3.0]]])))

    assert [math.log(e.ratio) for e in effects_of(found, 0)] == pytest.approx([-1.0, 1.0])
    assert {(e.low, e.high) for e in found.effects} == {(None, None)}
    assert {term.p for term in found.terms} == {None}
    assert found.spread is None


def test_one_factor_has_no_interactions() -> None:
    found = factorial([3], observations(np.array([[0.0, 0.1], [1.0, 1.2], [2.0, 2.1]])))

    assert [term.factors for term in found.terms] == [(0,)]


def test_a_cell_without_a_run_is_refused() -> None:
    with pytest.raises(ValueError, match="every cell"):
        factorial([2, 2], [Observation((0, 0), 0, 1.0)])


@pytest.mark.parametrize(("shape", "left_out"), [((2, 2, 3), 0), ((3, 3, 3), 0), ((3, 2, 2, 3), 4), ((3, 3, 2), 0)])
@pytest.mark.long
def test_intervals_hold_the_truth_in_95_of_100_whatever_the_rounds_are(shape: tuple[int, ...], left_out: int) -> None:
    random = np.random.default_rng(sum(shape))
    levels = shape[:-1]
    truth = random.normal(0, 0.3, levels)
    exact = {
        (e.factors, e.levels): e.ratio
        for e in factorial(levels, observations(np.stack([truth, truth], axis=-1))).effects
    }
    held = total = 0
    for _ in range(TRIALS // 3):
        logs = truth[..., None] + random.normal(0, 0.05, shape) + random.normal(0, 0.3, shape[-1])
        runs = observations(logs)
        # Of different cells, so that each keeps some.
        gone = {int(i) * shape[-1] for i in random.permutation(math.prod(levels))[:left_out]}
        found = factorial(levels, [run for i, run in enumerate(runs) if i not in gone])
        for effect in found.effects:
            assert effect.low is not None
            assert effect.high is not None
            held += effect.low <= exact[effect.factors, effect.levels] <= effect.high
            total += 1

    assert held / total == pytest.approx(0.95, abs=0.015)


@pytest.mark.long
def test_a_term_that_does_nothing_has_a_p_below_a_twentieth_in_a_twentieth() -> None:
    random = np.random.default_rng(8)
    below = [
        term.p < 0.05
        for _ in range(TRIALS)
        for term in factorial([3, 2], observations(random.normal(0, 0.1, (3, 2, 3)))).terms
        if term.p is not None
    ]

    assert len(below) == 3 * TRIALS
    assert np.mean(below) == pytest.approx(0.05, abs=0.012)


@pytest.mark.long
def test_a_cell_that_varies_much_more_is_named_and_alike_ones_are_hardly_ever() -> None:
    random = np.random.default_rng(4)
    named = 0
    for _ in range(TRIALS):
        logs = random.normal(0, 0.02, (3, 3, 4))
        named += factorial([3, 3], observations(logs)).uneven_cell is not None
    assert named / TRIALS < 0.06

    found = []
    for _ in range(100):
        logs = random.normal(0, 0.02, (3, 3, 4))
        logs[1, 2] *= 10
        found.append(factorial([3, 3], observations(logs)).uneven_cell)
    assert found.count((1, 2)) >= 90


def test_the_interval_of_a_cell_is_that_of_students_t() -> None:
    values = [98.0, 103.0, 100.0, 107.0]
    logs = np.log(values)

    low, high = middle_interval(values) or (0, 0)

    expected = stats.t.interval(0.95, 3, loc=logs.mean(), scale=stats.sem(logs))
    assert (math.log(low), math.log(high)) == pytest.approx(expected, rel=1e-6)
    assert middle_interval(values[:2]) is None


def test_all_orders_of_factors_give_the_same() -> None:
    logs = np.random.default_rng(2).normal(0, 0.2, (2, 3, 3))
    turned = np.swapaxes(logs, 0, 1)

    one, other = factorial([2, 3], observations(logs)), factorial([3, 2], observations(turned))

    for i, j in itertools.product(range(2), range(3)):
        mine = next(e for e in one.effects if e.factors == (0, 1) and e.levels == (i, j))
        its = next(e for e in other.effects if e.factors == (0, 1) and e.levels == (j, i))
        assert mine.ratio == pytest.approx(its.ratio)
        assert mine.low == pytest.approx(its.low)
