"""What is a number a number of?

Reads are what delivered their bytes: storage, memory, or both, by the hit ratio. Changes are what took them: storage
where their rate waits for it, else memory that writes back later. Lookups are answered from what the kernel keeps of
names and attributes, unless the devices were read meanwhile. Flushes are storage's where each found something to wait
for. The limiter precedes all of them: a client that had no time left, in programs and not in the kernel, was measured
itself; so was a link that was full.

Limits: what a host, a server, an array or a disk keeps in memory is not seen from here. So a read of a virtual machine is at
best one of its disk as it sees it (`virtual_disk`), and one through a network of the server as a whole (`server`).
"""

from collections.abc import Sequence

from assay.analysis import budget, thresholds
from assay.analysis.behind import storage_of
from assay.analysis.cache import reaches_device
from assay.analysis.hit import HitRatio
from assay.analysis.limiter.conclusion import CLIENT_CPU, Conclusion
from assay.analysis.subject import Subject
from assay.analysis.window import Window
from assay.plan.op_rules import FLUSHES
from assay.verdicts import Bottleneck, ServedBy

_OF_A_FLUSH = ("writes", "flushes")


def served_by(
    subject: Subject,
    window: Window,
    hit: HitRatio,
    limiter: Conclusion | None,
    uses: Sequence[budget.WorkerUse],
) -> ServedBy:
    """Describe what the number of an operation is one of."""
    user = budget.user_share(tuple(uses))
    if limiter and limiter.limit in CLIENT_CPU and user is not None and user >= thresholds.USER_SHARE:
        return ServedBy.CLIENT_CPU
    if limiter and limiter.limit is Bottleneck.NETWORK_BANDWIDTH:
        return ServedBy.LINK
    operation = subject.operation
    if operation.direction == "read":
        return _of_reads(subject, hit)
    if operation.looks:
        return _of_lookups(subject, window)
    if operation.changes:
        return _of_changes(subject, hit)
    is_flush = bool(operation.ops) and all(op.op in FLUSHES for op in operation.ops)
    return _of_flushes(subject, window) if is_flush else ServedBy.UNKNOWN


def _of_reads(subject: Subject, hit: HitRatio) -> ServedBy:
    if subject.is_memory or hit.verdict == "cache":
        return ServedBy.PAGE_CACHE
    if hit.verdict == "mixed":
        return ServedBy.MIXED
    return storage_of(subject) if hit.verdict == "storage" else ServedBy.UNKNOWN


def _of_lookups(subject: Subject, window: Window) -> ServedBy:
    if subject.is_memory:
        return ServedBy.PAGE_CACHE
    fetched = subject.record.process_delta(window.counted, "process_read_bytes")
    if subject.devices is None or fetched is None:
        return ServedBy.UNKNOWN
    return ServedBy.MIXED if fetched else ServedBy.PAGE_CACHE


def _of_flushes(subject: Subject, window: Window) -> ServedBy:
    """Those of clean files are calls and no more; one request of a device answers all flushes that are in flight at most."""
    if subject.is_memory:
        return ServedBy.PAGE_CACHE
    counters, span = subject.record.counters, window.counted
    devices = subject.devices or ()
    requests = sum(counters.delta(span, "diskstats", name, kind) or 0.0 for name in devices for kind in _OF_A_FLUSH)
    in_flight = subject.job.workers * subject.job.queue_depth
    waited = requests * in_flight >= subject.rows.total("ops", span) > 0
    return ServedBy.STORAGE if waited else ServedBy.UNKNOWN


def _of_changes(subject: Subject, hit: HitRatio) -> ServedBy:
    reads_too = subject.operation.reads_too
    if subject.touches_memory:
        return ServedBy.WRITE_BACK if subject.is_memory else ServedBy.MIXED
    if reaches_device(subject):
        if subject.devices is None:
            return storage_of(subject)
        # Flushes make the changes wait for storage, and no reads: memory may have had what they asked for.
        return ServedBy.MIXED if reads_too and hit.verdict != "storage" else ServedBy.STORAGE
    return ServedBy.MIXED if reads_too else ServedBy.WRITE_BACK
