"""Says how far fetching has come, where it takes longer than a moment."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from assay.units import format_bytes

TELL_S: Final = 2.0
"""Time between two words, and before the first."""


class FetchProgress:
    """Of some clients, one after the other."""

    def __init__(self, clients: Sequence[str], say: Callable[[str], None]) -> None:
        """Begin now; `say` is given the lines."""
        self._clients = tuple(clients)
        self._say = say
        self._shown_s = time.monotonic()

    def look(self, client: str, done_bytes: int, all_bytes: int) -> None:
        """So much of a client's stream is here; says so where the last word is a while ago."""
        now_s = time.monotonic()
        if now_s - self._shown_s >= TELL_S:
            self._shown_s = now_s
            self._say(
                f"fetching what the clients recorded: {client}, {self._clients.index(client) + 1} of {len(self._clients)}, "
                f"{format_bytes(done_bytes)} of {format_bytes(all_bytes)}"
            )
