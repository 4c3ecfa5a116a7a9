"""How far is another machine's clock ahead of this one's, and how sure is that?

An exchange asks the other for its time: sent at `s` and answered at `r` by the clock here, with `t` by the clock there. If
the way there took `a` and the way back `b`, then `t = s + a + offset` and `r = s + a + b`. The offset taken is
`t - (s + r) / 2`, whose error is `(a - b) / 2`: no more than half of the round trip, whatever the ways are. So of many
exchanges the one with the shortest round trip is taken, and half of that is the bound (Cristian, 1989).

A reading is of a moment. Between two readings the offset lies on the line through them; before the first and after the last
it is that of the nearest, and what crystals drift apart (`MOST_DRIFT`) is added to the bound.
"""

import bisect
import dataclasses
from collections.abc import Iterable, Sequence

import msgspec

MOST_DRIFT = 100e-6
"""Times of two machines' clocks that run free differ by less: crystals are within 50 ppm each."""
_MOST_NS = 10**19


class ClockReading(msgspec.Struct, frozen=True, kw_only=True):
    """How far a client's clock is ahead of the leader's, by the exchange with the least round trip."""

    at_ns: int
    """Middle of the exchange, by the leader's CLOCK_MONOTONIC."""
    offset_ns: int
    """The client's CLOCK_MONOTONIC minus the leader's."""
    bound_ns: int
    """Half of the round trip: the error is no larger."""
    exchanges: int
    """Out of which that with the least round trip was taken."""

    def __post_init__(self) -> None:
        """Hold to what clocks can say; raises ValueError."""
        if not 0 <= self.bound_ns < _MOST_NS or abs(self.offset_ns) > _MOST_NS or abs(self.at_ns) > _MOST_NS:
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


def reading(exchanges: Iterable[Exchange]) -> ClockReading:
    """Take the exchange with the least round trip.

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
    return ClockReading(
        at_ns=middle_ns,
        offset_ns=best.there_ns - middle_ns,
        bound_ns=-(-_round_trip_ns(best) // 2),
        exchanges=len(found),
    )


def _round_trip_ns(one: Exchange) -> int:
    return one.received_ns - one.sent_ns


def shift_at(readings: Sequence[ClockReading], client_ns: int) -> Shift:
    """Say what to add to a time of a client to make it the leader's, by all readings of its clock, in the order of time.

    Raises:
        ValueError: there is no reading.
    """
    if not readings:
        raise ValueError("the clock was never read")
    at = [one.at_ns + one.offset_ns for one in readings]
    place = bisect.bisect_right(at, client_ns)
    if place in {0, len(at)}:
        nearest = 0 if place == 0 else -1
        one, away_ns = readings[nearest], abs(client_ns - at[nearest])
        return Shift(-one.offset_ns, one.bound_ns + round(MOST_DRIFT * away_ns))
    before, after = readings[place - 1], readings[place]
    part = (client_ns - at[place - 1]) / (at[place] - at[place - 1]) if at[place] > at[place - 1] else 0.0
    offset_ns = before.offset_ns + round((after.offset_ns - before.offset_ns) * part)
    return Shift(-offset_ns, max(before.bound_ns, after.bound_ns))


def drift_ppm(readings: Sequence[ClockReading]) -> float | None:
    """What a client's clock gains on the leader's, in millionths; None where the bounds of the readings hide it.

    By the first and the last reading: the difference of the offsets over the time between, told only where it is more than
    the sum of the two bounds.
    """
    if len(readings) < 2:
        return None
    first, last = readings[0], readings[-1]
    gained_ns, lasted_ns = last.offset_ns - first.offset_ns, last.at_ns - first.at_ns
    if lasted_ns <= 0 or abs(gained_ns) <= first.bound_ns + last.bound_ns:
        return None
    return gained_ns / lasted_ns * 1e6
