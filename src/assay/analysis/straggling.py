"""Why was one client slower than the others? By what its own result says, where the others' do not say the same."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assay.analysis import thresholds
from assay.analysis.limiter.conclusion import CLIENT_CPU
from assay.results import Finding, Result
from assay.verdicts import Bottleneck, ServedBy

UNKNOWN = "unknown: its own counters show nothing that the others do not have"
_STOOD_STILL = "client-paused"
_OWN_CPU = ("cpu-contention", "cpu-oversubscribed", "workers-share-cpu", "kernel-shares-cpu", "cpus-busy")
_OF_LIMIT = {
    Bottleneck.NETWORK_BANDWIDTH: "its link was full",
    Bottleneck.THROTTLE_CPU: "its control group may use no more of its CPUs",
    Bottleneck.THROTTLE_IO: "its control group may move no more",
    Bottleneck.DEVICE_THROUGHPUT: "its device gave all that it can",
    Bottleneck.DEVICE_SATURATED: "its device was full",
    Bottleneck.WRITEBACK_DEVICE: "its memory was full of what its device had still to write",
}


def cause_of(own: Result, others: Sequence[Result]) -> str:
    """Say in words why a client was slow.

    Args:
        own: What it did.
        others: What the others did of the same.
    """
    return next(_causes(own, others), UNKNOWN)


def _causes(own: Result, others: Sequence[Result]) -> Iterator[str]:
    if paused := _found(own, _STOOD_STILL):
        yield f"it stood still: {paused.text}"
    limit = own.limiter.verdict if own.limiter else None
    if limit is not None and not _most_say(limit, others):
        evidence = "; ".join(own.limiter.evidence) if own.limiter else ""
        if limit in CLIENT_CPU:
            yield f"its own CPU: {evidence}"
        elif limit in _OF_LIMIT:
            yield f"{_OF_LIMIT[limit]}: {evidence}"
    for id_ in _OWN_CPU:
        if (waited := _found(own, id_)) and not _most_have(id_, others):
            yield f"its own CPU: {waited.text}"
    usual, count = Counter(result.measures for result in others).most_common(1)[0]
    is_told_apart = usual is not own.measures and ServedBy.UNKNOWN not in {usual, own.measures}
    if is_told_apart and count >= thresholds.MOST_OF_IT * len(others):
        yield f"its cache: it measured {own.measures.words}, and most others {usual.words}"


def _found(result: Result, id_: str) -> Finding | None:
    return next((finding for finding in result.findings if finding.id == id_), None)


def _most_have(id_: str, others: Sequence[Result]) -> bool:
    return sum(_found(result, id_) is not None for result in others) >= thresholds.MOST_OF_IT * len(others)


def _most_say(limit: Bottleneck, others: Sequence[Result]) -> bool:
    same = sum(result.limiter is not None and result.limiter.verdict is limit for result in others)
    return same >= thresholds.MOST_OF_IT * len(others)
