"""No client can hold a run without end, and none that works is given up while the others wait a while for it."""

from collections.abc import Iterator

import pytest

from assay.cluster.patience import BEHIND_S, IDLE_S, KILL_S, OVER_S, SHOWS_S, STOP_S, TIMES, Patience, Standing

STEP_S = 5.0


def at(place: int, *, work: int = 0, is_there: bool = True, is_over: bool = False, is_load: bool = True) -> Standing:
    return Standing(place=place, work=work, is_there=is_there, is_over=is_over, is_load=is_load)


def given_up(steps: Iterator[dict[str, Standing]], patience: Patience, most_s: float) -> tuple[float, dict[str, str]]:
    """Let time pass until somebody is given up; when, and who."""
    now_s = 0.0
    while now_s < most_s:
        patience.look(1000.0 + now_s)
        if found := dict(patience.give_up(next(steps))):
            return now_s, found
        now_s += STEP_S
    return now_s, {}


def always(**clients: Standing) -> Iterator[dict[str, Standing]]:
    while True:
        yield clients


def working(**clients: Standing) -> Iterator[dict[str, Standing]]:
    """The last of them shows work all the time."""
    work = 0
    *_, last = clients
    while True:
        work += 1
        one = clients[last]
        yield {**clients, last: at(one.place, work=work)}


def test_who_is_behind_and_shows_no_work_is_given_up() -> None:
    when_s, who = given_up(always(a=at(3), b=at(3), c=at(1)), Patience(), 3 * IDLE_S)

    assert list(who) == ["c"]
    assert IDLE_S + SHOWS_S <= when_s <= IDLE_S + SHOWS_S + 3 * STEP_S
    assert "without any work" in who["c"]


def test_who_works_is_waited_for_some_times_as_long_as_all_else_takes() -> None:
    when_s, who = given_up(working(a=at(3), b=at(3), c=at(1)), Patience(), 3 * BEHIND_S)

    assert list(who) == ["c"]
    assert BEHIND_S <= when_s <= BEHIND_S + 2 * STEP_S

    def slow() -> Iterator[dict[str, Standing]]:
        """The others take an hour; the last ten times as long."""
        for step in range(1 << 20):
            place = 1 if step * STEP_S < BEHIND_S else 3
            yield {"a": at(place, work=step), "b": at(place, work=step), "c": at(1, work=step)}

    when_s, who = given_up(slow(), Patience(), 10 * BEHIND_S)
    assert list(who) == ["c"]
    assert abs(when_s - BEHIND_S * (1 + TIMES)) <= 8 * STEP_S


def test_many_short_waits_are_one_long_one() -> None:
    """Who is late in each phase by less than is noticed holds a run of many phases all the same."""

    def late() -> Iterator[dict[str, Standing]]:
        for step in range(1 << 20):
            phase, part = divmod(step, 11)
            done = at(2 * phase + 1, work=step)
            yield {"a": done, "b": done, "c": done if part == 10 else at(2 * phase, work=2 * phase)}

    when_s, who = given_up(late(), Patience(), 10 * BEHIND_S)

    assert list(who) == ["c"]
    assert when_s <= 1.2 * BEHIND_S


@pytest.mark.parametrize(
    "clients",
    [
        {"a": at(1)},
        {"a": at(1), "b": at(1), "c": at(1)},
        {"a": at(3), "b": at(1), "c": at(1), "d": at(1)},
        {"a": at(3), "b": at(3), "s": at(-1, is_load=False)},
    ],
)
def test_who_is_not_behind_most_of_the_others_is_waited_for(clients: dict[str, Standing]) -> None:
    assert given_up(always(**clients), Patience(), 3 * BEHIND_S)[1] == {}


def test_who_has_said_all_says_that_it_is_over_or_is_given_up() -> None:
    when_s, who = given_up(always(a=at(5), b=at(5, is_over=True)), Patience(), 10 * OVER_S)

    assert list(who) == ["b"]
    assert OVER_S <= when_s <= OVER_S + 2 * STEP_S


def test_observers_end_with_the_loads() -> None:
    clients = {"a": at(9, is_there=False), "s": at(1, is_load=False)}

    when_s, who = given_up(always(**clients), Patience(), 10 * OVER_S)

    assert list(who) == ["s"]
    assert OVER_S <= when_s <= OVER_S + 2 * STEP_S


def test_a_stop_and_a_kill_are_not_waited_for_without_end() -> None:
    patience, now_s = Patience(), 0.0
    while not patience.ends_stop(is_stopping=True, is_ended=False):
        patience.look(now_s)
        assert not dict(patience.give_up({"a": at(1), "b": at(1)}))
        now_s += STEP_S
    assert STOP_S <= now_s <= STOP_S + 3 * STEP_S

    ended_s = now_s
    while True:
        patience.look(now_s)
        assert not patience.ends_stop(is_stopping=True, is_ended=True)
        if who := dict(patience.give_up({"a": at(1), "b": at(1)})):
            break
        now_s += STEP_S
    assert set(who) == {"a", "b"}
    assert KILL_S <= now_s - ended_s <= KILL_S + 3 * STEP_S


def test_time_in_which_the_leader_stood_still_is_nobodys() -> None:
    patience = Patience()
    for now_s in (0.0, 10_000.0, 20_000.0):
        patience.look(now_s)
        assert not dict(patience.give_up({"a": at(3), "b": at(1)}))
