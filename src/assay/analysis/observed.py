"""What an observer's machine did in the window of a sum: a server's wire and its disks, on the clock of the set."""

import dataclasses
import functools

from assay.analysis.device import moved_bytes, real_disks
from assay.analysis.record import ClientRecord, PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.set_times import PhaseOfSet
from assay.host.facts import DEVICE_FACT, LINK_FACT

_LOOPBACK = "lo"
_RECEIVED, _SENT = "rx_bytes", "tx_bytes"
_WIRE = {"read": _SENT, "write": _RECEIVED}
"""What a client reads, its server sends."""


@dataclasses.dataclass(frozen=True)
class BusyDisk:
    """The busiest disk of a machine."""

    name: str
    utilisation: float
    """Share of the time in which it had a request."""
    in_flight: float
    """Requests in it or waiting for it, on average."""


@dataclasses.dataclass(frozen=True)
class SaidRate:
    """What a link or devices can do, in bytes a second, as the user says."""

    bytes_per_s: float
    is_its_own: bool
    """Whether it was said of this machine; else it was said once, of the run, and may be of the clients."""


@dataclasses.dataclass(frozen=True)
class Observed:
    """Counters of one observer over one window."""

    client: ClientRecord
    record: PhaseRecord
    span: Span
    """By the observer's own clock: from its last tick before the window to its last in it."""

    @property
    def name(self) -> str:
        """Of the observer."""
        return self.client.member.name

    @functools.cached_property
    def link(self) -> SaidRate | None:
        """What its link carries, as the user says."""
        return self._given(LINK_FACT)

    @functools.cached_property
    def devices(self) -> SaidRate | None:
        """What its devices move at most, as the user says."""
        return self._given(DEVICE_FACT)

    def _given(self, key: str) -> SaidRate | None:
        """Give a rate that is on record of its machine; else what is said of the run, which may mean another machine."""
        own = next((_number(fact.value) for fact in self.client.member.facts if fact.key == key), None)
        if own is not None:
            return SaidRate(own, is_its_own=True)
        of_run = _number(self.client.run.facts.get(key))
        return None if of_run is None else SaidRate(of_run, is_its_own=False)

    def wire_bytes(self, *counters: str) -> float | None:
        """Give what its busiest interface moved, by the larger of some counters; None where there is no interface.

        Bytes that go over a bridge are counted by it and by its ports: so it is the most that one of them moved.
        """
        grown = [
            self.record.counters.delta(self.span, "net", interface, name)
            for interface in self.record.counters.instances("net")
            if interface != _LOOPBACK
            for name in counters or (_RECEIVED, _SENT)
        ]
        return max((value for value in grown if value is not None), default=None)

    def wire_bytes_for(self, direction: str) -> float | None:
        """Give what its wire moved of what clients read or write."""
        return self.wire_bytes(_WIRE[direction])

    def disk_bytes_for(self, direction: str) -> int | None:
        """Give what its disks moved in a direction; None where they were not sampled."""
        return moved_bytes(self.record, real_disks(self.record), direction, self.span)

    @property
    def wire_bytes_per_s(self) -> float | None:
        """What the busiest interface moved a second in its busier direction."""
        moved = self.wire_bytes()
        return None if moved is None or self.span.seconds <= 0 else moved / self.span.seconds

    @property
    def disk_bytes_per_s(self) -> float | None:
        """What all disks moved a second in both directions."""
        moved = [self.disk_bytes_for(way) for way in _WIRE]
        known = [value for value in moved if value is not None]
        return sum(known) / self.span.seconds if known and self.span.seconds > 0 else None

    @property
    def busiest_disk(self) -> BusyDisk | None:
        """Find the disk that was busy for most of the time; None where none was sampled."""
        length_ns = self.span.seconds * NS_PER_S
        found = []
        for name in real_disks(self.record):
            busy, weighted = (
                self.record.counters.delta(self.span, "diskstats", name, counter)
                for counter in ("io_ns", "weighted_io_ns")
            )
            if busy is not None and length_ns > 0:
                found.append(BusyDisk(name, min(1.0, busy / length_ns), (weighted or 0.0) / length_ns))
        return max(found, key=lambda disk: disk.utilisation, default=None)


def observed(client: ClientRecord, phase: PhaseOfSet, window: Span) -> Observed | None:
    """Look at an observer in a window of the set; None where it recorded nothing of it."""
    times = phase.observers.get(client.member.name)
    record = next((one for one in client.run.phases if one.index == phase.index), None)
    if times is None or record is None:
        return None
    span = Span(times.to_own(window.begin_ns), times.to_own(window.end_ns))
    return Observed(client, record, span) if span.end_ns > span.begin_ns else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None
