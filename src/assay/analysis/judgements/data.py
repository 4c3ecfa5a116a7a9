"""Report data that storage need not read or write in full."""

from collections.abc import Iterable

from assay import events, plan
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.results import Finding


def judge(case: Case) -> Iterable[Finding]:
    """Judge the data that was worked on."""
    yield from _size(case)
    for name in case.operation.sets:
        yield from _content(case, case.run.plan.file_set(name))


def is_unwritten(case: Case) -> bool:
    """Whether it reads a set that the load allocated and nobody has written to."""
    return any(_is_unwritten(case, case.run.plan.file_set(name)) for name in case.operation.sets)


def _is_unwritten(case: Case, file_set: plan.FileSet) -> bool:
    is_asked_for = file_set.allocate is not plan.Allocate.WRITE and case.operation.direction == "read"
    return is_asked_for and not case.run.was_written(file_set.name, case.record.index)


def _size(case: Case) -> Iterable[Finding]:
    """Report a set that is small enough for memory."""
    hello = case.run.first(events.Hello)
    size_bytes = sum(case.run.set_bytes(name) or 0 for name in case.operation.sets)
    is_buffered = case.cache.condition != "direct"
    if not (case.operation.direction == "read" and is_buffered and hello and size_bytes):
        return ()
    times = size_bytes / hello.machine.ram_bytes
    if times >= thresholds.SET_TO_RAM:
        return ()
    text = f"The data set is {times:.2g} times this machine's RAM, so buffered reads can come from memory."
    return (
        findings.note("from-memory", text, "See the hit ratio for whether they did; a set of 2x RAM rules it out."),
    )


def _content(case: Case, file_set: plan.FileSet) -> list[Finding]:
    operation = case.operation
    if _is_unwritten(case, file_set):
        text = (
            f"Set '{file_set.name}' was allocated but never written: the file system answers its reads, not the device."
        )
        return [findings.warning("holes", text, "Lay the set out with allocate = write.", brief="blocks never written")]
    content = file_set.content
    if any(op.flags.keeps_buffer for op in operation.ops):
        first = " (zeroes at first)" if content.zeros else ""
        text = f"Writes repeat what a buffer holds{first}, one byte changed each time: storage may move few of them."
        return [findings.note("reducible-content", text)]
    if operation.direction and content.zeros:
        text = f"Set '{file_set.name}' holds nothing but zeroes: storage may store and move none of them."
        return [findings.note("reducible-content", text)]
    if operation.direction and (content.compress_ratio > 1 or content.dedupe_ratio > 1):
        text = (
            f"Set '{file_set.name}' compresses {content.compress_ratio:g} : 1 and deduplicates"
            f" {content.dedupe_ratio:g} : 1: storage that does either moves fewer bytes than the number shows."
        )
        return [findings.note("reducible-content", text)]
    return []
