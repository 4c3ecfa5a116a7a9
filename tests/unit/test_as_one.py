import msgspec
from hypothesis import given
from hypothesis import strategies as st

from assay import events
from assay.live.as_one import AsOne
from assay.live.furthest_behind import FurthestBehind
from assay.plan import Plan
from unit.bundle_streams import NS, interval, plan


class Seen:
    """A display, and a watch that ends a phase after so many intervals."""

    def __init__(self, ends_after: int = 1000) -> None:
        self.events: list[events.Event] = []
        self.intervals = 0
        self._ends_after = ends_after

    def begin(self, plan: Plan) -> None:
        """Nothing to draw."""

    def show(self, event: events.Event | None) -> None:
        """Note an event."""
        if event is not None:
            self.events.append(event)

    def hear(self, event: events.Event | None) -> events.Control | None:
        """Count intervals."""
        self.intervals += isinstance(event, events.Interval)
        return events.EndPhase(phase_index=0) if self.intervals == self._ends_after else None

    def end(self) -> None:
        """Nothing to give back."""


def begun(seen: Seen, clients: tuple[str, ...] = ("a", "b")) -> AsOne:
    together = AsOne(lambda _: seen, seen)
    together.begin(plan(), clients)
    for number, client in enumerate(clients):
        start_ns = number * 77 * NS
        together.hear(client, events.Started(t_ns=start_ns, phase_index=0, start_ns=start_ns))
    return together


def tick(number: int, start_ns: int) -> events.Interval:
    return msgspec.structs.replace(interval(number), t_ns=start_ns + number * NS, dt_ns=NS)


def finished(start_ns: int) -> events.PhaseFinished:
    return events.PhaseFinished(
        t_ns=start_ns + 9 * NS,
        phase_index=0,
        start_ns=start_ns,
        stopped_by=events.StoppedBy.TIME,
        workers=(),
        jobs=(),
        errors=(),
    )


def test_several_clients_are_shown_as_one_phase_with_their_sums() -> None:
    seen = Seen()
    together = begun(seen)

    for number in (1, 2):
        together.hear("a", tick(number, 0))
        together.hear("b", tick(number, 77 * NS))
    together.hear("a", finished(0))
    assert not any(isinstance(event, events.PhaseFinished) for event in seen.events), "b is still at work"
    together.hear("b", finished(77 * NS))

    kinds = [type(event).__name__ for event in seen.events]
    assert kinds == ["Started", "Interval", "Interval", "PhaseFinished"]
    sums = [event.operations[0].ops for event in seen.events if isinstance(event, events.Interval)]
    alone = [tick(number, 0).operations[0].ops for number in (1, 2)]
    assert sums == [2 * ops for ops in alone]


def test_who_is_gone_holds_nobody_up() -> None:
    seen = Seen()
    together = begun(seen)

    together.hear("a", tick(1, 0))
    together.gone("b", "socket closed")
    together.hear("a", finished(0))

    assert [type(event).__name__ for event in seen.events] == ["Started", "Interval", "PhaseFinished"]


def test_a_phase_is_over_when_the_last_one_waited_for_is_lost() -> None:
    seen = Seen()
    together = begun(seen, ("a", "b", "c"))
    for client, place in (("a", 0), ("b", 77), ("c", 154)):
        together.hear(client, tick(1, place * NS))

    together.hear("a", finished(0))
    together.hear("b", finished(77 * NS))
    assert not any(isinstance(event, events.PhaseFinished) for event in seen.events), "c is still at work"
    together.gone("c", "socket closed")

    assert seen.events[-1] == finished(77 * NS)
    assert [type(event).__name__ for event in seen.events] == ["Started", "Interval", "PhaseFinished"]


def test_a_phase_goes_on_while_one_who_is_left_has_not_finished_it() -> None:
    seen = Seen()
    together = begun(seen, ("a", "b", "c"))

    together.hear("a", finished(0))
    together.gone("c", "socket closed")

    assert not any(isinstance(event, events.PhaseFinished) for event in seen.events), "b is still at work"


def test_who_is_gone_and_says_something_all_the_same_is_not_waited_for_again() -> None:
    seen = Seen()
    together = begun(seen)
    together.gone("b", "no sign for 20 s")
    together.hear("b", finished(77 * NS))
    together.hear("a", finished(0))
    assert [event for event in seen.events if isinstance(event, events.PhaseFinished)] == [finished(0)]

    second = msgspec.structs.replace(finished(0), phase_index=1)
    together.hear("a", events.Started(t_ns=20 * NS, phase_index=1, start_ns=20 * NS))
    together.hear("a", second)

    together.hear("b", finished(77 * NS))
    assert [event for event in seen.events if isinstance(event, events.PhaseFinished)] == [finished(0), second]


def test_what_ends_a_phase_is_told_once() -> None:
    seen = Seen(ends_after=1)
    together = begun(seen)

    together.hear("a", tick(1, 0))
    together.hear("b", tick(1, 77 * NS))

    assert [together.look(), together.look()] == [events.EndPhase(phase_index=0), None]


def test_what_several_say_is_shown_once_with_the_first_ones_name() -> None:
    seen = Seen()
    together = begun(seen)
    warning = events.Warning(t_ns=1, phase_index=0, id="holes", text="set has holes")

    together.hear("a", warning)
    together.hear("b", warning)

    assert [event.text for event in seen.events if isinstance(event, events.Warning)] == ["a: set has holes"]


def test_the_one_that_is_furthest_behind_says_how_far_all_are() -> None:
    seen = Seen()
    together = AsOne(lambda _: seen)
    together.begin(plan(), ("a", "b"))

    for client, done in (("a", 80), ("b", 10), ("a", 90)):
        together.hear(client, events.Progress(t_ns=1, activity="laying out", done=done, total=100, unit="files"))

    assert [event.done for event in seen.events if isinstance(event, events.Progress)] == [80, 10, 10]


_WORDS = st.one_of(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 100)),
    st.tuples(st.sampled_from("abcd"), st.none()),
)


@given(st.lists(_WORDS, max_size=200))
def test_the_least_of_all_is_known_after_every_word_and_few_words_are_kept(words: list[tuple[str, int | None]]) -> None:
    behind, latest = FurthestBehind(), dict[str, int]()

    for client, done in words:
        if done is None:
            behind.gone(client)
            latest.pop(client, None)
        else:
            behind.hear(client, events.Progress(t_ns=1, activity="laying out", done=done, total=100, unit="files"))
            latest[client] = done
        least = behind.least()

        assert (least.done if least else None) == min(latest.values(), default=None)
        assert len(behind) <= 2 * 4


def test_what_one_does_after_its_phase_is_not_shown_while_others_measure() -> None:
    seen = Seen()
    together = begun(seen)
    together.hear("a", finished(0))

    together.hear("a", events.Progress(t_ns=1, activity="removing", done=1, total=2, unit="files"))

    assert not any(isinstance(event, events.Progress) for event in seen.events)
