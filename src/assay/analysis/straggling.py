"""Find why one client is slower than the others.

The cause is what its own result reports and the others' do not. Where all report the same, it is the kind of time that makes
up most of the extra time of an operation over the median of the others (time budget of the workers by the rate).
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from assay.analysis import thresholds
from assay.analysis.cache import DIRECT
from assay.analysis.limiter.conclusion import CLIENT_CPU
from assay.analysis.rows import NS_PER_S
from assay.results import Finding, Result, TimeBudget
from assay.units import format_ns
from assay.verdicts import Bottleneck, ServedBy

UNKNOWN = "unknown: its own counters show nothing that the others do not have, nor more of it"
_STOOD_STILL = "client-paused"
_OWN_CPU = ("cpu-contention", "own-cpu-wait")
_OF_LIMIT = {
    Bottleneck.NETWORK_BANDWIDTH: "its link was full",
    Bottleneck.THROTTLE_CPU: "its control group may use no more of its CPUs",
    Bottleneck.THROTTLE_IO: "its control group may move no more",
    Bottleneck.DEVICE_THROUGHPUT: "its device gave all that it can",
    Bottleneck.DEVICE_SATURATED: "its device was full",
    Bottleneck.WRITEBACK_DEVICE: "its memory was full of what its device had still to write",
}


_KINDS: Final[Mapping[str, Callable[[TimeBudget], float | None]]] = {
    "CPU time": lambda budget: budget.on_cpu,
    "waiting for a CPU": lambda budget: budget.run_delay,
    # Where the kernel does not count block delay, it is part of the other waits.
    "waiting for storage, a link or a lock": lambda budget: _sum(budget.block_delay, budget.other_wait),
    "resting by the load's own rules": lambda budget: budget.idle,
}
"""Share of the workers' time, by kind of time."""


def cause_of(own: Result, others: Sequence[Result]) -> str:
    """Describe why a client was slow.

    Args:
        own: What it did.
        others: What the others did of the same.
    """
    return next(_causes(own, others), UNKNOWN)


def _causes(own: Result, others: Sequence[Result]) -> Iterator[str]:
    if paused := _found(own, _STOOD_STILL):
        yield f"it was paused: {paused.text}"
    limit = own.limiter.verdict if own.limiter else None
    if limit is not None and not _most_say(limit, others):
        evidence = "; ".join(own.limiter.evidence) if own.limiter else ""
        if limit in CLIENT_CPU:
            yield f"its own CPU: {evidence}"
        elif limit in _OF_LIMIT:
            yield f"{_OF_LIMIT[limit]}: {evidence}"
    for id_ in _OWN_CPU:
        if (waited := _found(own, id_)) and not _most_have(waited, others):
            yield f"its own CPU: {waited.text}"
    usual, count = Counter(result.measures for result in others).most_common(1)[0]
    is_distinct = usual is not own.measures and ServedBy.UNKNOWN not in {usual, own.measures}
    # Direct I/O has no page cache: what it is served by differs with what backing files and other clients of a machine read.
    is_distinct &= own.cache.condition != DIRECT
    if is_distinct and count >= thresholds.MOST_OF_IT * len(others):
        yield f"its cache: it measured {own.measures.words}, and most others {usual.words}{_hits(own, others)}"
    yield from _by_size(own, others)


def _hits(own: Result, others: Sequence[Result]) -> str:
    theirs = [ratio for other in others if (ratio := other.cache.hit_ratio) is not None]
    if own.cache.hit_ratio is None or not theirs:
        return ""
    usual = 100 * statistics.median(theirs)
    return f"; memory had {100 * own.cache.hit_ratio:.0f} % of what it read (median of the others: {usual:.0f} %)"


def _by_size(own: Result, others: Sequence[Result]) -> Iterator[str]:
    """Name the kind of time that makes up most of what an operation took longer."""
    more: dict[str, tuple[float, float, float]] = {}
    for name, share_of in _KINDS.items():
        mine = _per_operation_ns(own, share_of)
        theirs = [time for other in others if (time := _per_operation_ns(other, share_of)) is not None]
        if mine is not None and theirs:
            usual = statistics.median(theirs)
            more[name] = (mine - usual, mine, usual)
    whole = sum(excess for excess, _, _ in more.values())
    if not more or whole <= 0:
        return
    name, (excess, mine, usual) = max(more.items(), key=lambda item: item[1][0])
    if excess >= thresholds.MOST_OF_IT * whole:
        limit = own.limiter.verdict if own.limiter else None
        limited = f"{_OF_LIMIT[limit]}; " if limit in _OF_LIMIT else ""
        yield f"{limited}{name}: {format_ns(mine)} per operation (median of the others: {format_ns(usual)})"


def _per_operation_ns(result: Result, share_of: Callable[[TimeBudget], float | None]) -> float | None:
    """Give what an operation took of a kind of time; None: not known."""
    share = share_of(result.time_budget)
    if share is None or not result.iops or result.workers is None:
        return None
    return share * result.workers / result.iops * NS_PER_S


def _sum(*shares: float | None) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) if known else None


def _found(result: Result, id_: str) -> Finding | None:
    return next((finding for finding in result.findings if finding.id == id_), None)


def _most_have(finding: Finding, others: Sequence[Result]) -> bool:
    """Whether most others have the same finding, as grave."""
    same = (finding.id, finding.severity)
    having = sum(any((each.id, each.severity) == same for each in result.findings) for result in others)
    return having >= thresholds.MOST_OF_IT * len(others)


def _most_say(limit: Bottleneck, others: Sequence[Result]) -> bool:
    same = sum(result.limiter is not None and result.limiter.verdict is limit for result in others)
    return same >= thresholds.MOST_OF_IT * len(others)
