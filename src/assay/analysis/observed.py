"""What an observer's machine did in the window of a sum: a server's wire and its disks, on the clock of the set."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence

from assay.analysis.device import moved_bytes, real_disks
from assay.analysis.record import ClientRecord, PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.set_times import PhaseOfSet
from assay.host.facts import DEVICE_FACT, LINK_FACT, LINK_SPEED_FACT

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
class Wires:
    """What the interfaces of a machine moved in one direction."""

    busiest: str
    moved_bytes: float
    """By the busiest: bytes that go over a bridge are counted by it and by its ports."""
    others: Mapping[str, float]
    """Bytes of each other interface, the busiest first."""


@dataclasses.dataclass(frozen=True)
class StatedRate:
    """What a link or devices can do, in bytes a second, as a driver or the user says."""

    bytes_per_s: float
    is_its_own: bool
    """Whether it is of this machine; else the user stated it once for the run, and may mean the clients."""


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
    def links(self) -> Sequence[StatedRate]:
        """What its link carries: as the driver of its busiest interface says, and as the user says."""
        busiest = max(self._wires(_RECEIVED, _SENT), default=None)
        key = LINK_SPEED_FACT.format(interface=busiest[1]) if busiest else ""
        found = (_stated(self._own_fact(key), is_its_own=True), self._given(LINK_FACT))
        return tuple(one for one in found if one is not None)

    @functools.cached_property
    def devices(self) -> Sequence[StatedRate]:
        """What its devices move at most, as the user says."""
        given = self._given(DEVICE_FACT)
        return () if given is None else (given,)

    def _given(self, key: str) -> StatedRate | None:
        """Give a rate that is on record of its machine; else what is stated for the run, which may mean another machine."""
        own = _stated(self._own_fact(key), is_its_own=True)
        return own or _stated(self.client.run.facts.get(key), is_its_own=False)

    def _own_fact(self, key: str) -> object:
        return next((fact.value for fact in self.client.member.facts if fact.key == key), None)

    def wire_bytes(self) -> float | None:
        """Give what its busiest interface moved in the direction in which it moved more; None where there is none.

        Bytes that go over a bridge are counted by it and by its ports: so it is the most that one of them moved.
        """
        return max((moved for moved, _ in self._wires(_RECEIVED, _SENT)), default=None)

    def wires_for(self, direction: str) -> Wires | None:
        """Give what its interfaces moved in the direction in which clients read or write; None where there is none."""
        grown = sorted(self._wires(_WIRE[direction]), reverse=True)
        if not grown:
            return None
        (most, busiest), *others = grown
        return Wires(busiest, most, {interface: moved for moved, interface in others})

    def _wires(self, *counters: str) -> Iterator[tuple[float, str]]:
        """Give what each interface moved by each of some counters, with its name."""
        for interface in self.record.counters.instances("net"):
            for name in counters if interface != _LOOPBACK else ():
                moved = self.record.counters.delta(self.span, "net", interface, name)
                if moved is not None:
                    yield moved, interface

    def disk_bytes_for(self, direction: str) -> int | None:
        """Give what its disks moved in a direction; None where they were not sampled."""
        return moved_bytes(self.record, real_disks(self.record), direction, self.span)

    @property
    def wire_bytes_per_s(self) -> float | None:
        """What the busiest interface moved a second in its busier direction."""
        moved = [wires.moved_bytes for way in _WIRE if (wires := self.wires_for(way)) is not None]
        return max(moved) / self.span.seconds if moved and self.span.seconds > 0 else None

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
    record = client.run.phases_by_index.get(phase.index)
    if times is None or record is None:
        return None
    span = Span(times.to_own(window.begin_ns), times.to_own(window.end_ns))
    return Observed(client, record, span) if span.end_ns > span.begin_ns else None


def _stated(value: object, *, is_its_own: bool) -> StatedRate | None:
    is_rate = isinstance(value, int | float) and value > 0
    return StatedRate(float(value), is_its_own=is_its_own) if is_rate else None  # type: ignore[arg-type]
