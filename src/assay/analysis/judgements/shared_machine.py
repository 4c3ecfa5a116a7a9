"""Did other clients of the run have the same machine?

The counters of the machine then cover all of them. They are compared with what all did together, and the result is
reported with each of them.
"""

from collections.abc import Iterator

from assay.analysis import findings
from assay.analysis.case import Case
from assay.analysis.shared_machine import grown_on_machine
from assay.results import Finding
from assay.units import format_names

_ALWAYS = "process_cpu_ns"
"""A counter that every engine has."""


def judge(case: Case) -> Iterator[Finding]:
    """Name the others, and report what follows."""
    shared = case.run.machine
    if shared is None or not case.ops:
        return
    text = f"{format_names(shared.others)} ran on the same machine: "
    if grown_on_machine(case.run, case.record, case.window.counted, _ALWAYS) is None:
        text += (
            "what one of them did in this time is not known, so I/O of others is not reported, and figures for each byte or"
            " operation of a device are null."
        )
    else:
        text += "results for its devices, CPUs and memory cover all of them. Energy belongs to none of them."
    yield findings.note("machine-shared", text, "Give each client a machine of its own to see them apart.")
