"""Show a run of several clients as one: summed intervals, repeated messages once, lost clients."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from assay import events
from assay.live.furthest_behind import FurthestBehind
from assay.live.merged_ticks import MergedTicks
from assay.live.set_words import set_words
from assay.plan import Plan


class _Display(Protocol):
    """Shows the run of one client."""

    def begin(self, plan: Plan) -> None: ...

    def show(self, event: events.Event | None) -> None: ...

    def end(self) -> None: ...


class _Watch(Protocol):
    """Decides from what happens when a phase can end."""

    def hear(self, event: events.Event | None) -> events.Control | None: ...


class AsOne:
    """Merges the events of clients into the events of one, for a display and a watch."""

    def __init__(
        self,
        display: Callable[[Callable[[], str]], _Display],
        watch: _Watch | None = None,
        *,
        period_s: Callable[[int], float] = lambda _: 1.0,
    ) -> None:
        """Start without events.

        Args:
            display: Makes the display; it gets a function that describes the clients in a line.
            watch: Who may end phases before their longest time.
            period_s: Time between two batches of events of a client, for this number of clients.
        """
        self._display, self._watch, self._period_s = display(lambda: set_words(self._ticks)), watch, period_s
        self._clients: dict[str, int] = {}
        """Who makes load and is there, with the last phase that each finished."""
        self._ticks = MergedTicks((), 1.0)
        self._begun = self._over = -1
        self._finished: dict[int, events.PhaseFinished] = {}
        """By index of a phase that is not over for all: the last event of the client that finished it."""
        self._progress = FurthestBehind()
        self._reported: set[str] = set()
        self._orders: list[events.Control] = []

    def begin(self, plan: Plan, clients: Sequence[str]) -> None:
        """The run is about to start."""
        self._clients = dict.fromkeys(clients, -1)
        self._ticks = MergedTicks(tuple(clients), plan.sample_interval_s, period_s=self._period_s(len(clients)))
        self._display.begin(plan)

    def hear(self, client: str, event: events.Event) -> None:
        """Take an event of a client in."""
        match event:
            case events.Interval():
                for merged in self._ticks.add(client, event):
                    self._pass_on(merged)
            case events.Started():
                self._ticks.started(client, event)
                self._begin_phase(event)
            case events.PhaseFinished():
                self._finish(client, event)
            case events.Progress():
                self._advance(client, event)
            case events.Warning() if event.text not in self._reported:
                self._reported.add(event.text)
                self._display.show(msgspec.structs.replace(event, text=f"{client}: {event.text}"))
            case events.StepDone() if not event.achieved and event.detail not in self._reported:
                self._reported.add(event.detail)
                self._display.show(msgspec.structs.replace(event, step=f"{client}: {event.step}"))
            case events.Paused():
                self._display.show(event)
            case _:
                pass

    def gone(self, client: str, reason: str) -> None:  # noqa: ARG002 - the caller prints the reason
        """A client is not waited for any more: what all who are left have finished is over."""
        self._clients.pop(client, None)
        self._progress.gone(client)
        for merged in self._ticks.gone(client):
            self._pass_on(merged)
        self._end_phases()

    def say(self, text: str) -> None:
        """Show a warning to the user."""
        self._display.show(events.Warning(t_ns=0, phase_index=None, id="clients", text=text))

    def look(self) -> events.Control | None:
        """Handle passed time; returns an order for all engines, if any."""
        self._display.show(None)
        return self._orders.pop(0) if self._orders else None

    def end(self) -> None:
        """Give the terminal back."""
        self._display.end()

    def _advance(self, client: str, event: events.Progress) -> None:
        """Show the progress of the client that is furthest behind; other activity during a measurement is not shown."""
        self._progress.hear(client, event)
        if self._begun == self._over and (least := self._progress.least()) is not None:
            self._display.show(least)

    def _begin_phase(self, event: events.Started) -> None:
        """A phase has begun when the first has."""
        if event.phase_index <= self._begun:
            return
        self._begun = event.phase_index
        self._progress.clear()
        self._ticks.begins(event.phase_index, event.start_ns)
        self._pass_on(event)

    def _finish(self, client: str, event: events.PhaseFinished) -> None:
        """A client has done its part of a phase; of one that is gone nothing follows any more."""
        for merged in self._ticks.finished(client, event.phase_index):
            self._pass_on(merged)
        if client in self._clients:
            self._clients[client] = event.phase_index
            self._finished[event.phase_index] = event
        self._end_phases()

    def _end_phases(self) -> None:
        """A phase is over when the last that is there has finished it, or all are gone and one had."""
        done = min(self._clients.values(), default=self._begun)
        if done <= self._over:
            return
        self._over = done
        for merged in self._ticks.flush():
            self._pass_on(merged)
        for index in sorted(index for index in self._finished if index <= done):
            # The times of one client's workers are not those of all.
            self._pass_on(msgspec.structs.replace(self._finished.pop(index), workers=()))

    def _pass_on(self, event: events.Event) -> None:
        self._display.show(event)
        if self._watch is not None and (order := self._watch.hear(event)) is not None:
            self._orders.append(order)
