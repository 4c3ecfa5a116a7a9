"""The reading of another clock is held to a clock that the test made, so that every error is known as a fraction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import assume, example, given

from assay.clocks import MOST_DRIFT_PPM, ClockReading, Exchange, Shifts, drift_ppm, reading

SECOND_NS = 10**9
MOST_OFFSET_NS = 10**15
PICOSECONDS_A_NS = 1000


@dataclass(frozen=True)
class Clock:
    """A client's clock; the leader's is time itself, as a fraction of nanoseconds."""

    offset_ns: int
    """At time 0."""
    drift_ppm: int
    step_ns: int = 1
    """Both clocks tell time in steps of this, rounded down."""

    def offset_at(self, time_ns: Fraction | int) -> Fraction:
        """How far it is ahead, before it is rounded."""
        return self.offset_ns + Fraction(self.drift_ppm, 10**6) * time_ns

    def shown_at(self, time_ns: Fraction | int) -> Fraction:
        """What it would show if it had no steps."""
        return time_ns + self.offset_at(time_ns)

    def time_of(self, shown_ns: int) -> Fraction:
        """When it shows so much."""
        return (shown_ns - self.offset_ns) / (1 + Fraction(self.drift_ppm, 10**6))

    def told(self, time_ns: Fraction) -> int:
        """What a program is told of a time."""
        return int(time_ns // self.step_ns) * self.step_ns

    def asked(self, begun: Fraction, there: Fraction, back: Fraction) -> Exchange:
        """One question, which takes so long to get there, and its answer."""
        arrived = begun + there
        return Exchange(self.told(begun), self.told(self.shown_at(arrived)), self.told(arrived + back))


def fractions(least_ns: int, most_ns: int) -> st.SearchStrategy[Fraction]:
    """Times to the picosecond: a real clock is not at whole nanoseconds when it is read."""
    picoseconds = st.integers(least_ns * PICOSECONDS_A_NS, most_ns * PICOSECONDS_A_NS)
    return picoseconds.map(lambda number: Fraction(number, PICOSECONDS_A_NS))


DRIFTS_PPM = st.integers(-MOST_DRIFT_PPM, MOST_DRIFT_PPM)
CLOCKS = st.builds(
    Clock,
    offset_ns=st.integers(-MOST_OFFSET_NS, MOST_OFFSET_NS),
    drift_ppm=DRIFTS_PPM,
    step_ns=st.sampled_from([1, 1, 41, 1000, 4_000_000]),
)
WAYS = st.one_of(fractions(0, 10), fractions(0, 10**5), fractions(0, 3 * SECOND_NS))
"""Of a fabric, of a network, and of one that holds datagrams back."""
ASKED = st.lists(st.tuples(fractions(0, 10 * SECOND_NS), WAYS, WAYS), min_size=1, max_size=8)
"""When, how long the way there takes, and how long the way back."""
BEGINNINGS = fractions(0, MOST_OFFSET_NS)


def exchanges_of(clock: Clock, begun: Fraction, asked: Sequence[tuple[Fraction, Fraction, Fraction]]) -> list[Exchange]:
    return [clock.asked(begun + after, there, back) for after, there, back in asked]


def error_of(found: ClockReading, clock: Clock) -> Fraction:
    return found.offset_ns - clock.offset_at(found.at_ns)


@given(CLOCKS, BEGINNINGS, ASKED)
def test_a_reading_is_off_by_no_more_than_its_bound_whatever_the_ways_are(
    clock: Clock, begun: Fraction, asked: list[tuple[Fraction, Fraction, Fraction]]
) -> None:
    found = reading(exchanges_of(clock, begun, asked), step_ns=clock.step_ns)

    assert abs(error_of(found, clock)) <= found.bound_ns


@given(CLOCKS, BEGINNINGS, ASKED)
def test_of_several_exchanges_none_alone_has_a_smaller_bound(
    clock: Clock, begun: Fraction, asked: list[tuple[Fraction, Fraction, Fraction]]
) -> None:
    exchanges = exchanges_of(clock, begun, asked)

    together = reading(exchanges)

    assert together.bound_ns == min(reading([one]).bound_ns for one in exchanges)
    assert together.exchanges == len(exchanges)


def test_the_whole_of_the_bound_is_needed_where_one_way_takes_no_time() -> None:
    clock = Clock(offset_ns=5 * SECOND_NS, drift_ppm=0)
    way = Fraction(1_000_000)

    there, back = (
        reading([clock.asked(Fraction(0), there, back)]) for there, back in ((way, Fraction(0)), (Fraction(0), way))
    )

    assert [error_of(found, clock) for found in (there, back)] == [500_000, -500_000]
    assert there.bound_ns == back.bound_ns == 500_000 + 1 + 101  # a step, and 200 ppm of it


def test_the_steps_of_a_clock_and_its_drift_are_in_the_bound() -> None:
    coarse = Clock(offset_ns=0, drift_ppm=0, step_ns=1_000_000)
    in_one_step = coarse.asked(Fraction(0), Fraction(0), Fraction(999_999))
    fast = Clock(offset_ns=0, drift_ppm=200)
    held = fast.asked(Fraction(0), Fraction(SECOND_NS), Fraction(0))

    found = [reading([in_one_step], step_ns=1_000_000), reading([held])]

    assert in_one_step.received_ns - in_one_step.sent_ns == 0
    assert found[0].bound_ns >= 1_000_000
    # Half of the round trip is less than the error.
    assert SECOND_NS // 2 < error_of(found[1], fast) <= found[1].bound_ns


def test_what_is_no_exchange_is_refused() -> None:
    with pytest.raises(ValueError, match="no exchange"):
        reading([])
    with pytest.raises(ValueError, match="before its question"):
        reading([Exchange(5, 7, 6), Exchange(9, 7, 8)])
    with pytest.raises(ValueError, match="never read"):
        Shifts([]).at(5)


Estimator = Callable[[Sequence[Exchange]], ClockReading]


def zero(exchanges: Sequence[Exchange]) -> ClockReading:
    """Say that every clock is right, with an honest bound: what a broken estimator would."""
    return msgspec.structs.replace(reading(exchanges), offset_ns=0)


def holds(estimator: Estimator, clock: Clock, exchanges: Sequence[Exchange]) -> bool:
    found = estimator(exchanges)
    return abs(error_of(found, clock)) <= found.bound_ns


@given(CLOCKS, BEGINNINGS, ASKED)
def test_an_estimator_that_says_zero_is_found_out_wherever_the_truth_is_not_within_the_bound(
    clock: Clock, begun: Fraction, asked: list[tuple[Fraction, Fraction, Fraction]]
) -> None:
    exchanges = exchanges_of(clock, begun, asked)
    found = reading(exchanges)
    assume(abs(clock.offset_at(found.at_ns)) > found.bound_ns)

    assert not holds(zero, clock, exchanges)


def read_at(clock: Clock, times: Sequence[Fraction], ways: Sequence[tuple[Fraction, Fraction]]) -> list[ClockReading]:
    return [
        reading([clock.asked(time, there, back)], step_ns=clock.step_ns)
        for time, (there, back) in zip(times, ways, strict=True)
    ]


@st.composite
def read_clocks(draw: st.DrawFn) -> tuple[Clock, list[ClockReading]]:
    """A clock, and its readings in the order of time; some of them closer to each other than their bounds."""
    clock = draw(CLOCKS)
    apart = st.one_of(fractions(0, 10), fractions(0, SECOND_NS), fractions(0, 10**14))
    times = [draw(BEGINNINGS)]
    for after in draw(st.lists(apart, max_size=5)):
        times.append(times[-1] + after)
    ways = draw(st.lists(st.tuples(WAYS, WAYS), min_size=len(times), max_size=len(times)))
    return clock, read_at(clock, times, ways)


@given(read_clocks(), st.data())
def test_a_shift_between_readings_is_within_their_bounds_and_outside_within_what_crystals_drift(
    read: tuple[Clock, list[ClockReading]], data: st.DataObject
) -> None:
    clock, readings = read
    first_ns, last_ns = (pick(one.at_ns + one.offset_ns for one in readings) for pick in (min, max))
    client_ns = data.draw(st.one_of(st.integers(first_ns, last_ns), st.integers(first_ns - 10**14, last_ns + 10**14)))

    shift = Shifts(readings).at(client_ns)

    assert abs(client_ns + shift.ns - clock.time_of(client_ns)) <= shift.bound_ns
    if first_ns <= client_ns <= last_ns:
        assert shift.bound_ns <= max(one.bound_ns for one in readings) + 1
    else:
        away_ns = max(first_ns - client_ns, client_ns - last_ns)
        assert shift.bound_ns >= away_ns * MOST_DRIFT_PPM // 10**6


@given(
    first_ns=st.integers(0, 10**18),
    offset_ns=st.integers(-(10**18), 10**18),
    millions=st.integers(1, 10**8),
    ppm=DRIFTS_PPM,
    part=st.integers(0, 10**6),
)
@example(first_ns=10**18, offset_ns=10**18 - 1, millions=10**8, ppm=199, part=333_333)
def test_no_nanosecond_is_lost_between_exact_readings_of_large_values(
    first_ns: int, offset_ns: int, millions: int, ppm: int, part: int
) -> None:
    gained_ns, lasted_ns = ppm * millions, 10**6 * millions
    readings = [
        ClockReading(at_ns=first_ns, offset_ns=offset_ns, bound_ns=0, exchanges=1),
        ClockReading(at_ns=first_ns + lasted_ns, offset_ns=offset_ns + gained_ns, bound_ns=0, exchanges=1),
    ]
    leader_ns = first_ns + part * millions
    client_ns = leader_ns + offset_ns + Fraction(ppm * part * millions, 10**6)
    whole_ns = int(client_ns // 1)

    shift = Shifts(readings).at(whole_ns)

    exact = Fraction(whole_ns - first_ns - offset_ns) / (1 + Fraction(ppm, 10**6)) + first_ns
    assert abs(whole_ns + shift.ns - exact) <= shift.bound_ns <= 1
    if client_ns.denominator == 1:
        assert (whole_ns + shift.ns, shift.bound_ns) == (leader_ns, 0)


def test_two_readings_in_which_time_went_backwards_still_cover_the_truth() -> None:
    # The clock is ahead by 0; both readings are off by what their bounds allow.
    early = ClockReading(at_ns=1000, offset_ns=500, bound_ns=500, exchanges=1)
    late = ClockReading(at_ns=1100, offset_ns=-400, bound_ns=400, exchanges=1)

    for client_ns in (0, 700, 900, 1500, 3000):
        for readings in ([early, late], [late, early]):
            shift = Shifts(readings).at(client_ns)
            assert abs(shift.ns) <= shift.bound_ns


def test_readings_are_taken_in_the_order_of_the_clients_time_whatever_order_they_come_in() -> None:
    readings = [ClockReading(at_ns=at, offset_ns=at // 10_000, bound_ns=5, exchanges=1) for at in (0, 10**6, 2 * 10**6)]

    shifts = [Shifts(order).at(10**6 + 500_150) for order in (readings, readings[::-1])]

    # Ahead by 150 at that time: half-way between 100 and 200.
    assert [(shift.ns, shift.bound_ns) for shift in shifts] == [(-150, 5)] * 2


def test_a_gain_that_two_opposite_errors_explain_is_no_drift() -> None:
    early = ClockReading(at_ns=0, offset_ns=-100, bound_ns=100, exchanges=1)
    late = ClockReading(at_ns=10**6, offset_ns=30, bound_ns=30, exchanges=1)
    beyond = msgspec.structs.replace(late, offset_ns=31)

    assert drift_ppm([early, late]) is None
    assert drift_ppm([early, beyond]) == 131


@given(read_clocks())
def test_a_drift_is_off_by_no_more_than_the_bounds_allow_and_hidden_where_they_hide_it(
    read: tuple[Clock, list[ClockReading]],
) -> None:
    clock, readings = read
    first, last = (pick(readings, key=lambda one: one.at_ns) for pick in (min, max))
    lasted_ns, bounds_ns = last.at_ns - first.at_ns, first.bound_ns + last.bound_ns

    told = drift_ppm(readings)

    if told is None:
        assert abs(clock.drift_ppm) * lasted_ns <= 2 * bounds_ns * 10**6
    else:
        assert clock.drift_ppm != 0
        assert abs(told - clock.drift_ppm) <= bounds_ns * 10**6 / lasted_ns * (1 + 1e-9)


def test_a_drift_is_told_in_millionths_of_the_leaders_time() -> None:
    clock = Clock(offset_ns=SECOND_NS, drift_ppm=-37)
    still = Clock(offset_ns=SECOND_NS, drift_ppm=0)
    times = [Fraction(time_s * SECOND_NS) for time_s in (0, 1000)]
    ways = [(Fraction(20_000), Fraction(30_000))] * 2

    told, hidden = drift_ppm(read_at(clock, times, ways)), drift_ppm(read_at(still, times, ways))

    assert told == pytest.approx(-37, abs=0.06)  # 50 us in 1,000 s
    assert hidden is None
    assert drift_ppm(read_at(clock, times[:1], ways[:1])) is None


@given(st.integers(-(2**63), 2**64), st.integers(-(2**63), 2**64), st.integers(-1, 2**64))
def test_what_a_reading_takes_survives_json(at_ns: int, offset_ns: int, bound_ns: int) -> None:
    try:
        found = ClockReading(at_ns=at_ns, offset_ns=offset_ns, bound_ns=bound_ns, exchanges=1)
    except ValueError:
        return

    assert msgspec.json.decode(msgspec.json.encode(found), type=ClockReading) == found
