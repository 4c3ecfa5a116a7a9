"""Size one combination of a kind of disk and a RAID level, or assess a number of disks that somebody offers."""

import math
from dataclasses import dataclass
from typing import Final

from assay.sizing.disks import DiskKind
from assay.sizing.raid import RaidLevel, Requests

DISKS_PER_SPARE: Final = 30
MOST_DISKS: Final = 100_000
BUSY: Final = 0.8
"""Utilisation from which on a small error of the load is a large one of the latency."""


@dataclass(frozen=True)
class Requirement:
    """What the disks have to do.

    Attributes:
        front: Requests of the hosts.
        latency_s: Mean response time that is not to be exceeded.
        capacity_bytes: That data takes; None: not asked for.
        disk_bytes: Capacity of a disk; None: not given.
        offered: A number of disks to assess, without spares; None: the least is looked for.
        spares: How many; None: one for each `DISKS_PER_SPARE` disks.
        price: Of a disk; None: not given.
    """

    front: Requests
    latency_s: float
    capacity_bytes: float | None = None
    disk_bytes: float | None = None
    offered: int | None = None
    spares: int | None = None
    price: float | None = None


@dataclass(frozen=True)
class Candidate:
    """One answer.

    Attributes:
        disk: Kind of disk.
        raid: Level.
        back: Requests to the disks.
        for_rate: Disks that the rate needs, before rounding, as a fraction; infinite where no number is enough.
        for_capacity: Disks that the capacity needs; None: it was not asked for.
        disks: Without spares; None where no number is enough.
        spares: Besides.
        decided_by: `rate`, `capacity` or `offer`.
        utilisation: With `disks`; above 1: the queue grows without end.
        response_s: With `disks`; infinite there; None where it is not known.
        most_front: Requests of the hosts, at the same mix, at which the latency is met with `disks`.
        degraded_utilisation: With one disk lost; None: then data is lost, too.
        cost: Of disks and spares; None: no price was given.
        is_enough: Whether latency and capacity are met.
    """

    disk: DiskKind
    raid: RaidLevel
    back: Requests
    for_rate: float
    for_capacity: int | None
    disks: int | None
    spares: int
    decided_by: str
    utilisation: float
    response_s: float | None
    most_front: float
    degraded_utilisation: float | None
    cost: float | None
    is_enough: bool

    @property
    def total(self) -> int | None:
        """Disks and spares."""
        return None if self.disks is None else self.disks + self.spares


def candidate(disk: DiskKind, raid: RaidLevel, asked: Requirement) -> Candidate:
    """Find the least number of disks, or assess the one that is offered."""
    back = raid.back_end(asked.front)
    for_rate = disk.least_disks(back, asked.latency_s)
    for_capacity = _for_capacity(raid, asked)
    if asked.offered is not None:
        disks, decided_by = asked.offered, "offer"
    elif not math.isfinite(for_rate) or for_rate > MOST_DISKS:
        return _impossible(disk, raid, back, for_rate, for_capacity)
    else:
        by_rate = math.ceil(for_rate * (1 - 1e-12))
        decided_by = "rate" if by_rate >= (for_capacity or 0) else "capacity"
        disks = raid.rounded(max(by_rate, for_capacity or 0))
    spares = asked.spares if asked.spares is not None else max(1, math.ceil(disks / DISKS_PER_SPARE))
    lost = raid.degraded(asked.front, disks) if disks > 1 else None
    return Candidate(
        disk=disk,
        raid=raid,
        back=back,
        for_rate=for_rate,
        for_capacity=for_capacity,
        disks=disks,
        spares=spares,
        decided_by=decided_by,
        utilisation=disk.utilisation(back, disks),
        response_s=disk.response_s(back, disks),
        most_front=_most_front(disk, raid, asked, disks),
        degraded_utilisation=None if lost is None else disk.utilisation(lost, disks - 1),
        cost=None if asked.price is None else asked.price * (disks + spares),
        is_enough=for_rate <= disks * (1 + 1e-12) and (for_capacity or 0) <= disks,
    )


def _for_capacity(raid: RaidLevel, asked: Requirement) -> int | None:
    if asked.capacity_bytes is None or asked.disk_bytes is None:
        return None
    return math.ceil(asked.capacity_bytes / (asked.disk_bytes * raid.usable) * (1 - 1e-12))


def _most_front(disk: DiskKind, raid: RaidLevel, asked: Requirement, disks: int) -> float:
    """Give the rate of the hosts that keeps the latency with so many disks; the mix stays."""
    if not asked.front.per_s:
        return 0.0
    low, high = 0.0, 1.0
    while disk.least_disks(_times(raid.back_end(asked.front), high), asked.latency_s) <= disks:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        if disk.least_disks(_times(raid.back_end(asked.front), middle), asked.latency_s) <= disks:
            low = middle
        else:
            high = middle
    return low * asked.front.per_s


def _times(requests: Requests, factor: float) -> Requests:
    return Requests(requests.reads_per_s * factor, requests.writes_per_s * factor)


def _impossible(
    disk: DiskKind, raid: RaidLevel, back: Requests, for_rate: float, for_capacity: int | None
) -> Candidate:
    """Give the answer for a disk that takes longer than the latency even without a queue."""
    return Candidate(
        disk, raid, back, for_rate, for_capacity, None, 0, "rate", math.inf, math.inf, 0.0, None, None, is_enough=False
    )  # fmt: skip
