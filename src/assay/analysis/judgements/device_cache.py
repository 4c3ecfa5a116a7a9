"""Did a cache of the device take what was to be durable?

A disk or array that says that data is safe in a tenth of the time of a random read, where that takes the milliseconds of
moving parts, has put it into a cache of its own. With a battery that is as good as storage, but for a cache that fills;
without one, it is lost with the power. Where the run has no random reads of depth 1, or where they are fast, nothing can be
said.
"""

from collections.abc import Iterable, Iterator

from assay import plan
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.rows import NS_PER_S
from assay.results import Finding
from assay.units import format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Hold durable writes against random reads of the same run."""
    if not (case.operation.changes and case.is_flushed and case.latency_ns.mean):
        return
    write_s = case.latency_ns.mean / NS_PER_S
    read_s = max(_random_reads_s(case), default=0.0)
    if read_s < thresholds.MECHANICAL_READ_S or write_s >= thresholds.DURABLE_TO_READ * read_s:
        return
    text = (
        f"A durable write took {format_seconds(write_s)} and a random read of the same storage {format_seconds(read_s)}: a"
        " cache of the device took it. With a battery that is safe until it is full, without one it goes with the power."
    )
    cure = "Ask for the cache's battery or capacitors, and run longer than it takes to fill it."
    yield findings.weak("flush-faster-than-read", text, cure, brief="a device's cache took it")


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
