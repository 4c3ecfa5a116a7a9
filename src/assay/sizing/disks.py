"""Kinds of disks: how many requests a second one serves at a mean response time.

For spinning disks these are rules of the field, each printed with the answer; a user who knows better gives a rate and its
latency (`--disk fast=200@15ms`). There is no rule for SSDs, which differ a hundredfold: theirs come from a measured run
(`measured_disk.py`).
"""

import re
from dataclasses import dataclass
from typing import Final, Protocol

from assay.errors import InputError
from assay.sizing.queueing import rate_at, response_s, service_time_s
from assay.sizing.raid import Requests
from assay.units import format_number, format_seconds, parse_seconds

_GIVEN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,39})=([0-9]{1,9}(?:\.[0-9]{1,3})?)@(\S{1,20})")
_OF_RUN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,39})=run:([^:]{1,200})(?::(.{1,2000}))?")
_ANCHORS: Final = {
    "7.2k-sata": (75.0, 20e-3, "rule of thumb for 7,200 rpm SATA"),
    "7.2k": (90.0, 20e-3, "rule of thumb for 7,200 rpm SAS"),
    "10k": (125.0, 20e-3, "rule of thumb for 10,000 rpm"),
    "15k": (220.0, 20e-3, "15,000 rpm below 20 ms, of a published sizing"),
}


class DiskKind(Protocol):
    """A kind of disk."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def basis(self) -> str:
        """Where its figures are from."""

    def least_disks(self, requests: Requests, latency_s: float) -> float:
        """Give how many disks keep the mean response time at `latency_s`, as a fraction; infinite where none does."""

    def utilisation(self, requests: Requests, disks: int) -> float:
        """Give the share of what `disks` of them can do at all."""

    def response_s(self, requests: Requests, disks: int) -> float | None:
        """Give the mean response time with `disks` of them; infinite where they cannot; None: not known."""


@dataclass(frozen=True)
class QueuedDisk:
    """A disk that is described by a service time.

    Attributes:
        name: As on the command line.
        service_s: Mean service time of a request.
        basis: Where that is from.
        is_declustered: Whether all disks share one queue (M/M/c), instead of each having its own (M/M/1).
        burstiness: Squared coefficient of variation of the times between arrivals.
    """

    name: str
    service_s: float
    basis: str
    is_declustered: bool = False
    burstiness: float = 1.0

    def least_disks(self, requests: Requests, latency_s: float) -> float:
        """Give how many disks keep the mean response time at `latency_s`, as a fraction."""
        if latency_s <= self.service_s:
            return float("inf")
        if not self.is_declustered:
            return requests.per_s / rate_at(latency_s, self.service_s, 1, self.burstiness)
        disks = max(int(requests.per_s * self.service_s), 1)
        while response_s(requests.per_s, self.service_s, disks, self.burstiness) > latency_s:
            disks += 1
        return float(disks)

    def utilisation(self, requests: Requests, disks: int) -> float:
        """Give the share of the time that disks are busy; above 1 where requests pile up without end."""
        return requests.per_s * self.service_s / disks

    def response_s(self, requests: Requests, disks: int) -> float:
        """Give the mean response time with `disks` of them."""
        if self.is_declustered:
            return response_s(requests.per_s, self.service_s, disks, self.burstiness)
        return response_s(requests.per_s / disks, self.service_s, 1, self.burstiness)


def parse_run(text: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Read `NAME=run:RUN` or `NAME=run:RUN:LABEL,LABEL`: name, run, labels; None where it is no such text."""
    match = _OF_RUN.fullmatch(text)
    return None if match is None else (match[1], match[2], tuple(match[3].split(",")) if match[3] else ())


def parse_disk(text: str, *, is_declustered: bool = False, burstiness: float = 1.0) -> QueuedDisk:
    """Read a kind of disk: the name of a known one, or `NAME=IOPS@LATENCY`.

    Raises:
        InputError: It is neither.
    """
    if (known := _ANCHORS.get(text.lower())) is not None:
        name, (rate, latency_s, whence) = text.lower(), known
    elif (match := _GIVEN.fullmatch(text)) is not None and float(match[2]):
        name, rate, latency_s, whence = match[1], float(match[2]), parse_seconds(match[3]), "as given"
    else:
        raise InputError(
            f"--disk '{text[:60]}': write {', '.join(_ANCHORS)}, a rate with its latency such as fast=200@15ms, or"
            " NAME=run:RUN for an SSD that was measured"
        )
    if latency_s <= 0:
        raise InputError(f"--disk {name}: a latency is above 0")
    service_s = service_time_s(rate, latency_s)
    basis = (
        f"{format_number(rate)} IOPS at {format_seconds(latency_s)} ({whence}): {format_seconds(service_s)} a request"
    )
    return QueuedDisk(name, service_s, basis, is_declustered, burstiness)
