"""Send the events of one run to several displays."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Protocol

from assay.events import Event
from assay.plan import Plan


class _Display(Protocol):
    """As `running.carrying_out.Display`, which is to the right of this."""

    def begin(self, plan: Plan) -> None:
        """The run is about to start."""

    def show(self, event: Event | None) -> None:
        """One event, or None when time has passed without one."""

    def end(self) -> None:
        """The run is over."""


class SeveralDisplays:
    """Displays that are shown the same."""

    def __init__(self, displays: Sequence[_Display]) -> None:
        """Show what is shown to each, in order."""
        self._displays = tuple(displays)

    def begin(self, plan: Plan) -> None:
        """Begin each."""
        for display in self._displays:
            display.begin(plan)

    def show(self, event: Event | None) -> None:
        """Show each an event."""
        for display in self._displays:
            display.show(event)

    def end(self) -> None:
        """End each, whatever becomes of another: one of them may hold the terminal."""
        with ExitStack() as stack:
            for display in self._displays:
                stack.callback(display.end)
