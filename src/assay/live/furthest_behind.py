"""Find which of several clients is furthest behind, updated with each progress event."""

import heapq

from assay import events


class FurthestBehind:
    """How far clients have come, by the share that is done."""

    def __init__(self) -> None:
        """Start without progress."""
        self._latest: dict[str, events.Progress] = {}
        self._queue: list[tuple[float, int, str, events.Progress]] = []
        """A heap of share, order, client and word; those that a later word of the client has replaced are left in."""
        self._count = 0

    def __len__(self) -> int:
        """Return the number of kept events: a few per client."""
        return len(self._queue)

    def hear(self, client: str, progress: events.Progress) -> None:
        """Take in how far a client is, forwards or back."""
        self._latest[client] = progress
        self._push(client, progress)
        if len(self._queue) > 2 * len(self._latest):
            self._queue = []
            for each, latest in self._latest.items():
                self._push(each, latest)

    def gone(self, client: str) -> None:
        """Wait for a client no longer."""
        self._latest.pop(client, None)

    def clear(self) -> None:
        """Forget all: something else is done now."""
        self._latest.clear()
        self._queue.clear()

    def least(self) -> events.Progress | None:
        """Return the progress of the client that is furthest behind; None: no progress yet."""
        while self._queue and self._latest.get(self._queue[0][2]) is not self._queue[0][3]:
            heapq.heappop(self._queue)
        return self._queue[0][3] if self._queue else None

    def _push(self, client: str, progress: events.Progress) -> None:
        self._count += 1
        share = progress.done / progress.total if progress.total else 0.0
        heapq.heappush(self._queue, (share, self._count, client, progress))
