"""Report discards that the devices executed in the window.

What a file system frees it gives back to the device (mount option `discard`, `fstrim`), often some seconds after the files
were removed. A device that erases then serves others more slowly. A load that removes files, punches holes or discards
blocks itself (fio's trim) has that in its own rate.

Limits: what a device does inside after a discard was acknowledged is not seen. Counted since Linux 4.18 (diskstats).
"""

from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.rows import NS_PER_S
from assay.plan.op_rules import FREES
from assay.plan.walk import job_ops
from assay.results import Finding
from assay.units import format_bytes
from assay.verdicts import ServedBy


def judge(case: Case) -> Iterable[Finding]:
    """Judge what the devices discarded in the window."""
    devices, span = case.subject.devices_of_all, case.window.counted
    if not devices or not case.window.is_resolved or case.measures is ServedBy.PAGE_CACHE or not case.ops:
        return
    taken_ns, given_bytes = (
        sum(case.record.counters.delta(span, "diskstats", device, name) or 0.0 for device in devices)
        for name in ("discard_ns", "discard_bytes")
    )
    share = min(1.0, taken_ns / (span.seconds * NS_PER_S))
    if share < thresholds.NOTABLE_SHARE:
        return
    given = format_bytes(given_bytes)
    text = f"{', '.join(devices)} spent {100 * share:.0f} % of the window on discards of {given}"
    if any(op.op in FREES for job in case.record.phase.jobs for op in job_ops(job)):
        text += ". The load frees blocks itself, so that is a part of its cost."
        yield findings.note("earlier-io", text, effect=share)
        return
    cure = "Wait until earlier removals are discarded (fstrim; some seconds with the mount option discard). Then run again."
    text += " that file systems freed. They slow the load's own requests."
    yield findings.weak("earlier-io", text, cure, brief="discards meanwhile", effect=share)
