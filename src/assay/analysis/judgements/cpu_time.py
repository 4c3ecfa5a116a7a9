"""Is the CPU time of an operation known?"""

from collections.abc import Iterable

from assay.analysis import findings
from assay.analysis.case import Case
from assay.results import Finding


def judge(case: Case) -> Iterable[Finding]:
    """Say why it is not."""
    if case.cpu_ns_per_op is not None or case.ops == 0 or not case.is_whole:
        return ()
    if not case.window.is_resolved:
        text = "The window is shorter than what the counters were sampled over: CPU/op and time budget are null."
        return (findings.note("cpu-time-unavailable", text, "Run longer."),)
    text = "The CPU time of the engine's process and of its workers was not sampled: CPU/op is null."
    return (findings.note("cpu-time-unavailable", text, "Use a kernel with CONFIG_SCHED_INFO."),)
