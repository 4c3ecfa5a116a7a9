import msgspec

from assay import events
from assay.live.as_one import AsOne
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


def test_what_one_does_after_its_phase_is_not_shown_while_others_measure() -> None:
    seen = Seen()
    together = begun(seen)
    together.hear("a", finished(0))

    together.hear("a", events.Progress(t_ns=1, activity="removing", done=1, total=2, unit="files"))

    assert not any(isinstance(event, events.Progress) for event in seen.events)
