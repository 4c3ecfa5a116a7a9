"""Did somebody else use the devices meanwhile?

Of all that the devices of an operation moved in the window, the load's own part is known where its counters are: what the
kernel fetched for its process, what its writes gave when each of them waits for storage. A load that only reads wrote next
to nothing itself. Where several clients share the machine, the load is what all of them did. A write may cost more than its
own bytes (journal, copies), so only what is beyond that is others'. Where as much was dirty in memory when the window began,
that is named: it was written before, by this run or by others.

Limits: where files are made or removed, their share of what was written is not told from that of others; of writes that
memory takes, nobody can say whose they are when they reach the device.
"""

import dataclasses
from collections.abc import Iterable

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.device import busiest_share, moved_bytes
from assay.plan.durability import CHANGES, WRITES
from assay.plan.walk import job_ops
from assay.results import Finding
from assay.units import format_bytes
from assay.verdicts import Bottleneck, ServedBy


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
    """Judge what the devices did for others."""
    foreign = foreign_bytes(case)
    if foreign is None:
        return
    theirs, total = foreign.theirs, foreign.total
    share = theirs / total if total else 0.0
    if share <= thresholds.FOREIGN_SHARE_WEAK or case.measures is ServedBy.PAGE_CACHE:
        return
    if theirs < thresholds.FOREIGN_BYTES_PER_S * case.window.counted.seconds:
        return
    if not _is_shared_limit(case) and (
        busiest_share(case.record, case.subject.devices_of_all or (), case.window.counted) < thresholds.USED_SHARE
    ):
        return
    names = ", ".join(case.subject.devices_of_all or ())
    text = (
        f"Of the {format_bytes(total)} that {names} moved in the window, {format_bytes(theirs)} ({100 * share:.0f} %) were"
        " not this load's"
    )
    judged = findings.warning if share > thresholds.FOREIGN_SHARE_NO else findings.weak
    dirty = _dirty_before(case)
    if foreign.written >= thresholds.MOST_OF_IT * theirs and dirty >= thresholds.MOST_OF_IT * foreign.written:
        text += f": {format_bytes(dirty)} were dirty in memory when it began, written before, and went to storage meanwhile."
        cure = 'Flush before the phase (before = "sync"), or wait until the storage is at rest, then run again.'
        yield judged("write-back-before", text, cure, brief="earlier writes go to storage", effect=share)
        return
    cure = "See what else uses the device (iotop, other clients of an array), then run again."
    yield judged(
        "foreign-io",
        f"{text}: others used it too.",
        cure,
        brief=f"{100 * share:.0f} % of the I/O is others'",
        effect=share,
    )


def _dirty_before(case: Case) -> float:
    """Bytes that memory was to write back when the window began; 0 where that was not sampled."""
    hello = case.run.first(events.Hello)
    begin_ns = case.window.counted.begin_ns
    pages = (case.record.counters.at(begin_ns, "vmstat", "", name) for name in ("nr_dirty", "nr_writeback"))
    return sum(count or 0.0 for count in pages) * (hello.machine.page_size_bytes if hello else 0)


def _is_shared_limit(case: Case) -> bool:
    """Whether a limit of the control group was full: others in it take from the load, however idle the device."""
    return case.limiter is not None and case.limiter.limit is Bottleneck.THROTTLE_IO


def foreign_bytes(case: Case) -> Foreign | None:
    """Find what the devices moved for others; None where that cannot be told."""
    record, span, devices = case.record, case.window.counted, case.subject.devices_of_all
    if devices is None or not case.window.is_resolved:
        return None
    read, written = (moved_bytes(record, devices, way, span) for way in ("read", "write"))
    fetched = case.subject.fetched_bytes(span)
    if read is None or written is None or fetched is None:
        return None
    theirs = 0.0
    jobs = record.phase.jobs
    changing = [job for job in jobs if any(op.op in CHANGES for op in job_ops(job))]
    if not changing:
        theirs = float(written)
    elif case.reaches_device and case.app_bytes is not None and len(jobs) == 1 and _only_writes(case):
        own = case.app_bytes * (thresholds.DIRECT_WRITES if case.subject.is_plain_direct else thresholds.DURABLE_WRITES)
        theirs = max(0.0, written - own)
    return Foreign(read=max(0.0, read - fetched), written=theirs, total=float(read + written))


def _only_writes(case: Case) -> bool:
    """Whether all that its job changes is the content of files: what a name or an inode costs, nobody can say."""
    kinds = {op.op for op in job_ops(case.job)}
    return case.operation.direction == "write" and kinds & CHANGES <= WRITES
