"""When was what memory took on storage?

Writes and changes of files that nobody flushes count as done when memory has them. Where a `sync` step follows the phase,
the time from the begin of the window to the end of that flush is what storage needed for all that was done in it:

    committed rate = operations of the window x stored / (end of the flush - begin of the window)

What was dirty when the window began is flushed in that time as well, so it is no more than what storage can do, and no more
than the rate of the window.

Data that is written over before it is written back reaches storage once, however often it was written. The kernel counts
the bytes of the pages that become dirty (`write_bytes` of /proc/self/io), of a dirty page no second time, and each of them
is written to storage once:

    stored = (bytes that became dirty + bytes of the sets that were dirty before) / bytes written, 1 at most; of the phase

Limits: a page counts whole, so that small writes here and there may hide that some were written over; files that were
deleted before the flush count as stored.
"""

from assay import events, plan
from assay.analysis import thresholds
from assay.analysis.cache import NFS
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.subject import Subject
from assay.analysis.window import Window
from assay.plan.op_rules import WRITES
from assay.results import Committed

_SYNC = "sync"
_FLUSHES = frozenset({_SYNC, "evict"})
_TELLS_DIRTY_PAGES = "cachestat"
_IN_ORDER = (plan.Sequential, plan.SharedStream, plan.Backward, plan.Whole)


def committed_rate(subject: Subject, window: Window, *, moves_data: bool) -> Committed | None:
    """Give the rate of an operation up to the end of the flush that followed its phase.

    None where none did, and where nothing tells how much of what was written storage had by then.
    """
    flush = _flush_after(subject.record)
    stored = _stored_share(subject) if flush else None
    if flush is None or stored is None or window.at_work is None:
        return None
    seconds = (flush.t_ns - window.span.begin_ns) / NS_PER_S
    if seconds <= 0:
        return None
    rows = subject.rows
    return Committed(
        iops=stored * rows.total("ops", window.counted) / seconds,
        throughput_bytes_per_s=stored * rows.total("bytes", window.counted) / seconds if moves_data else None,
        seconds=seconds,
        flush_seconds=flush.seconds,
        stored_share=stored,
    )


def _flush_after(record: PhaseRecord) -> events.StepDone | None:
    if record.finished is None:
        return None
    flushes = (step for step in record.steps if step.step == _SYNC and step.achieved)
    return next((step for step in flushes if step.t_ns >= record.whole.end_ns), None)


def _stored_share(subject: Subject) -> float | None:
    """Share of what was done that storage was given by the end of the flush; None where that is not known."""
    if subject.is_direct or not any(op.op in WRITES for op in subject.operation.ops):
        return 1.0  # each request goes to the device by itself, and a name is changed once
    share = _share_that_became_dirty(subject)
    if share is not None and share >= 1 - thresholds.NEGLIGIBLE_SHARE:
        return 1.0
    if subject.operation.direction != "write" or len(subject.record.moving("write")) > 1:
        return None  # which of the operations wrote over what is not known
    return 1.0 if share is None and _writes_once(subject) else share


def _share_that_became_dirty(subject: Subject) -> float | None:
    """Share of the bytes written in the phase that became dirty, or were before; None where the kernel counts no such."""
    record = subject.record
    written = record.moved_bytes("write", record.whole)
    dirtied, before = record.process_delta(record.whole, "process_write_bytes"), _dirty_before(subject)
    if dirtied is None or before is None or not written or not _is_counted(subject):
        return None
    return min(1.0, (dirtied + before) / written)


def _is_counted(subject: Subject) -> bool:
    """Whether what becomes dirty is counted: on file systems of block devices, and NFS."""
    return not subject.touches_memory and all(
        kind in NFS or subject.run.target_fact(target, "fs.is_block_backed") is True
        for target, kind in zip(subject.targets, subject.file_systems, strict=True)
    )


def _dirty_before(subject: Subject) -> float | None:
    """Bytes of the operation's sets that were dirty when the phase began; None where that is not known."""
    record = subject.record
    earlier = [phase for phase in subject.run.phases if phase.index < record.index]
    flushes = (step for step in record.steps if step.step in _FLUSHES and step.achieved)
    if not earlier or _flush_after(earlier[-1]) or any(step.t_ns <= record.start_ns for step in flushes):
        return 0.0  # a set that was laid out was flushed
    looked = {
        event.set: event
        for event in record.residency
        if event.moment is events.Moment.BEFORE and event.method == _TELLS_DIRTY_PAGES and event.pages
    }
    if not all(name in looked for name in subject.operation.sets):
        return None
    return sum(
        (subject.run.set_bytes(name) or 0) * looked[name].dirty_pages / looked[name].pages
        for name in subject.operation.sets
    )


def _writes_once(subject: Subject) -> bool:
    """Whether no byte can have been written twice in the phase."""
    size_bytes = sum(subject.run.set_bytes(name) or 0 for name in subject.operation.sets)
    written = subject.record.moved_bytes("write", subject.record.whole)
    return written <= size_bytes and all(
        isinstance(op.access, _IN_ORDER)
        or (isinstance(op.access, plan.RandomAccess) and op.access.coverage is plan.Coverage.EACH_ONCE)
        for op in subject.operation.ops
        if op.op in WRITES
    )
