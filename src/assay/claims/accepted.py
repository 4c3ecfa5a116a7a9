"""Compute the values that make a claim true, and compare a figure with them.

A figure with an interval supports a claim where the whole interval is accepted, contradicts it where none of it is, and
decides nothing in between. A figure without one (the arithmetic of a table) is an interval of no width.
"""

import dataclasses
import enum
import math
from collections.abc import Callable, Iterable
from typing import Final

ABOUT: Final = 0.10
"""`about N` takes what differs by so much of N."""
_ROUNDING: Final = 1e-9
"""Share of a value within which two computations of the same figure may differ."""


class ClaimVerdict(enum.StrEnum):
    """The verdict on a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_DECIDABLE = "not_decidable"

    @property
    def words(self) -> str:
        """For people."""
        return self.value.replace("_", " ")


class Bound(enum.StrEnum):
    """How a number of a claim is meant."""

    EXACT = "exactly"
    """As printed: the figure rounds to it."""
    ABOUT = "about"
    LEAST = "at least"
    MOST = "at most"
    MORE = "more than"
    LESS = "less than"

    @property
    def is_one_sided(self) -> bool:
        """Whether it is a limit, and no value."""
        return self in {Bound.LEAST, Bound.MOST, Bound.MORE, Bound.LESS}


@dataclasses.dataclass(frozen=True)
class Stated:
    """A number as a claim prints it."""

    value: float
    half_digit: float
    """Half a unit of its last digit: what rounds to it differs by no more."""


@dataclasses.dataclass(frozen=True)
class Accepted:
    """Values that make a claim true, from `low` to `high`."""

    low: float = -math.inf
    high: float = math.inf
    is_open: bool = False
    """Whether the ends themselves do not."""

    def verdict(self, low: float, high: float) -> ClaimVerdict:
        """Assess a figure that lies from `low` to `high`."""
        if self._has(low) and self._has(high):
            return ClaimVerdict.SUPPORTED
        is_outside = high < self.low or low > self.high or (low == high and not self._has(low))
        return ClaimVerdict.CONTRADICTED if is_outside else ClaimVerdict.NOT_DECIDABLE

    def _has(self, value: float) -> bool:
        slack = 0.0 if self.is_open else _ROUNDING * abs(value)
        if self.is_open:
            return self.low < value < self.high
        return self.low - slack <= value <= self.high + slack

    def through(self, change: Callable[[float], float]) -> "Accepted":
        """Give the values that these become by a function that only rises or only falls."""
        ends = sorted((_of(change, self.low), _of(change, self.high)))
        return Accepted(ends[0], ends[1], self.is_open)

    def widen(self, by: float) -> "Accepted":
        """Take what differs from it by a share as well."""
        return Accepted(self.low * (1 - by), self.high * (1 + by), self.is_open)


def _of(change: Callable[[float], float], value: float) -> float:
    try:
        return change(value)
    except OverflowError:
        return math.inf


def accept(bound: Bound, stated: Stated) -> Accepted:
    """Give the values for which a number holds as it is meant."""
    value = stated.value
    match bound:
        case Bound.LEAST:
            return Accepted(low=value)
        case Bound.MOST:
            return Accepted(high=value)
        case Bound.MORE:
            return Accepted(low=value, is_open=True)
        case Bound.LESS:
            return Accepted(high=value, is_open=True)
        case Bound.ABOUT:
            half = max(ABOUT * abs(value), stated.half_digit)
            return Accepted(value - half, value + half)
        case Bound.EXACT:
            return Accepted(value - stated.half_digit, value + stated.half_digit)


def agree(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Give the verdict on which all readings of a sentence agree; where they do not, nothing is decided."""
    found = set(verdicts)
    return found.pop() if len(found) == 1 else ClaimVerdict.NOT_DECIDABLE


def of_all(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Give the verdict on a claim of several things, each of which has to hold."""
    found = set(verdicts)
    for verdict in (ClaimVerdict.CONTRADICTED, ClaimVerdict.NOT_DECIDABLE):
        if verdict in found:
            return verdict
    return ClaimVerdict.SUPPORTED if found else ClaimVerdict.NOT_DECIDABLE
