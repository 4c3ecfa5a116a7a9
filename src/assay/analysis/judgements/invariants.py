"""Report results that break a rule which holds for all storage.

- Nothing comes over a link faster than the link carries, as far as its user has named it (METHOD 4.4, C1).
- Random reads of a hard disk take half a turn or more on average, and a SATA cable carries no more than its encoding leaves.
- A random write moves the same parts as a random read of its size: five times the rate is a cache in the device, or above
  it, that takes writes and puts them in order (report 003).
- A read or write of one worker is a call of its own, unless it goes by a queue: the kernel counts the calls, the engine the
  operations, failed ones among both.

The values are those of the table of invariants (`assay/invariants/table.toml`), which the user may change.

Source: rules to think in and to extrapolate from (report 003); a broken one is a finding.
"""

import math
from collections.abc import Iterable, Iterator

from assay import plan
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.device_class import HDD, device_class
from assay.host.facts import LINK_FACT
from assay.invariants.invariant_table import InvariantKind, InvariantTable, load
from assay.plan.op_rules import READS, WRITES
from assay.plan.walk import job_groups, job_ops
from assay.results import Finding
from assay.units import format_bytes, format_ns, format_number, format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Hold a number against the rules."""
    if case.ops == 0 or case.seconds <= 0:
        return ()
    table = load()
    return (*_link(case, table), *_device(case, table), *_reordered(case, table), *_calls(case))


def _link(case: Case, table: InvariantTable) -> Iterator[Finding]:
    line = case.run.facts.get(LINK_FACT)
    moved = case.bytes / case.seconds
    if not isinstance(line, int | float) or line <= 0:
        return
    row = table.link(line)
    carries = row.high * row.si_factor if row else line
    if moved <= carries:
        return
    text = (
        f"{format_bytes(moved)}/s is {moved / carries:.1f} times what the link carries ({format_bytes(carries)}/s). Most of"
        " the data stayed in memory on this side."
    )
    cure = "Use a file set of twice this machine's RAM, direct I/O, or a cold cache and a flush in the timed part."
    yield findings.warning("faster-than-storage", text, cure, brief="faster than the link", effect=1 - carries / moved)


def _device(case: Case, table: InvariantTable) -> Iterator[Finding]:
    """Compare reads from a disk of known class with what its parts allow: whatever is faster came from a cache."""
    device = device_class(case.subject) if case.measures.is_past_memory else None
    if device is None or case.operation.direction != "read":
        return
    moved, mean_ns = case.bytes / case.seconds, case.latency_ns.mean
    least_s = max((row.low * row.si_factor for row in table.of_kind(InvariantKind.HALF_TURN)), default=0.0)
    cables = [row for row in table.of_kind(InvariantKind.INTERFACE) if row.about in device.classes]
    most = max((row.high * row.si_factor for row in cables), default=math.inf)
    if device.classes == HDD and _is_random(case.operation.ops) and mean_ns is not None and mean_ns < least_s * 1e9:
        effect = 1 - mean_ns / least_s / 1e9
        text = (
            f"Random reads took {format_ns(mean_ns)} on average; half a turn of the fastest hard disk takes"
            f" {format_seconds(least_s)}, and {device.device} is one: a cache of the drive or its controller answered."
        )
    elif moved > most:
        effect = 1 - most / moved
        text = (
            f"{format_bytes(moved)}/s is {moved / most:.1f} times what the cable of {device.device} carries"
            f" ({format_bytes(most)}/s): most of it never passed the cable."
        )
    else:
        return
    cure = "Read a set far larger than the caches of the drive and its controller, or turn these off."
    yield findings.warning("faster-than-storage", text, cure, brief="faster than the device", effect=effect)


def _reordered(case: Case, table: InvariantTable) -> Iterator[Finding]:
    if case.operation.direction != "write" or not case.reaches_device or not _is_random(case.operation.ops):
        return
    reads = [rate for rate in _random_reads_per_s(case) if rate > 0]
    times = case.ops / case.seconds / max(reads) if reads else 0.0
    if times < min((row.high for row in table.of_kind(InvariantKind.WRITE_GAIN)), default=math.inf):
        return
    text = (
        f"Random writes were {times:.1f} times as fast as random reads of the same size and depth in this run"
        f" ({format_number(max(reads))}/s). A cache took the writes."
    )
    cure = "Run longer than the cache takes to fill, with a file set far larger than it."
    yield findings.note("faster-than-storage", text, cure)


def _is_random(ops: Iterable[plan.Op]) -> bool:
    moving = [op for op in ops if op.op in READS | WRITES]
    return bool(moving) and all(isinstance(op.access, plan.RandomAccess) for op in moving)


def _random_reads_per_s(case: Case) -> Iterator[float]:
    """Rates of random reads of the same size, as many in flight, of the same sets, in phases of their own."""
    sizes = {op.size for op in case.operation.ops if op.op in WRITES}
    for record in case.run.phases:
        (job, *others) = record.phase.jobs
        as_many = (job.workers, job.queue_depth) == (case.job.workers, case.job.queue_depth)
        if others or not as_many or record.whole.seconds <= 0 or job.open.direct is plan.Direct.OFF:
            continue
        for _, operation in record.moving("read"):
            same = {op.size for op in operation.ops} == sizes and set(operation.sets) == set(case.operation.sets)
            if same and _is_random(operation.ops):
                yield record.rows(job.name, operation.name).total("ops") / record.whole.seconds


def _calls(case: Case) -> Iterator[Finding]:
    """Hold operations against calls, where each is exactly one: plain reads and writes of a job of threads, in no group."""
    job, facts = case.job, case.subject.facts
    plain = facts is not None and facts.backend == "psync" and not facts.short_transfers
    if not (plain and case.is_whole and job.queue_depth == 1) or any(
        op.op not in READS | WRITES for op in job_ops(job)
    ):
        return
    if any(job_groups(job)) or any(
        op.flags.chunk_bytes or op.flags.nowait or op.flags.cached_first for op in job_ops(job)
    ):
        return
    calls = [use.io_calls for use in case.uses]
    # A call that fails is a call, too.
    done = sum(use.ops for use in case.uses) + case.subject.rows.total("errors", case.window.counted)
    counted = sum(count or 0 for count in calls)
    if None in calls or not done or abs(counted - done) <= thresholds.SMALL_SHARE * done + thresholds.FEW_OPS:
        return
    text = f"The kernel counted {counted:,} calls that read or wrote for {done:,} operations: one of the two is wrong."
    cure = "Keep the run and report it."
    yield findings.warning("counts-disagree", text, cure, brief="calls do not match", effect=abs(counted / done - 1))
