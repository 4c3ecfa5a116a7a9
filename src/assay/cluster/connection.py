"""What the leader of a run may ask of its clients, and the events it receives.

The leader's part of a run (`group_run.py`) is independent of the transport: it uses a `Connection`. All methods are called
from one thread; none waits longer than its limit. A client that cannot be reached any more is reported once, as `Gone`, by
`receive`, and is no member afterwards.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from assay import events
from assay.bundle.client_set import Role
from assay.clocks import ClockReading
from assay.host.facts import Fact
from assay.plan import Plan


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinedClient:
    """A client as it joined."""

    name: str
    role: Role
    hostname: str
    address: str
    hello: events.Hello
    """Of its engine, asked before any run: machine, clock, capabilities."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientEvent:
    """An event of a client's engine. Of intervals this is what is shown while the run goes on, and may be several in one."""

    client: str
    event: events.Event


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gone:
    """A client is not there any more; times are of the leader's CLOCK_MONOTONIC."""

    client: str
    reason: str
    last_event_ns: int
    noticed_ns: int
    is_lie: bool = False
    """Whether it was given up because of its events, none of which is then used."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ended:
    """A client's engine has ended, and its stream is whole; `error` is its error, if any."""

    client: str
    error: str | None


Received = ClientEvent | Gone | Ended

Fetching = Callable[[int, int], None]
"""Receives how many bytes have come, and of how many."""
Check = Callable[[Path], None]
"""Looks at a stream that has come, before it is put in its place; raises what is wrong with it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recalled:
    """What clients have kept of an earlier run; who is in neither has nothing of it."""

    kept: Mapping[str, int]
    """Bytes of the stream, by client."""
    refused: Mapping[str, str]
    """Why nothing is known of a client, or its stream cannot be had: its engine is still at work, for instance."""


class Connection(Protocol):
    """The clients of a run, connected."""

    @property
    def clients(self) -> Mapping[str, JoinedClient]:
        """Those that are there, by name, in the order in which the user named them."""

    def look(self, directories: Mapping[str, Mapping[str, str]]) -> Mapping[str, tuple[Fact, ...]]:
        """Ask each client named for the facts of its machine, and of directories of its own by target name.

        A directory that cannot be used there makes RunError, which names client and directory.
        """

    def begin(self, run_id: str, plans: Mapping[str, Plan]) -> None:
        """Start an engine on each client named, on its own Plan; their events come by `receive`. Raises RunError.

        The client keeps Plan and stream in its own folder of runs, under `run_id`, until it is asked to `remove_run`.
        """

    def receive(self, timeout_s: float) -> Sequence[Received]:
        """Give what has come, in the order of each client; waits for at most T where nothing has."""

    def send_controls(self, controls: Mapping[str, events.Control]) -> None:
        """Send a control line to each engine named. Those that are gone are passed over."""

    def read_clocks(self) -> Mapping[str, ClockReading]:
        """Read every client's clock now. Those that do not answer are not in it."""

    def fetch(
        self,
        client: str,
        into: Path,
        report: Fetching = lambda _done, _all: None,
        check: Check = lambda _: None,
        most_bytes: int | None = None,
    ) -> None:
        """Bring a client's stream here, whole and on storage; raises RunError, and what `check` raises.

        The client keeps its copy.
        `report` receives the bytes that are here and the total, after each piece. One of more than `most_bytes` is
        not fetched; None: than a bundle holds.
        """

    def remove_run(self, client: str) -> str:
        """Have a client remove what it keeps of the run: it is in a sealed one. Returns the fault, if any; never raises."""

    def recall(self, run_id: str) -> Recalled:
        """Turn to an earlier run instead of beginning one, and report what each client has kept of it; `fetch` brings it."""

    def end_engines(self, clients: Sequence[str]) -> None:
        """Kill engines now; their streams stay."""

    def close(self) -> None:
        """Let every client go: engines that run on are stopped, workers end, keys are removed. Never raises."""
