"""Did a cache of the device take what was to be durable?

A device that says that its cache is volatile (`queue/write_cache` is `write back`, as of most disks, real and virtual)
may lose what no flush followed. A direct write waits for the device, and for no flush: up to the end of a flush after
the phase, the rate is known again. On a virtual machine the host answers the flush, whose memory may be what took the
writes: such rates differed between runs by up to a factor of 2, each of them steady
(docs/decisions/0018-what-another-run-finds.md).

A disk or array that says that data is safe in a tenth of the time of a random read, where that takes the milliseconds of
moving parts, has put it into a cache of its own. With a battery that is as good as storage, but for a cache that fills;
without one, it is lost with the power. Where the run has no random reads of depth 1, or where they are fast, this check
finds nothing.
"""

from collections.abc import Iterable, Iterator

from assay import plan
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.rows import NS_PER_S
from assay.plan.op_rules import CHANGES, EMPTIES
from assay.results import Finding
from assay.units import format_number, format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Judge what the caches of devices had to do with a change."""
    if case.operation.changes and case.ops and case.unflushed_caches:
        yield _unflushed(case)
    yield from _too_fast(case)


def _unflushed(case: Case) -> Finding:
    names, committed, kept = ", ".join(case.unflushed_caches), case.committed, case.committed_share
    has = "has" if len(case.unflushed_caches) == 1 else "have"
    text = f"{names} {has} a volatile write cache and these writes were not flushed: a power failure could lose them"
    cure = "Write with O_DSYNC or a flush in the loop; or write more than the cache holds, then flush (step `sync`)."
    if committed is None or kept is None:
        text += "."
        return findings.weak("device-cache", text, cure, brief="a device's cache may have it")
    text += (
        f". With the flush of {format_seconds(committed.flush_seconds)} after the phase, the rate is"
        f" {format_number(committed.iops)}/s, {100 * kept:.0f} % of the one without."
    )
    if kept >= thresholds.NEARLY_ALL and not case.subject.is_on_a_host:
        return findings.note("device-cache", text, effect=max(0.0, 1 - kept))
    if kept >= thresholds.NEARLY_ALL:
        text += " This is a virtual machine: its host answers the flush, perhaps from its own memory."
        return findings.weak(
            "device-cache", text, cure, brief="its host's memory may have it", effect=max(0.0, 1 - kept)
        )
    return findings.weak("device-cache", text, cure, brief="a device's cache took it", effect=1 - kept)


def _too_fast(case: Case) -> Iterator[Finding]:
    """Hold durable writes against random reads of the same run."""
    writes = any(op.op in CHANGES - EMPTIES for op in case.operation.ops)
    if not (writes and case.reaches_device and case.latency_ns.mean):
        return
    write_s = case.latency_ns.mean / NS_PER_S
    read_s = max(_random_reads_s(case), default=0.0)
    if read_s < thresholds.MECHANICAL_READ_S or write_s >= thresholds.NOTABLE_SHARE * read_s:
        return
    text = (
        f"A durable write took {format_seconds(write_s)}, a random read of the same storage {format_seconds(read_s)}: a"
        " cache of the device took the writes. A power failure could lose them, unless it has a battery."
    )
    cure = "Check for a battery or capacitors, and run for longer than it takes to fill the cache."
    yield findings.weak("device-cache", text, cure, brief="a device's cache took it")


def _random_reads_s(case: Case) -> Iterator[float]:
    """Mean latencies of random reads, one at a time, in the run."""
    for record in case.run.phases:
        for job, operation in record.moving("read"):
            is_small = all(isinstance(op.access, plan.RandomAccess) for op in operation.ops)
            same_sets = set(operation.sets) & set(case.operation.sets)
            if not is_small or job.workers * job.queue_depth > 1 or not same_sets or job.open.direct is plan.Direct.OFF:
                continue
            rows = record.rows(job.name, operation.name)
            ops = rows.total("ops")
            if ops >= thresholds.FEW_OPS:
                yield rows.total("latency_sum_ns") / ops / NS_PER_S
