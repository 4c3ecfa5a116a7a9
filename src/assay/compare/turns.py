"""Choose the order in which the sides of a comparison run, and decide when there are enough rounds.

Two rounds are a block: the sides in an order that is drawn, then in the reverse of it (ABBA or BAAB), so that what changes
evenly with time falls on all alike. Rounds end when the ratio is known well enough, not when it is large enough: a stop at
the first difference that shows would find differences where there are none (METHOD 2.4).
"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from assay.compare.arms import P99
from assay.compare.comparison import Comparison, Row

MOST_ROUNDS: Final = 15
LOOKS: Final = (5, 7, 10)
"""Rounds after which it may end early."""


def orders(sides: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Give the order of each round, without an end."""
    drawn = np.random.default_rng(seed)
    while True:
        order = tuple(int(side) for side in drawn.permutation(sides))
        yield order
        yield order[::-1]


def half_width(row: Row) -> float | None:
    """Give half of the interval of the logarithm of a ratio, which is its share while small; None: there is none."""
    if row.interval is None:
        return None
    return (math.log(row.interval[1]) - math.log(row.interval[0])) / 2


def is_enough(comparison: Comparison, rounds: int) -> bool:
    """Whether every rate that can be compared is known to within the difference that matters."""
    if rounds not in LOOKS:
        return False
    rates = [row for against in comparison.against for row in against.rows if row.metric != P99.name and row.ratio]
    widths = [half_width(row) for row in rates]
    return bool(widths) and all(width is not None and width <= comparison.effect for width in widths)
