"""Report why the CPU time of an operation is not known."""

from collections.abc import Iterable

from assay.analysis import findings
from assay.analysis.case import Case
from assay.results import Finding


def judge(case: Case) -> Iterable[Finding]:
    """Report what is missing for it."""
    if case.cpu_ns_per_op is not None or case.ops == 0 or not case.is_whole:
        return ()
    if not case.window.is_resolved:
        text = (
            "CPU time per operation and time budgets are null: the window is shorter than the sampling of the counters."
        )
        return (findings.note("counters-unavailable", text, "Run longer."),)
    text = "CPU time per operation is null: the CPU time of the engine and of its workers was not sampled."
    return (findings.note("counters-unavailable", text, "Use a kernel with CONFIG_SCHED_INFO."),)
