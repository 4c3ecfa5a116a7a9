"""What N clients need, if each does what one did: of the link, the CPUs and the device, and which of them is full first.

    need = N * what one used        full at = what there is / what one used        most = the rate * full at

Clients of a server share its link, which is taken to carry what the client's does; each has CPUs of its own. Clients of a
local disk are more processes on this machine: they share its CPUs too.

The share of time that a device was busy is the share of what it can do only where it serves one request at a time (a hard
disk). Of others the limit is known where the user gives it (`--device`), or where the device limited the number.
"""

import dataclasses
import math
from collections.abc import Iterator

from assay.analysis.case import Case
from assay.analysis.device_class import HDD, device_class, link_rate
from assay.analysis.limiter.signals import Signals
from assay.invariants.invariant_table import InvariantKind, load
from assay.results import Limiter, Result
from assay.units import format_bytes, format_number
from assay.verdicts import Bottleneck, Confidence, TrustLevel

_DEVICE_FULL = frozenset({Bottleneck.DEVICE_SATURATED, Bottleneck.DEVICE_THROUGHPUT, Bottleneck.WRITEBACK_DEVICE})
_NOT_KNOWN = frozenset({Bottleneck.UNKNOWN, Bottleneck.NOT_OBSERVABLE, Bottleneck.CPU_CONTENTION})
"""Nothing follows from them for other clients; contention is other programs' work on this machine."""
_MOST_CLIENTS = 1_000_000
"""More are not counted."""


@dataclasses.dataclass(frozen=True)
class Resource:
    """Something that clients share."""

    name: str
    share: float | None
    """What one client used of it; None: not known."""
    words: str
    """What one used, and of what; or why that is not known."""

    @property
    def full_at(self) -> int | None:
        """The most clients that it has room for; None: not known."""
        if self.share is None:
            return None
        return _MOST_CLIENTS if self.share <= 0 else min(_MOST_CLIENTS, max(1, math.floor(1 / self.share + 1e-9)))

    @property
    def room(self) -> str:
        """That number in words."""
        count = self.full_at or 0
        if count >= _MOST_CLIENTS:
            return "more than a million clients"
        return f"{count:,} client{'s' if count != 1 else ''}"


@dataclasses.dataclass(frozen=True)
class Extrapolation:
    """What follows for N clients."""

    clients: int
    ops_per_s: float
    bytes_per_s: float
    """Of one client."""
    resources: tuple[Resource, ...]

    @property
    def first(self) -> Resource | None:
        """The one that is full first, of those that are known; None: none is."""
        known = [resource for resource in self.resources if resource.share is not None]
        return max(known, key=lambda resource: resource.share or 0.0, default=None)

    @property
    def words(self) -> tuple[str, ...]:
        """For people: the need of each resource with its arithmetic, and which is full first."""
        return (*self._needs(), self._conclusion())

    def _needs(self) -> Iterator[str]:
        count = self.clients
        moved = f", {format_bytes(count * self.bytes_per_s)}/s" if self.bytes_per_s else ""
        yield f"{count:,} clients at this rate: {format_number(count * self.ops_per_s)} operations a second{moved}"
        for resource in self.resources:
            if resource.share is None:
                yield f"{resource.name}: unknown: {resource.words}"
                continue
            need = f"{count:,} x {resource.words} = {format_number(100 * count * resource.share)} %"
            yield f"{resource.name}: {need}; room for {resource.room}"

    def _conclusion(self) -> str:
        first = self.first
        if first is None or first.share is None:
            return "unknown which is full first: no limit of what they share is known"
        of_known = " of those that are known" if any(one.share is None for one in self.resources) else ""
        if self.clients * first.share <= 1:
            return f"none of them is full; first{of_known} would be the {first.name}, beyond {first.room}"
        return (
            f"full first{of_known}: the {first.name}. All clients together get {format_number(1 / first.share)} times this"
            f" rate at most, each {format_number(100 / first.share / self.clients)} % of it"
        )


def extrapolate(case: Case, result: Result, clients: int) -> Extrapolation | str:
    """Multiply what one client used; where that tells nothing, give the reason.

    Args:
        case: What was recorded of a result of one client.
        result: The result.
        clients: How many there would be.
    """
    if (why := _refusal(case, result)) is not None:
        return why
    at = case.signals
    if at is None:
        return "no counters were sampled in its window"
    return Extrapolation(
        clients=clients,
        ops_per_s=at.ops_per_s,
        bytes_per_s=case.bytes / case.seconds,
        resources=tuple(_resources(case, at, result.limiter)),
    )


def _refusal(case: Case, result: Result) -> str | None:
    if case.run.client_set is not None:
        return "this is a sum over several clients; choose one with --client NAME"
    if result.trust.level is TrustLevel.NO:
        return f"the number is not usable: {result.trust.reasons[0].text}"
    limiter = result.limiter
    if limiter is None or limiter.verdict in _NOT_KNOWN:
        return "what limits this number is not known" if limiter is None else f"the limiter is {_words(limiter)}"
    # What a load holds itself to is known, whoever else was at work.
    if limiter.confidence is Confidence.LOW and limiter.verdict is not Bottleneck.OFFERED_LOAD:
        return f"the limiter ({_words(limiter)}) has low confidence"
    return None


def _words(limiter: Limiter) -> str:
    return limiter.verdict.value.replace("_", " ")


def _resources(case: Case, at: Signals, limiter: Limiter | None) -> Iterator[Resource]:
    device = device_class(case.subject)
    if device.is_server:
        yield _link(case, at)
        yield from _server_cpu(case, device.protocol)
        yield Resource("server's device", None, "its counters are not in the run")
        return
    yield _cpus(at)
    yield _device(at, limiter, is_hdd=device.classes == HDD)


def _link(case: Case, at: Signals) -> Resource:
    known = link_rate(case.run.facts)
    used = max(case.bytes / case.seconds, at.wire_bytes_per_s or 0.0)
    if known is None:
        return Resource("link", None, "its rate is not known; measure with --link RATE")
    row = load().link(known[0])
    carries = row.low * row.si_factor if row else known[0]
    return Resource("link", used / carries, f"{format_bytes(used)}/s of {format_bytes(carries)}/s")


def _server_cpu(case: Case, protocol: str) -> Iterator[Resource]:
    costs = load().of_kind(InvariantKind.CPU_COST)
    if protocol.startswith(("nfs", "cifs", "smb")) and costs:
        rate = case.bytes / case.seconds
        low, high = (format_number(rate * end / 1e9) for end in (costs[0].low, costs[0].high))
        each = f"{costs[0].low:g} to {costs[0].high:g} cycles/byte"
        spent = f"{low} to {high} billion cycles a second for each client, at {each}"
        yield Resource("server's CPU", None, f"its clock is not in the run ({spent})")


def _cpus(at: Signals) -> Resource:
    if at.own_cpus is None or not at.cpus or at.is_polling:
        return Resource("CPUs of this machine", None, "what the load used of them was not counted, or was polling")
    words = f"{format_number(at.own_cpus)} of {at.cpus} CPUs"
    return Resource("CPUs of this machine", at.own_cpus / at.cpus, words)


def _device(at: Signals, limiter: Limiter | None, *, is_hdd: bool) -> Resource:
    below, ceiling = at.device, at.device_ceiling_bytes_per_s
    if below is None:
        return Resource("device", None, "its counters are not in the run")
    if limiter is not None and limiter.verdict in _DEVICE_FULL:
        share = 1 / limiter.headroom if limiter.headroom else 1.0
        return Resource("device", share, f"{format_number(100 * share)} %, as it limits this number")
    if ceiling is not None:
        return Resource(
            "device", below.bytes_per_s / ceiling, f"{format_bytes(below.bytes_per_s)}/s of {format_bytes(ceiling)}/s"
        )
    if is_hdd:
        words = f"{format_number(100 * below.utilisation)} % busy, one request at a time"
        return Resource("device", below.utilisation, words)
    why = "a device that serves several requests at once has room while it is busy; measure with --device RATE"
    return Resource("device", None, why)
