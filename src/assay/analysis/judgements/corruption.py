"""Blocks of stamped sets that are not what was written: the worst that storage can do, so no number beside it is trusted."""

from collections.abc import Iterable, Iterator, Sequence

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.record import RunRecord
from assay.analysis.subject import MEMORY_FILE_SYSTEMS, file_system_of
from assay.events import CorruptionKind
from assay.results import Finding
from assay.units import format_names, format_share

_WORDS = {
    CorruptionKind.WRONG_DATA: "hold bytes that were never written",
    CorruptionKind.STALE: "are older than the last acknowledged write",
    CorruptionKind.TORN: "hold parts of different writes",
    CorruptionKind.MISPLACED: "belong to another offset or file",
    CorruptionKind.NEVER_WRITTEN: "are zeros although they were written",
}
_CURE = (
    "Keep the files and the run; check controller, cable, memory and file system. The run's warnings name each bad block"
    " (the first 100)."
)


def judge(case: Case) -> Iterator[Finding]:
    """Judge what the reads of one operation found."""
    found = case.record.found.corruption if case.record.found else ()
    mine = (case.job.name, case.operation.name)
    yield from _findings([item for item in found if (item.job, item.operation) == mine], "Reads found")
    if case.operation.direction == "read" and not (case.subject.is_direct or case.subject.touches_memory):
        names = [name for name in case.operation.sets if case.run.plan.file_set(name).content.stamped]
        if names and (case.hit.value is None or case.hit.value > thresholds.STORAGE_HIT):
            yield _compared_in_memory(names, case.hit.value)


def of_run(run: RunRecord) -> Iterable[Finding]:
    """Judge what the verify steps of the run found."""
    found: list[Finding] = []
    for event in run.all(events.Verified):
        found += _findings(event.corruption, f"Verifying set '{event.set}' found")
        if not event.generations_known:
            text = (
                f"Set '{event.set}' was verified without its write history (after a restart, or because the table beside"
                " the set is missing): stale blocks were not detected."
            )
            cure = "Lay the set out anew, so that stale blocks are detected again."
            found.append(findings.note("verified-in-part", text, cure))
        is_memory = file_system_of(run, run.plan.file_set(event.set).target) in MEMORY_FILE_SYSTEMS
        if not is_memory and (event.resident_share is None or event.resident_share > 0):
            found.append(_in_memory(event.set, event.resident_share))
    return tuple(found)


def _compared_in_memory(names: Sequence[str], share: float | None) -> Finding:
    known = "an unknown part" if share is None else format_share(share)
    text = (
        f"Reads of '{format_names(names)}' were compared with what was written, and {known} of these bytes came from memory:"
        " whether the storage has them as they were written was not looked at."
    )
    return findings.note("verified-in-part", text, "Read with direct I/O, or verify the set with the step verify.")


def _in_memory(name: str, share: float | None) -> Finding:
    known = "an unknown part" if share is None else format_share(share)
    text = (
        f"Set '{name}' was verified with {known} of its pages in memory: whether the storage has these as they were written"
        " was not looked at."
    )
    return findings.note("verified-in-part", text, "Verify after a restart, or after the file system was mounted anew.")


def _findings(items: Iterable[events.Corruption], who: str) -> tuple[Finding, ...]:
    return tuple(
        findings.invalid(
            "corruption",
            f"{who} {item.blocks} blocks of 4 KiB that {_WORDS[item.kind]} ({item.kind.value}); the first is at byte "
            f"{item.offset_bytes} of {item.path}. The storage lost or damaged data, unless another program wrote there.",
            _CURE,
        )
        for item in items
    )
