"""What of an engine's events goes to the leader while the run is on, and when.

The whole stream stays with the client and is fetched at the end; what is relayed is to lead and to show the run. So of an
interval the operations go, without the samples of host and workers; of several reports of progress in a row the last; laps
not at all. What the leader has to act on goes at once, all else once in a period. Order is kept.

With many clients one interval of each comes a period: intervals that follow one another are added up, which is exact,
because operations, bytes and histograms are each interval's own (`events.py`). With still more the period grows, so that the
leader receives about two thousand messages a second at most.
"""

from typing import Final

import msgspec

from assay import events
from assay.events import Interval, OperationInterval, add_buckets

MERGED_ABOVE_CLIENTS: Final = 50
WORDS_PER_S: Final = 2000
"""What one leader receives without falling behind, with room to spare."""
SHORTEST_PERIOD_S: Final = 1.0


def period_s(clients: int) -> float:
    """Time between two batches of one client of N."""
    return max(SHORTEST_PERIOD_S, clients / WORDS_PER_S)


class Relay:
    """Collects events for the next batch."""

    def __init__(self, clients: int) -> None:
        """For one client of N."""
        self._merges = clients > MERGED_ABOVE_CLIENTS
        self._waiting: list[events.Event] = []

    def receive(self, event: events.Event) -> bool:
        """Take an event; whether the batch is to go at once."""
        match event:
            case events.Laps():
                return False
            case events.Interval():
                self._add_interval(msgspec.structs.replace(event, host=(), workers=()))
                return False
            case events.Progress():
                if self._waiting and isinstance(self._waiting[-1], events.Progress):
                    self._waiting.pop()
                self._waiting.append(event)
                return False
        self._waiting.append(event)
        return True

    def _add_interval(self, new: Interval) -> None:
        last = self._waiting[-1] if self._waiting else None
        if self._merges and isinstance(last, Interval) and last.phase_index == new.phase_index:
            self._waiting[-1] = add_up(last, new)
        else:
            self._waiting.append(new)

    def take(self) -> list[events.Event]:
        """Give what has come since the last time."""
        taken, self._waiting = self._waiting, []
        return taken


def add_up(first: Interval, second: Interval) -> Interval:
    """Make one interval of two that follow one another."""
    operations: dict[tuple[str, str], OperationInterval] = {}
    for one in (*first.operations, *second.operations):
        key = (one.job, one.operation)
        operations[key] = _of_both(operations[key], one) if key in operations else one
    return msgspec.structs.replace(second, dt_ns=first.dt_ns + second.dt_ns, operations=tuple(operations.values()))


def _of_both(first: OperationInterval, second: OperationInterval) -> OperationInterval:
    responses = [one for one in (first.response, second.response) if one is not None]
    return msgspec.structs.replace(
        second,
        ops=first.ops + second.ops,
        bytes=first.bytes + second.bytes,
        errors=first.errors + second.errors,
        latency=add_buckets((first.latency, second.latency)),
        response=add_buckets(responses) if responses else None,
    )
