"""Report how far fetching is, where it takes longer than a moment."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from assay.units import format_bytes

REPORT_S: Final = 2.0
"""Time between two words, and before the first."""


class FetchProgress:
    """Of some clients, one after the other."""

    def __init__(self, clients: Sequence[str], report: Callable[[str], None]) -> None:
        """Begin now; `report` receives the lines."""
        self._clients = tuple(clients)
        self._report = report
        self._reported_s = time.monotonic()

    def look(self, client: str, done_bytes: int, all_bytes: int) -> None:
        """Record how much of a client's stream is here; report it where the last line is a while ago."""
        now_s = time.monotonic()
        if now_s - self._reported_s >= REPORT_S:
            self._reported_s = now_s
            self._report(
                f"fetching what the clients recorded: {client}, {self._clients.index(client) + 1} of {len(self._clients)}, "
                f"{format_bytes(done_bytes)} of {format_bytes(all_bytes)}"
            )
