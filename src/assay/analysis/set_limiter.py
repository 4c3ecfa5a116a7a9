"""Find what limited a sum over clients: a server where an observer saw it full, else what limited most clients.

1. The link of an observer's machine carried `CEILING_SHARE` of what its driver, or the user, says that it can:
   `network_bandwidth`. What the user says of the run may mean the clients' links: by that it is medium at most.
2. Its disks moved that share of what the user says that they can: `device_throughput`, and as sure. Or one was busy
   `BUSY_SHARE` of the time with `DEEP_QUEUE` requests in flight: `device_saturated`, with low confidence, as long before it
   is full a device that works in parallel is busy all the time. Where most clients are surer of something else, that
   counts, but for `operation_latency`: that they wait, and not for what.
3. The verdict of at least half of the clients' own limiters, with the confidence that half of those have; where a tenth
   or more of the clients have another verdict it is medium at most.
4. Else, and where two limits are each that of half of the clients: `unknown`, with the count of each.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from assay.analysis import thresholds
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.observed import Observed, StatedRate
from assay.results import Limiter, Result
from assay.units import format_bytes, format_names
from assay.verdicts import Bottleneck, Confidence

_RISING = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
_OWN = frozenset(
    {
        Bottleneck.CLIENT_CPU_SINGLE,
        Bottleneck.CLIENT_CPU_ALL,
        Bottleneck.CPU_CONTENTION,
        Bottleneck.OFFERED_LOAD,
        Bottleneck.THROTTLE_CPU,
        Bottleneck.THROTTLE_IO,
    }
)
"""What is a client's own: where most clients are sure of one of these, a full server is no more than likely."""
_WAITS = frozenset({Bottleneck.OPERATION_LATENCY})
"""What says that clients wait; a busy server may be what they wait for."""


def limiter_of_set(observed: Sequence[Observed], results: Mapping[str, Result]) -> Conclusion | None:
    """Describe what limited a sum.

    Args:
        observed: What observers saw in its window.
        results: What each client did of it, with its own limiter.
    """
    own = {name: result.limiter for name, result in results.items() if result.limiter is not None}
    of_server = next((found for rule in _RULES for one in observed if (found := rule(one)) is not None), None)
    by_clients = _most(own)
    if of_server is None:
        return by_clients
    is_surer = by_clients is not None and by_clients.confidence is not Confidence.LOW
    if by_clients and is_surer and of_server.confidence is Confidence.LOW and by_clients.limit not in _WAITS:
        return dataclasses.replace(by_clients, evidence=(*by_clients.evidence, *of_server.evidence))
    is_doubted = by_clients and by_clients.limit in _OWN and by_clients.confidence is Confidence.HIGH
    if not is_doubted or of_server.confidence is Confidence.LOW:
        return of_server
    reason = f"but most clients are limited by {by_clients.limit.value}" if by_clients else ""
    return Conclusion(
        of_server.limit, Confidence.MEDIUM, (*of_server.evidence, reason), of_server.headroom, of_server.remedy
    )


def with_advice(own: Limiter | None, of_set: Conclusion | None) -> Limiter | None:
    """Give a client's limiter with the advice for all, unless what limits it is its own and not that of the others."""
    if own is None or of_set is None or not of_set.remedy:
        return own
    if own.verdict is not of_set.limit and own.verdict in _OWN:
        return own
    return msgspec.structs.replace(own, remedy=of_set.remedy)


def _link(at: Observed) -> Conclusion | None:
    found = _nearly_all(at.wire_bytes_per_s, at.links)
    if found is None:
        return None
    moved, carries = found
    share = moved / carries.bytes_per_s
    whose = _whose(carries, at.name, "link is the one that --link means")
    reason = (
        f"{format_bytes(moved)}/s of {at.name}'s link, which carries {format_bytes(carries.bytes_per_s)}/s"
        f" ({100 * share:.0f} %){whose}"
    )
    remedy = f"Use a faster link to {at.name}, or several."
    return Conclusion(Bottleneck.NETWORK_BANDWIDTH, _sure(carries), (reason,), max(1.0, 1 / share), remedy)


def _ceiling(at: Observed) -> Conclusion | None:
    found = _nearly_all(at.disk_bytes_per_s, at.devices)
    if found is None:
        return None
    moved, most = found
    whose = _whose(most, at.name, "disks are those that --device means")
    reason = (
        f"{at.name}'s disks moved {format_bytes(moved)}/s of the {format_bytes(most.bytes_per_s)}/s they can{whose}"
    )
    headroom = max(1.0, most.bytes_per_s / moved)
    remedy = f"Use faster disks in {at.name}."
    return Conclusion(Bottleneck.DEVICE_THROUGHPUT, _sure(most), (reason,), headroom, remedy)


def _nearly_all(moved: float | None, ceilings: Sequence[StatedRate]) -> tuple[float, StatedRate] | None:
    """Give what was moved and the first ceiling that it is near; far beyond one, something else is meant by it."""
    for most in ceilings if moved is not None else ():
        if thresholds.CEILING_SHARE <= (moved or 0.0) / most.bytes_per_s <= (1 + thresholds.NOTABLE_SHARE):
            return moved or 0.0, most
    return None


def _sure(given: StatedRate) -> Confidence:
    return Confidence.HIGH if given.is_its_own else Confidence.MEDIUM


def _whose(given: StatedRate, name: str, is_meant: str) -> str:
    return "" if given.is_its_own else f", if {name}'s {is_meant}"


def _busy(at: Observed) -> Conclusion | None:
    disk = at.busiest_disk
    if disk is None or disk.utilisation < thresholds.BUSY_SHARE or disk.in_flight < thresholds.DEEP_QUEUE:
        return None
    reason = (
        f"{at.name}'s {disk.name} was busy for {100 * disk.utilisation:.0f} % of the time, with {disk.in_flight:.1f}"
        " requests in flight"
    )
    remedy = f"Halve what the clients keep in flight: where the sum stays, {disk.name} is full."
    return Conclusion(Bottleneck.DEVICE_SATURATED, Confidence.LOW, (reason,), remedy=remedy)


_RULES: tuple[Callable[[Observed], Conclusion | None], ...] = (_link, _ceiling, _busy)


def _most(own: Mapping[str, Limiter]) -> Conclusion | None:
    """Give the verdict of most clients; None where no client has one."""
    if not own:
        return None
    counted = Counter(limiter.verdict for limiter in own.values()).most_common()
    limit, count = counted[0]
    is_tie = count in (others for _, others in counted[1:])
    if count < thresholds.MOST_OF_IT * len(own) or is_tie or limit is Bottleneck.UNKNOWN:
        return Conclusion(Bottleneck.UNKNOWN, Confidence.LOW, tuple(_counts(counted, own)))
    those = {name: limiter for name, limiter in own.items() if limiter.verdict is limit}
    first = next(iter(those))
    headrooms = [limiter.headroom for limiter in those.values() if limiter.headroom is not None]
    return Conclusion(
        limit,
        _confidence([limiter.confidence for limiter in those.values()], count / len(own)),
        (*_counts(counted, own), *(f"{first}: {text}" for text in those[first].evidence)),
        min(headrooms) if len(headrooms) == count else None,
        those[first].remedy,
    )


def _confidence(of_those: Sequence[Confidence], share: float) -> Confidence:
    ranks = sorted(_RISING.index(one) for one in of_those)
    rank = ranks[(len(ranks) - 1) // 2]
    return _RISING[min(rank, len(_RISING) - 1 if share > thresholds.NEARLY_ALL else 1)]


def _counts(counted: Sequence[tuple[Bottleneck, int]], own: Mapping[str, Limiter]) -> Iterator[str]:
    for limit, count in counted:
        names = format_names([name for name, limiter in own.items() if limiter.verdict is limit])
        yield f"{limit.words} by {count} of {len(own)} clients themselves ({names})"
