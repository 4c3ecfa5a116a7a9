"""The streams of a run's clients, brought into its bundle: each is read and held against the rules before that."""

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from assay.bundle import RunBundle
from assay.bundle.tables import Stream, read_stream_at
from assay.cluster.client_rules import SLACK_NS, ClientRules, RuleBrokenError, most_bytes
from assay.cluster.client_state import ClientState
from assay.cluster.connection import Connection
from assay.cluster.fetch_progress import FetchProgress
from assay.cluster.relayed import empty
from assay.errors import BundleError, RunError
from assay.plan import Plan

_NS_PER_S = 1e9
Lie = BundleError | RuleBrokenError
"""What a stream is refused for."""


class GroupStreams:
    """Of one run."""

    def __init__(
        self,
        bundle: RunBundle,
        connection: Connection,
        plans: Mapping[str, Plan],
        clients: Mapping[str, ClientState],
        *,
        report: Callable[[str], None],
        since_begun_ns: Callable[[], int],
    ) -> None:
        """Start without streams; `since_begun_ns` gives the time since the run began."""
        self._bundle, self._connection, self._plans, self._clients = bundle, connection, plans, clients
        self._report, self._since_begun_ns = report, since_begun_ns
        self.fetched: list[str] = []
        """Clients whose whole streams are in the bundle."""
        self._read: dict[str, Stream] = {}

    def bring(self) -> Iterator[tuple[str, RunError | Lie]]:
        """Fetch the stream of each client that is at its end and believed; gives those that could not be had, and why."""
        names = [name for name, client in self._clients.items() if client.has_ended and client.is_believed]
        progress = FetchProgress(names, self._report)
        for name in names:
            most = most_bytes(self._plans[name], (self._since_begun_ns() + SLACK_NS) / _NS_PER_S)
            look, check = functools.partial(progress.look, name), functools.partial(self._check, name, is_fetched=True)
            try:
                self._connection.fetch(name, self._bundle.stream_path(name), look, check, most)
            except (BundleError, RuleBrokenError, RunError) as fault:
                yield name, fault
            else:
                self._bundle.take_stream(name, self._read.pop(name))
                self.fetched.append(name)

    def _check(self, name: str, path: Path, *, is_fetched: bool = False) -> None:
        """Read a stream and hold it against the rules; raises BundleError and RuleBrokenError."""
        client, stream = self._clients[name], read_stream_at(path)
        rules = ClientRules(self._plans[name], self._since_begun_ns)
        rules.check_whole(stream, is_complete=client.has_ended_well and is_fetched, relayed=client.rules)
        self._read[name] = stream

    def clear_relayed(self) -> Iterator[tuple[str, Lie]]:
        """Check that what is in the place of streams that were not fetched can be read, and is of who is believed.

        Gives those of whom it is not; then that place is empty.
        """
        for name, client in self._clients.items():
            if name in self.fetched:
                continue
            try:
                if client.is_believed:
                    self._check(name, self._bundle.stream_path(name))
                    continue
            except (BundleError, RuleBrokenError) as lie:
                yield name, lie
            empty(self._bundle.stream_path(name))


def without_place(error: Exception) -> str:
    """Describe the fault of a stream, without the path that it has here."""
    return str(error).partition(": ")[2] if isinstance(error, BundleError) else str(error)
