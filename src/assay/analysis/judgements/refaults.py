"""Report reads of a set that is larger than memory keeps of it.

The kernel counts pages that come back to the page cache although they left it a short while ago (`workingset_refault_file`
of /proc/vmstat). Reads that fetch such pages are of more than memory keeps.

Limits: the count is the machine's, so others' files are in it.
"""

from collections.abc import Iterable

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.shared_machine import grown_on_machine
from assay.results import Finding
from assay.units import format_bytes


def judge(case: Case) -> Iterable[Finding]:
    """Judge reads through the page cache."""
    hello, window = case.run.first(events.Hello), case.window.counted
    pages = case.record.counters.delta(window, "vmstat", "", "workingset_refault_file")
    fetched = grown_on_machine(case.run, case.record, window, "process_read_bytes")
    if case.operation.direction != "read" or case.subject.is_direct or not (case.ops and hello and pages and fetched):
        return
    refaulted = pages * hello.machine.page_size_bytes
    share = min(1.0, refaulted / fetched)
    if share < thresholds.SMALL_SHARE:
        return
    text = (
        f"{format_bytes(refaulted)}, {100 * share:.0f} % of what was fetched, had been in memory before and was pushed out."
        " The hit ratio depends on this machine's memory and on the length of the run."
    )
    yield findings.note("from-memory", text, "Use direct I/O, or a set that fits in memory.")
