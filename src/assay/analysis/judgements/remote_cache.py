"""Did the memory of a host or server answer the reads?

A virtual machine's disk, and a file system behind a server, may be answered from a memory that no counter of this machine
shows. That is a note: the number is true of the disk, or server, as this machine sees it. It is weak where the numbers have
signs of a cache there (METHOD 4.4, C4 and C7): random reads whose latencies have several modes, of which the fastest and the
slowest each have 5 % of the reads; or reads that took at least 1.25 times as long before the whole set was read once as
after it, by more than chance.

Limits: a cache that holds all of the set from the start leaves neither sign, as right after the set was laid out.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from assay import plan
from assay.analysis import findings, thresholds
from assay.analysis.arrays import FloatArray
from assay.analysis.case import Case
from assay.analysis.statistics.levels import MOST_VALUES, SHORTEST_PIECE
from assay.analysis.statistics.modes import find_modes
from assay.analysis.statistics.rank_sum import p_normal
from assay.plan.op_rules import READS
from assay.plan.walk import job_ops
from assay.results import Finding
from assay.units import format_ns
from assay.verdicts import ServedBy

_BY_CHANCE = 0.01
"""Level of the test that the reads became faster (rank sum)."""

_UNSEEN = frozenset({ServedBy.VIRTUAL_DISK, ServedBy.SERVER})


def judge(case: Case) -> Iterable[Finding]:
    """Judge reads that this machine's memory did not answer."""
    if case.operation.direction != "read" or case.measures not in _UNSEEN or not case.ops:
        return
    if case.measures is ServedBy.VIRTUAL_DISK:
        text = f"The host of this virtual machine serves {', '.join(case.subject.devices or ())}"
    else:
        text = f"A server or another program serves {case.subject.file_system}"
    text += ". Its memory may have answered these reads; no counter here shows it."
    cure = "Read a set larger than that memory, or look at the counters of the host or server."
    signs = tuple(_signs(case))
    if signs:
        yield findings.weak(
            "remote-cache", " ".join((text, *signs)), cure, brief="a host's or server's cache may have it"
        )
    else:
        yield findings.note("remote-cache", text, cure)


def _signs(case: Case) -> Iterator[str]:
    ops = tuple(job_ops(case.job))
    if len(case.record.phase.jobs) > 1 or any(op.op not in READS for op in ops):
        return
    if not case.operation.is_sequential and all(isinstance(op.size, plan.Fixed) for op in ops):
        yield from _modes(case)
    yield from _faster_again(case)


def _modes(case: Case) -> Iterator[str]:
    modes = find_modes(*case.latencies.buckets())
    if len(modes) <= 1 or min(modes[0].share, modes[-1].share) < thresholds.STORAGE_HIT:
        return
    named = ", ".join(f"{100 * mode.share:.0f} % around {format_ns(mode.at)}" for mode in modes)
    yield f"Their latencies have {len(modes)} modes ({named}), as of a cache that has a part."


def _faster_again(case: Case) -> Iterator[str]:
    """Hold the latency up to when the whole set was read once against that after it."""
    rows = case.subject.rows
    ops = rows.column("ops")
    set_bytes = sum(case.run.set_bytes(name) or 0 for name in case.operation.sets)
    has_ops = ops > 0
    latency_ns = rows.column("latency_sum_ns")[has_ops] / ops[has_ops]
    is_first = np.cumsum(rows.column("bytes"))[has_ops] <= set_bytes
    first, again = latency_ns[is_first], latency_ns[~is_first]
    if min(len(first), len(again)) < SHORTEST_PIECE or not set_bytes:
        return
    before, after = float(np.median(first)), float(np.median(again))
    if before < thresholds.MEDIAN_LEVEL * after or p_normal(_few(first), _few(again)) > _BY_CHANCE:
        return
    yield f"They took {format_ns(before)} up to when the set was read once, and {format_ns(after)} after it."


def _few(values: FloatArray) -> list[float]:
    """Gather many values into medians of neighbours."""
    return [float(np.median(part)) for part in np.array_split(values, min(len(values), MOST_VALUES))]
