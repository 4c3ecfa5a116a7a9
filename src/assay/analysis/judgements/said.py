"""What did the engine say of the phase, and which steps before and after it were not possible?"""

from collections.abc import Iterable

from assay import events
from assay.analysis import findings
from assay.analysis.case import Case
from assay.results import Finding

_CACHE_STEPS = frozenset({"evict", "drop_caches", "warm", "remount"})
"""Steps whose effect is verified by counters afterwards: one that failed is not by itself a fault of the number."""

_STALLED = "stalled"


def judge(case: Case) -> Iterable[Finding]:
    """Pass on the engine's warnings, and name the steps that were not done."""
    record = case.record
    # `corruption.py` counts the bad blocks, of which the engine names each.
    yield from (from_engine(event) for event in record.warnings if event.id != events.CORRUPT_BLOCK)
    yield from (_step(event) for event in record.steps if not event.achieved)


def from_engine(event: events.Warning) -> Finding:
    """Make a finding of a warning.

    A storage that stood still is weak wherever the window lies: left out as a start it would leave no trace in a number.
    """
    if event.id == _STALLED and event.severity.value == findings.NOTE:
        return findings.weak(event.id, event.text, event.cure, brief="storage stood still")
    return Finding(id=event.id, severity=event.severity.value, text=event.text, cure=event.cure)


def _step(event: events.StepDone) -> Finding:
    subject = f" of '{event.subject}'" if event.subject else ""
    text = f"Step {event.step}{subject} was not possible: {event.detail}"
    severity = findings.NOTE if event.step in _CACHE_STEPS else findings.WARNING
    return Finding(id="step-not-done", severity=severity, text=text, cure="")
