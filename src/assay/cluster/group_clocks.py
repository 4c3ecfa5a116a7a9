"""The clocks of a run's clients: read before each start, held against the rules, and what they cost the others."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from assay.clocks import ClockReading
from assay.cluster.client_rules import RuleBrokenError
from assay.cluster.client_state import ClientState
from assay.cluster.clock_rules import MOST_BOUND_NS, check_reading
from assay.cluster.connection import Connection

LEAST_LEAD_NS: Final = 200_000_000
LEAD_ROUND_TRIPS: Final = 20
"""A start is agreed this many round trips of the slowest client ahead, and no less than `LEAST_LEAD_NS`."""
MOST_LEAD_NS: Final = 60_000_000_000
"""But no more than this, however slow its way is."""
LEAD_EACH_NS: Final = 1_000_000
"""Nor less than this for each client that is to be informed."""
CLOCKS_NS: Final = 600_000_000_000
"""In all starts together, or a quarter of the run; a client whose way costs more is not waited for."""
LEAST_CHARGE_NS: Final = 1_000_000_000
"""Of one start: what costs less is not counted."""
_NS_PER_S = 1e9


def lead_ns(read: Collection[ClockReading]) -> int:
    """Give how far ahead a start of these clients is to be."""
    worst_ns = max(2 * one.bound_ns for one in read)
    return max(LEAST_LEAD_NS, min(LEAD_ROUND_TRIPS * worst_ns, MOST_LEAD_NS), LEAD_EACH_NS * len(read))


class GroupClocks:
    """Of one run."""

    def __init__(self, connection: Connection, clients: Mapping[str, ClientState]) -> None:
        """Start without readings."""
        self._connection, self._clients = connection, clients

    def read(self) -> tuple[dict[str, ClockReading], dict[str, str]]:
        """Read all; gives those that are sure enough to start by, and why one cannot be true, by client."""
        read: dict[str, ClockReading] = {}
        lies: dict[str, str] = {}
        for name, found in self._connection.read_clocks().items():
            readings = self._clients[name].readings
            try:
                check_reading(readings[-1] if readings else None, found)
            except RuleBrokenError as lie:
                lies[name] = str(lie)
                continue
            readings.append(found)
            if found.bound_ns <= MOST_BOUND_NS:
                read[name] = found
        return read, lies

    def too_dear(self, read: Mapping[str, ClockReading], ran_ns: int) -> Iterator[tuple[str, str]]:
        """Count what each client's way costs the others at a start; gives who costs too much in all, and why."""
        for name, found in read.items():
            client, cost_ns = self._clients[name], 2 * found.bound_ns * LEAD_ROUND_TRIPS
            client.clock_ns += cost_ns if cost_ns > LEAST_CHARGE_NS else 0
            if client.clock_ns > max(CLOCKS_NS, ran_ns // 4):
                waited_s, bound_s = client.clock_ns / _NS_PER_S, found.bound_ns / _NS_PER_S
                yield (
                    name,
                    f"the others waited {waited_s:.0f} s in all for its clock, which is read within {bound_s:.3g} s",
                )
