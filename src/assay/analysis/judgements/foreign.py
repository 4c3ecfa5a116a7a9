"""Did somebody else use the devices meanwhile?

Of all that the devices of an operation moved in the window, the load's own part is known where its counters are: what the
kernel fetched for its process, what its writes gave when each of them waits for storage. A load that only reads wrote next
to nothing itself. Where several clients share the machine, the load is what all of them did. A write may cost more than its
own bytes (journal, copies), so only what is beyond that is others'. Where as much was dirty in memory when the window began,
that is named: it was written before, by this run or by others.

A limit of the control group that was full is used like a device by the programs of that group, and by no others: these take
from the load, however idle the device.

Limits: where files are made or removed, their share of what was written is not told from that of others; of writes that
memory takes, nobody can say whose they are when they reach the device.
"""

import dataclasses
from collections.abc import Callable, Iterable

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.device import busiest_share, moved_bytes
from assay.analysis.io_limits import IoLimit, most_used
from assay.plan.op_rules import CHANGES, WRITES
from assay.plan.walk import job_ops
from assay.results import Finding
from assay.units import format_bytes
from assay.verdicts import Bottleneck, ServedBy

_LEAST_REQUEST_BYTES = 512
_IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "jfs", "vfat", "exfat"})
"""File systems that write over what they change, and little besides; others may write their trees anew."""


@dataclasses.dataclass(frozen=True)
class Foreign:
    """Bytes that the devices moved for others, at least, and for all."""

    read: float
    written: float
    total: float

    @property
    def theirs(self) -> float:
        """In both directions."""
        return self.read + self.written


def judge(case: Case) -> Iterable[Finding]:
    """Judge what the devices, or a full limit on one, did for others."""
    if case.measures is ServedBy.PAGE_CACHE:
        return
    if found := _within_limit(case) or _on_devices(case):
        yield found


def _on_devices(case: Case) -> Finding | None:
    foreign = foreign_bytes(case)
    if foreign is None or foreign.theirs < thresholds.FOREIGN_BYTES_PER_S * case.window.counted.seconds:
        return None
    share = foreign.theirs / foreign.total if foreign.total else 0.0
    devices = case.subject.devices_of_all or ()
    is_idle = busiest_share(case.record, devices, case.window.counted) < thresholds.USED_SHARE
    if share <= thresholds.FOREIGN_SHARE_WEAK or (is_idle and not _is_held_by_somebody(case)):
        return None
    theirs, total = foreign.theirs, foreign.total
    text = (
        f"Of the {format_bytes(total)} that {', '.join(devices)} moved in the window, {format_bytes(theirs)}"
        f" ({100 * share:.0f} %) were not this load's"
    )
    dirty = _dirty_before(case)
    if foreign.written >= thresholds.MOST_OF_IT * theirs and dirty >= thresholds.MOST_OF_IT * foreign.written:
        text += f": {format_bytes(dirty)} were dirty in memory when it began, written before, and went to storage meanwhile."
        cure = 'Flush before the phase (before = "sync"), or wait until the storage is at rest, then run again.'
        judged = _graded(share)
        return judged("write-back-before", text, cure, brief="earlier writes go to storage", effect=share)
    return _foreign_io(
        share,
        f"{text}: others used it too.",
        "See what else uses the device (iotop, other clients of an array), then run again.",
    )


def _is_held_by_somebody(case: Case) -> bool:
    """Whether a limit was full of what nobody can say whose it is: where the group's own counters were not recorded."""
    used = most_used(case.subject, case.window.counted) if _is_full_limit(case) else None
    return used is not None and not used.is_of_group


def _is_full_limit(case: Case) -> bool:
    return case.limiter is not None and case.limiter.limit is Bottleneck.THROTTLE_IO


def _within_limit(case: Case) -> Finding | None:
    """Judge what others of the control group took of a limit that was full."""
    if not _is_full_limit(case):
        return None
    used = most_used(case.subject, case.window.counted)
    through = _bytes_through(case, used.limit) if used else None
    if used is None or through is None or not through[1]:
        return None
    theirs, total = through
    done = "read" if used.limit.direction == "read" else "wrote"
    share, said = theirs / total, f"{format_bytes(total)} that the control group {done}, {format_bytes(theirs)}"
    requests = _requests_through(case, used.limit, theirs)
    if requests is not None and requests[0] > share * requests[1]:
        theirs, total = requests
        share, said = theirs / total, f"{total:,.0f} {used.limit.direction}s of the control group, {theirs:,.0f}"
    if share <= thresholds.FOREIGN_SHARE_WEAK:
        return None
    return _foreign_io(
        share,
        f"Of the {said} ({100 * share:.0f} %) were not this load's in the window: others are held to the same limit,"
        f" {used.limit}.",
        "See what else runs in the control group, or run in one with a limit of its own.",
    )


def _bytes_through(case: Case, limit: IoLimit) -> tuple[float, float] | None:
    """Bytes that went through a limit, for others and for all; None where that cannot be told."""
    moved = limit.bytes_through(case.record, case.window.counted)
    own = _own_read(case) if limit.direction == "read" else _own_written(case)
    return None if moved is None or own is None else (max(0.0, moved - own), moved)


def _requests_through(case: Case, limit: IoLimit, foreign: float) -> tuple[float, float] | None:
    """Requests that went through a limit of them, for others and for all; None where that cannot be told.

    Others made no more than their bytes have sectors: of a file that lies in pieces, an operation is several requests.
    """
    if not limit.is_of_operations or not case.subject.is_plain_direct or case.operation.direction != limit.direction:
        return None
    made = limit.operations_through(case.record, case.window.counted)
    own = case.subject.ops_on_devices(case.window.counted)
    if not made or own is None or len(case.record.phase.jobs) > 1:
        return None
    return max(0.0, min(made - own, foreign / _LEAST_REQUEST_BYTES)), made


def _foreign_io(share: float, text: str, cure: str) -> Finding:
    judged = _graded(share)
    return judged("foreign-io", text, cure, brief=f"{100 * share:.0f} % of the I/O is others'", effect=share)


def _graded(share: float) -> Callable[..., Finding]:
    return findings.warning if share > thresholds.FOREIGN_SHARE_NO else findings.weak


def _dirty_before(case: Case) -> float:
    """Bytes that memory was to write back when the window began; 0 where that was not sampled."""
    hello = case.run.first(events.Hello)
    begin_ns = case.window.counted.begin_ns
    pages = (case.record.counters.at(begin_ns, "vmstat", "", name) for name in ("nr_dirty", "nr_writeback"))
    return sum(count or 0.0 for count in pages) * (hello.machine.page_size_bytes if hello else 0)


def foreign_bytes(case: Case) -> Foreign | None:
    """Find what the devices moved for others; None where that cannot be told."""
    record, span, devices = case.record, case.window.counted, case.subject.devices_of_all
    if devices is None or not case.window.is_resolved:
        return None
    read, written = (moved_bytes(record, devices, way, span) for way in ("read", "write"))
    own_read = _own_read(case)
    if read is None or written is None or own_read is None:
        return None
    own_written = _own_written(case)
    theirs = 0.0 if own_written is None else max(0.0, written - own_written)
    return Foreign(read=max(0.0, read - own_read), written=theirs, total=float(read + written))


def _own_read(case: Case) -> float | None:
    """Bytes that devices read for the load in the window; None where that cannot be told."""
    return case.subject.fetched_bytes(case.window.counted) if case.window.is_resolved else None


def _own_written(case: Case) -> float | None:
    """Bytes that devices wrote for it at most; None where that cannot be told."""
    jobs = case.record.phase.jobs
    if not any(op.op in CHANGES for job in jobs for op in job_ops(job)):
        return 0.0
    writes = case.subject.ops_on_devices(case.window.counted)
    if not case.reaches_device or case.app_bytes is None or writes is None or len(jobs) > 1 or not _only_writes(case):
        return None
    times = thresholds.DIRECT_WRITES if case.subject.is_plain_direct else thresholds.DURABLE_WRITES
    is_in_place = _IN_PLACE.issuperset(case.subject.file_systems)
    return case.app_bytes * times + (0 if is_in_place else writes * thresholds.TREE_BYTES)


def _only_writes(case: Case) -> bool:
    """Whether all that its job changes is the content of files: what a name or an inode costs, nobody can say."""
    kinds = {op.op for op in job_ops(case.job)}
    return case.operation.direction == "write" and kinds & CHANGES <= WRITES
