"""Does what changes with time fall on all sides alike, and do rounds end for precision and never for a difference?"""

import math
from itertools import islice

import msgspec
import pytest

from assay.compare.comparison import Against, Comparison, Row, Side
from assay.compare.turns import is_enough, orders
from assay.verdicts import ComparisonVerdict


@pytest.mark.parametrize("sides", [2, 3, 5])
def test_a_drift_that_is_even_falls_on_all_sides_alike(sides: int) -> None:
    for seed in range(20):
        order = [side for each in islice(orders(sides, seed), 6) for side in each]

        places = [sum(place for place, side in enumerate(order) if side == wanted) for wanted in range(sides)]

        assert len(set(places)) == 1
        assert sorted(order) == sorted(list(range(sides)) * 6)
    assert len({next(orders(sides, seed)) for seed in range(50)}) > 1
    assert list(islice(orders(sides, 7), 9)) == list(islice(orders(sides, 7), 9))


def row(interval: tuple[float, float] | None, metric: str = "iops") -> Row:
    side = Side(values=(1.0,), median=1.0, measures=("storage",), left_out=())
    return Row(
        label="a", title="a", metric=metric, unit="ops/s", a=side, b=side, ratio=1.0, interval=interval, range=None,
        p=None, verdict=ComparisonVerdict.INCONCLUSIVE, reason="", runs_needed=None, pairs=0,
    )  # fmt: skip


def compared(*rows: Row) -> Comparison:
    against = Against(
        name="b", rows=rows, missing=(), geometric_mean=None, geometric_mean_of=0, drifts=(), in_turn=True
    )
    return Comparison(schema="s", effect=0.03, a="a", runs={}, against=(against,))


def test_rounds_end_where_every_rate_is_known_well_enough_whatever_the_ratio() -> None:
    narrow, wide, far = row((0.98, 1.02)), row((0.95, 1.05)), row((1.96, 2.04))

    assert is_enough(compared(narrow), 5)
    assert is_enough(compared(far, narrow), 7)
    assert not is_enough(compared(narrow, wide), 5)
    assert not is_enough(compared(row((1.5, 3.0))), 5)
    assert is_enough(compared(narrow, row((0.5, 2.0), "p99")), 10)
    assert not is_enough(compared(narrow), 6)
    assert not is_enough(compared(row(None)), 5)
    nothing = msgspec.structs.replace(row(None), ratio=None)
    assert not is_enough(compared(nothing), 5)


def test_rounds_may_end_after_five_seven_and_ten() -> None:
    assert [rounds for rounds in range(20) if is_enough(compared(row((0.98, 1.02))), rounds)] == [5, 7, 10]


@pytest.mark.parametrize(("half", "is_known"), [(0.0299, True), (0.0301, False)])
def test_a_rate_is_known_where_half_of_its_interval_is_the_difference_that_matters(half: float, is_known: bool) -> None:
    # 3 %, on the scale of the logarithm, on which distances are ratios.
    assert is_enough(compared(row((2 * math.exp(-half), 2 * math.exp(half)))), 5) is is_known
