"""Convert the streams of several clients to one time: nanoseconds of the leader's clock since the first hello of a load.

A client's times are of its own CLOCK_MONOTONIC since its own hello. Its clock is in its hello, how far that was
from the leader's in `clients.json`.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from assay.bundle.client_set import ClientSet
from assay.clocks import Shift, Shifts
from assay.events import Event, Hello


@dataclasses.dataclass(frozen=True)
class ClientClock:
    """Where a client's own time begins, and the offset of its clock to the leader's."""

    zero_ns: int
    """Its CLOCK_MONOTONIC at its hello."""
    shifts: Shifts
    """By all readings of it."""


@dataclasses.dataclass(frozen=True)
class CommonClock:
    """The time of the set."""

    zero_ns: int
    """The leader's CLOCK_MONOTONIC where the time of the set begins."""
    clocks: Mapping[str, ClientClock]
    """Of the clients whose clocks are known, by name."""

    def of_leader(self, monotonic_ns: int) -> int:
        """Give the time of the set at a time of the leader's CLOCK_MONOTONIC."""
        return monotonic_ns - self.zero_ns

    def shift(self, client: str, t_ns: int) -> Shift | None:
        """Return what to add to a time of a client to convert it to the common time; None if its clock is unknown."""
        if (clock := self.clocks.get(client)) is None:
            return None
        found = clock.shifts.at(clock.zero_ns + t_ns)
        return Shift(clock.zero_ns + found.ns - self.zero_ns, found.bound_ns)


def common_clock(found: ClientSet, streams: Mapping[str, Iterable[Event]]) -> CommonClock:
    """Make it of the set and of each client's events; observers' clocks are known by it too, if their events are given."""
    clocks = {}
    for member in found.members:
        hello = next((event for event in streams.get(member.name, ()) if isinstance(event, Hello)), None)
        if hello is not None and member.clock:
            clocks[member.name] = ClientClock(hello.clock.monotonic_at_zero_ns, Shifts(member.clock))
    of_loads = [clocks[member.name] for member in found.loads if member.name in clocks]
    begun = [clock.zero_ns + clock.shifts.at(clock.zero_ns).ns for clock in of_loads]
    begun = begun or [start.at_ns for start in found.starts]
    return CommonClock(min(begun, default=0), clocks)
