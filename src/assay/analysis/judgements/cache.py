"""Was the page cache in the state that the phase wanted, and is this a number of storage?"""

from collections.abc import Iterable, Iterator

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.cache import resident_share
from assay.analysis.case import Case
from assay.analysis.hit import UNKNOWN
from assay.plan import CacheCondition
from assay.results import Finding
from assay.units import format_number, format_percent, format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Judge the cache's part in one operation."""
    if case.ops == 0:
        return ()
    if case.operation.direction == "read":
        memory = (_memory(case),) if case.subject.is_memory else ()
        return (*memory, *case.hit.findings, *_undecided(case), *(_wanted(case) or _from_memory(case)))
    if case.is_absorbed:
        return (_memory(case),) if case.subject.is_memory else (_absorbed(case),)
    # A group that reads as well, past the page cache.
    read = () if case.hit.value is None else (*case.hit.findings, *_wanted(case))
    return (*read, *_through_server(case))


def _memory(case: Case) -> Finding:
    text = f"{case.subject.file_system} keeps its data in memory: this number is not one of storage."
    return findings.weak(
        "memory-file-system", text, "Measure a directory on the storage that is meant.", brief="file system in memory"
    )


def _undecided(case: Case) -> Iterator[Finding]:
    """Report a hit ratio that leaves open whether storage or memory delivered."""
    hit = case.hit
    if hit.value is None or hit.verdict != UNKNOWN or hit.bounds is None:
        return
    low, high = (f"{100 * share:.0f} %" for share in hit.bounds)
    text = (
        f"Between {low} and {high} of the bytes read in the window came from this machine's memory: no count is closer."
    )
    cure = "Run longer, or use direct I/O."
    yield findings.weak("hit-ratio-unknown", text, cure, brief="memory's part is not known")


def _wanted(case: Case) -> tuple[Finding, ...]:
    """Warn when the cache was not in the state that the phase wanted."""
    wanted, hit = case.record.phase.cache, case.hit
    if hit.verdict == UNKNOWN:
        return _unchecked(wanted, case)
    is_of_storage, share = hit.verdict == "storage", hit.words
    if wanted is CacheCondition.COLD and not is_of_storage:
        if case.subject.is_memory:
            text = f"Cold reads were wanted, but {case.subject.file_system} is memory."
            return (findings.warning("not-cold", text, "Measure a directory on the storage that is meant."),)
        text = f"Cold reads were wanted, but {share} came from memory."
        cure = "Use direct I/O, a set larger than memory, or read each byte once (wrap = false)."
        return (findings.warning("not-cold", text, cure),)
    if wanted is CacheCondition.WARM and hit.verdict != "cache":
        text = f"Warm reads were wanted, but only {share} came from memory."
        return (findings.warning("not-warm", text, "Use a set that fits in memory, and no direct I/O."),)
    if case.subject.is_direct and wanted is not CacheCondition.WARM and not is_of_storage:
        text = f"The files were open with O_DIRECT, but {share} came from memory."
        cure = "The file system ignores the flag: use a set larger than memory."
        return (findings.warning("direct-not-honoured", text, cure),)
    return ()


def _from_memory(case: Case) -> tuple[Finding, ...]:
    """Say that nobody asked for what memory delivered."""
    hit, wanted = case.hit, case.record.phase.cache
    if hit.verdict in {UNKNOWN, "storage"} or case.subject.is_memory or wanted is CacheCondition.WARM:
        return ()
    text = f"{hit.words} came from this machine's memory: the number is not one of storage alone."
    cure = (
        "Want a cold cache (cache = cold), use direct I/O or a set of twice the RAM; or say that a warm one is meant."
    )
    return (
        findings.weak("from-memory", text, cure, brief=f"{100 * (hit.value or 0):.0f} % from memory", effect=hit.value),
    )


def _unchecked(wanted: CacheCondition, case: Case) -> tuple[Finding, ...]:
    """Say that a wanted state was not verified; where the set was seen to be out of the cache, a cold start was."""
    if wanted is CacheCondition.AS_IS or case.subject.is_direct:
        return ()
    before = resident_share(case.subject, events.Moment.BEFORE)
    if wanted is CacheCondition.COLD and before is not None and before <= thresholds.STORAGE_HIT:
        return ()
    if wanted is CacheCondition.WARM and before is not None and before >= thresholds.CACHE_HIT:
        return ()
    text = f"A {wanted.value} cache was wanted; nothing here can tell whether it was."
    return (findings.warning("cache-unverified", text, "Use direct I/O, or a kernel with cachestat (6.5 or later)."),)


def _absorbed(case: Case) -> Finding:
    if case.device_bytes is None or not case.app_bytes:
        share = "how much of it the device wrote meanwhile is not known"
    else:
        share = f"the device wrote {100 * case.device_bytes / case.app_bytes:.0f} % of the bytes meanwhile"
        if case.device_bytes > case.app_bytes:
            share += " (earlier writes, the journal or other programs among them)"
    what = "write" if case.operation.direction == "write" else "change"
    text = f"A {what} counts as done when this machine's memory has it; {share}."
    committed = case.committed
    kept = case.committed_share
    if committed and kept is not None:
        text += (
            f" By the end of a flush of {format_seconds(committed.flush_seconds)} after the phase, storage had"
            f" {format_number(committed.iops)} a second."
        )
        if committed.stored_share < 1:
            text += (
                f" Only {format_percent(committed.stored_share)} % of what was written came so far: the rest was written"
                " over in memory."
            )
    cure = "Use direct I/O, O_DSYNC or an fsync in the loop to measure storage."
    # Of names alone the rate is the whole of it; of data the latency is memory's all the same.
    if kept is not None and kept >= thresholds.COMMITTED_SHARE and case.operation.direction != "write":
        return findings.note("absorbed", text, cure, effect=1 - kept)
    effect = None if kept is None else 1 - kept
    return findings.weak("absorbed", text, cure, brief="memory took it", effect=effect)


def _through_server(case: Case) -> Iterator[Finding]:
    """Say that a flush was answered by something that is not a device of this machine."""
    if case.reaches_device and case.subject.devices is None and not case.subject.touches_memory:
        text = f"Behind {case.subject.file_system} something else says when data is safe; what it keeps in memory is unseen."
        yield findings.note("server-unseen", text, "Look at the server's own counters.")
