"""The engine of a client: started on its Plan, followed by a thread of its own.

What the client needs of an engine is `ClientEngine`; `start_engine` starts the real one. Whatever is made by the same call
can replace it, such as one that replays a recorded stream.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from assay import events
from assay.cluster.kept_runs import KeptRun
from assay.errors import AssayError, refusal
from assay.plan import Plan
from assay.running.client_folders import folders_to_make, make_folders, remove_folders
from assay.running.engine import EngineProcess
from assay.running.stopping import MOST_COUNTED, Stops

_MOST_AT_ONCE = 1000


class ClientEngine(Protocol):
    """An engine at work. All may be called from any thread, and do nothing once it has ended."""

    def send(self, control: events.Control) -> None:
        """Send a control line."""

    def stop(self) -> None:
        """Have it stop its load, remove its data, and end."""

    def kill(self) -> None:
        """End it at once; its data stays."""


Receive = Callable[[Sequence[events.Event]], None]
"""Takes events as they come, in order."""
Over = Callable[[str | None], None]
"""Is called once, last: the engine has ended, and what was wrong with that, if anything was."""
StartEngine = Callable[[Plan, KeptRun, Receive, Over], ClientEngine]
"""Starts an engine; raises AssayError where that cannot be."""


def start_engine(plan: Plan, kept: KeptRun, receive: Receive, over: Over) -> ClientEngine:
    """Start the engine on a Plan; `receive` and `over` are called by a thread of its own."""
    return _FollowedEngine(plan, kept, receive, over)


class _FollowedEngine:
    """An engine process, and the thread that follows its stream."""

    def __init__(self, plan: Plan, kept: KeptRun, receive: Receive, over: Over) -> None:
        self._receive, self._over = receive, over
        self._stops = Stops()  # never entered: signals are the client's to take
        self._error: str | None = None
        self._new: list[events.Event] = []
        self._folders = folders_to_make(plan)
        make_folders(self._folders, user=plan.user)
        try:
            self._engine = EngineProcess(plan, kept.stream, kept.log, host=os.uname().nodename)
        except BaseException:
            remove_folders(self._folders)
            raise
        # A daemon: an engine that storage holds fast is left behind, and must not hold this process.
        threading.Thread(target=self._follow, name="engine", daemon=True).start()

    def send(self, control: events.Control) -> None:
        if self._is_at_work:
            self._engine.send(control)

    def stop(self) -> None:
        if self._stops.count == 0:
            self._stops.ask()

    def kill(self) -> None:
        while self._stops.count < MOST_COUNTED:
            self._stops.ask()

    _is_at_work = True

    def _follow(self) -> None:
        error = None
        try:
            with self._engine as engine:
                for event in engine.follow(self._stops):
                    if event is not None:
                        self._take(event)
                    if event is None or len(self._new) >= _MOST_AT_ONCE:
                        self._hand_on()
        except AssayError as caught:
            error = str(caught)
        except BaseException as caught:  # noqa: BLE001 - the leader gets every failure
            error = refusal(caught) or f"{type(caught).__name__}: {caught}. This is a fault of Assay; please report it"
        finally:
            self._is_at_work = False
            remove_folders(self._folders)
            self._hand_on()
            self._over(error or self._error)

    def _take(self, event: events.Event) -> None:
        """Collect an event, and keep the first error that the engine itself reports."""
        self._new.append(event)
        if isinstance(event, events.Error) and self._error is None:
            self._error = event.text

    def _hand_on(self) -> None:
        if self._new:
            new, self._new = self._new, []
            self._receive(new)
