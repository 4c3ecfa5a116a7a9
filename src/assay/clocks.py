"""Estimate how far another machine's clock is ahead of this one's, with an error bound.

An exchange asks the other for its time: sent at `s` and answered at `r` by the clock here, with `t` by the clock there. If
the way there took `a` and the way back `b`, then `t = s + a + offset` and `r = s + a + b`. The offset taken is
`t - (s + r) / 2`, whose error is `(a - b) / 2`: no more than half of the round trip, whatever the ways are. So of many
exchanges the one with the shortest round trip is taken, and half of that is the bound (Cristian, Distributed Computing 3,
1989). Two things are added to it: the resolution of the clocks (one step), and what they
may drift apart while the exchange lasts (`MOST_DRIFT_PPM`).

A reading is of a moment. Between two readings the offset lies on the line through them, which holds as long as the clocks
keep their rates; before the first and after the last it is that of the nearest, and `MOST_DRIFT_PPM` is added to the bound.

All times are whole nanoseconds and stay whole: a float distinguishes them for 104 days (2^53 ns), and clocks go on.
"""

import bisect
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

MOST_DRIFT_PPM: Final = 200
"""Two clocks gain on each other by less, in millionths: crystals are within 50 to 100 each. It is no bound for a clock that
is being slewed: adjtime(3) moves it by up to 500."""
_MILLION: Final = 10**6
_MOST_NS: Final = 2**62
"""146 years; what is beyond is no reading, and JSON would not take the sum of two."""


class ClockReading(msgspec.Struct, frozen=True, kw_only=True):
    """How far a client's clock is ahead of the leader's, by the exchange with the least round trip."""

    at_ns: int
    """Middle of the exchange, by the leader's CLOCK_MONOTONIC."""
    offset_ns: int
    """The client's CLOCK_MONOTONIC minus the leader's."""
    bound_ns: int
    """The error is no larger: half of the round trip, a step of the clocks, and their drift meanwhile."""
    exchanges: int
    """Out of which that with the least round trip was taken."""

    def __post_init__(self) -> None:
        """Check the bounds of clocks; raises ValueError."""
        if not 0 <= self.bound_ns <= _MOST_NS or abs(self.offset_ns) > _MOST_NS or abs(self.at_ns) > _MOST_NS:
            raise ValueError("a reading of a clock is out of all bounds")
        if self.exchanges < 1:
            raise ValueError("a reading of a clock needs an exchange")


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One question for the time; nanoseconds."""

    sent_ns: int
    """By the clock here."""
    there_ns: int
    """By the other's."""
    received_ns: int
    """By the clock here."""


@dataclasses.dataclass(frozen=True)
class Shift:
    """What has to be added to a client's time to make it the leader's."""

    ns: int
    bound_ns: int


def reading(exchanges: Iterable[Exchange], *, step_ns: int = 1) -> ClockReading:
    """Take the exchange with the least round trip.

    Args:
        exchanges: Of one client, made one after the other.
        step_ns: Step of the coarser clock; it is rounded down.

    Raises:
        ValueError: there is none, or an answer came before its question.
    """
    found = list(exchanges)
    if not found:
        raise ValueError("no exchange, no reading")
    best = min(found, key=_round_trip_ns)
    if _round_trip_ns(best) < 0:
        raise ValueError("an answer came before its question")
    middle_ns = (best.sent_ns + best.received_ns) // 2
    half_ns = -(-_round_trip_ns(best) // 2) + step_ns
    return ClockReading(
        at_ns=middle_ns,
        offset_ns=best.there_ns - middle_ns,
        bound_ns=half_ns + _most_drift_ns(half_ns),
        exchanges=len(found),
    )


def _round_trip_ns(one: Exchange) -> int:
    return one.received_ns - one.sent_ns


def _most_drift_ns(lasted_ns: int) -> int:
    """What two clocks gain on each other while one of them counts so much, at most, rounded up."""
    return -(-lasted_ns * MOST_DRIFT_PPM // (_MILLION - MOST_DRIFT_PPM))


class Shifts:
    """All readings of one client's clock, made ready for many times of it.

    Between two readings shift and bound lie on the lines through theirs. Two that were taken within less than their bounds
    may have a client's time go backwards: each is right within its bound all the same, and they are taken in its order.
    """

    def __init__(self, readings: Iterable[ClockReading]) -> None:
        """Raises ValueError where there is no reading."""
        self._known = sorted(readings, key=lambda one: (_client_ns(one), -one.bound_ns))
        self._at = [_client_ns(one) for one in self._known]
        if not self._known:
            raise ValueError("the clock was never read")

    def at(self, client_ns: int) -> Shift:
        """Return what to add to a time of the client to convert it to the leader's."""
        place = bisect.bisect_right(self._at, client_ns)
        if place in {0, len(self._at)}:
            nearest = 0 if place == 0 else -1
            one, away_ns = self._known[nearest], abs(client_ns - self._at[nearest])
            return Shift(-one.offset_ns, one.bound_ns + _most_drift_ns(away_ns))
        before, after = self._known[place - 1], self._known[place]
        whole_ns, part_ns = self._at[place] - self._at[place - 1], client_ns - self._at[place - 1]
        gained, left_out = divmod((after.offset_ns - before.offset_ns) * part_ns, whole_ns)
        bound = -(-(before.bound_ns * (whole_ns - part_ns) + after.bound_ns * part_ns) // whole_ns)
        return Shift(-(before.offset_ns + gained), bound + (left_out > 0))


def _client_ns(one: ClockReading) -> int:
    """Give what the client's clock showed at a reading."""
    return one.at_ns + one.offset_ns


def drift_ppm(readings: Sequence[ClockReading]) -> float | None:
    """What a client's clock gains on the leader's, in millionths; None where the bounds of the readings hide it.

    By the first and the last reading in time: the difference of the offsets over the time between, given only if it is
    more than the sum of the two bounds. It is off by that sum over the time between, at most.
    """
    if len(readings) < 2:
        return None
    first, last = (pick(readings, key=lambda one: one.at_ns) for pick in (min, max))
    gained_ns, lasted_ns = last.offset_ns - first.offset_ns, last.at_ns - first.at_ns
    if lasted_ns <= 0 or abs(gained_ns) <= first.bound_ns + last.bound_ns:
        return None
    return gained_ns * _MILLION / lasted_ns
