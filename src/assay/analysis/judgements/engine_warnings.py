"""Report warnings of the engine about a phase, and steps before and after it that were not possible."""

from collections.abc import Iterable

from assay import events
from assay.analysis import findings
from assay.analysis.case import Case
from assay.analysis.finding_pages import current_id
from assay.analysis.judgements.data import is_unwritten
from assay.plan import OpKind
from assay.plan.op_rules import READS
from assay.results import Finding

_CACHE_STEPS = frozenset({"evict", "drop_caches", "warm", "remount"})
"""Steps whose effect is verified by counters afterwards: one that failed is not by itself a fault of the number."""

_STALLED = "stalled"

_ABOUT = {
    events.FREED_INODES: frozenset({OpKind.CREATE, OpKind.MKDIR, OpKind.SYMLINK, OpKind.COPY}),
    events.HOLES: READS,
}
"""Warnings of a phase that move the numbers of these operations alone."""

_BRIEF = {
    events.FREED_INODES: "inodes freed a moment before",
    events.GROWN_DIRECTORY: "a directory that has grown",
    events.HOLES: "reads of holes",
    _STALLED: "storage stalled",
}
"""Short text to print next to the number, where the identifier is not used for it."""


def judge(case: Case) -> Iterable[Finding]:
    """Pass on the engine's warnings, and name the steps that were not done."""
    record = case.record
    # `corruption.py` counts the bad blocks, of which the engine names each; `data.py` names sets that nobody ever wrote.
    yield from (from_engine(event) for event in record.warnings if _is_of(event.id, case))
    yield from (_step(event) for event in record.steps if not event.achieved)


def from_engine(event: events.Warning) -> Finding:
    """Make a finding of a warning.

    A stall of storage is weak wherever the window lies: left out as a start it would leave no trace in a number.
    """
    severity, id_ = event.severity.value, current_id(event.id)
    # One finding has warnings of several causes; the brief names this one.
    brief = _BRIEF.get(event.id, "" if id_ == event.id else event.id.replace("-", " "))
    if event.id == _STALLED and severity == findings.NOTE:
        severity = findings.WEAK
    return Finding(id=id_, severity=severity, text=event.text, cure=event.cure, brief=brief)


def _is_of(id_: str, case: Case) -> bool:
    """Whether the operation is one that this is about, and nobody else says it."""
    if id_ == events.CORRUPT_BLOCK or (id_ == events.HOLES and is_unwritten(case)):
        return False
    about = _ABOUT.get(id_)
    return about is None or any(op.op in about for op in case.operation.ops)


def _step(event: events.StepDone) -> Finding:
    subject = f" of '{event.subject}'" if event.subject else ""
    text = f"Step {event.step}{subject} was not possible: {event.detail.rstrip('.')}. The phase did not run as planned."
    cure = "Run as root, or leave the step out of the load."
    if event.step in _CACHE_STEPS:
        return findings.note("load-changed", text, cure)
    return findings.warning("load-changed", text, cure, brief="step not done")
