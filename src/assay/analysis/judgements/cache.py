"""Report whether memory answered instead of the storage, and whether the page cache was in the requested state."""

from collections.abc import Iterable, Iterator

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.cache import resident_share
from assay.analysis.case import Case
from assay.analysis.hit import UNKNOWN
from assay.plan import CacheCondition
from assay.results import Finding
from assay.units import format_number, format_percent, format_seconds

_OTHER_DIRECTORY = "Measure a directory on the storage that you mean."
_COUNTERS = "Use direct I/O, or a kernel with cachestat (6.5 or later)."


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
    text = f"{case.subject.file_system} keeps its data in memory: the number is of memory, not of storage."
    return findings.weak("from-memory", text, _OTHER_DIRECTORY, brief="file system in memory")


def _undecided(case: Case) -> Iterator[Finding]:
    """Report a hit ratio that leaves open whether storage or memory delivered."""
    hit = case.hit
    if hit.value is None or hit.verdict != UNKNOWN or hit.bounds is None:
        return
    low, high = (f"{100 * share:.0f} %" for share in hit.bounds)
    text = f"Between {low} and {high} of the bytes read in the window came from this machine's memory; no counter is closer."
    cure = "Run longer, or use direct I/O."
    yield findings.weak("hit-ratio-uncertain", text, cure, brief="hit ratio unknown")


def _wanted(case: Case) -> tuple[Finding, ...]:
    """Warn when the cache was not in the state that the phase wanted."""
    wanted, hit = case.record.phase.cache, case.hit
    if hit.verdict == UNKNOWN:
        return _unchecked(wanted, case)
    is_of_storage, share = hit.verdict == "storage", hit.words
    if wanted is CacheCondition.COLD and not is_of_storage:
        if case.subject.is_memory:
            text = f"The load requests a cold cache, but {case.subject.file_system} keeps its data in memory."
            return (findings.warning("cache-state", text, _OTHER_DIRECTORY, brief="not cold"),)
        text = f"The load requests a cold cache, but {share} came from memory."
        cure = "Use direct I/O, a set larger than memory, or read each byte once (wrap = false)."
        return (findings.warning("cache-state", text, cure, brief="not cold"),)
    if wanted is CacheCondition.WARM and hit.verdict != "cache":
        text = f"The load requests a warm cache, but only {share} came from memory."
        cure = "Use a set that fits in memory, and no direct I/O."
        return (findings.warning("cache-state", text, cure, brief="not warm"),)
    if case.subject.is_direct and wanted is not CacheCondition.WARM and not is_of_storage:
        text = f"The files were open with O_DIRECT, but {share} came from memory: the file system ignores the flag."
        cure = "Use a set larger than memory, or another file system."
        return (findings.warning("from-memory", text, cure, brief="O_DIRECT ignored"),)
    return ()


def _from_memory(case: Case) -> tuple[Finding, ...]:
    """Report what memory delivered without a request for a warm cache."""
    hit, wanted = case.hit, case.record.phase.cache
    if hit.verdict in {UNKNOWN, "storage"} or case.subject.is_memory or wanted is CacheCondition.WARM:
        return ()
    text = f"{hit.words} came from this machine's memory: the number is not of storage alone."
    cure = (
        "Request a cold cache (cache = cold), direct I/O or a set of twice the RAM; or a warm cache if you mean that."
    )
    return (
        findings.weak("from-memory", text, cure, brief=f"{100 * (hit.value or 0):.0f} % from memory", effect=hit.value),
    )


def _unchecked(wanted: CacheCondition, case: Case) -> tuple[Finding, ...]:
    """Report a requested state that no counter verifies; a set that was out of the cache verifies a cold start."""
    if wanted is CacheCondition.AS_IS or case.subject.is_direct:
        return ()
    before = resident_share(case.subject, events.Moment.BEFORE)
    if wanted is CacheCondition.COLD and before is not None and before <= thresholds.STORAGE_HIT:
        return ()
    if wanted is CacheCondition.WARM and before is not None and before >= thresholds.CACHE_HIT:
        return ()
    text = f"The load requests a {wanted.value} cache, but no counter here shows whether it was."
    return (findings.warning("cache-state", text, _COUNTERS, brief="cache state not verified"),)


def _absorbed(case: Case) -> Finding:
    if case.device_bytes is None or not case.app_bytes:
        share = "how much the device wrote meanwhile is not known"
    else:
        share = f"the device wrote {100 * case.device_bytes / case.app_bytes:.0f} % of the bytes meanwhile"
        if case.device_bytes > case.app_bytes:
            share += " (earlier writes, the journal or other programs among them)"
    what = "writes" if case.operation.direction == "write" else "changes"
    text = f"This machine's memory took the {what}, and no flush is in the time: {share}."
    committed = case.committed
    kept = case.committed_share
    if committed and kept is not None:
        text += (
            f" By the end of a flush of {format_seconds(committed.flush_seconds)} after the phase, storage had"
            f" {format_number(committed.iops)} a second."
        )
        if committed.stored_share < 1:
            text += (
                f" Only {format_percent(committed.stored_share)} % of the data reached it: the rest was overwritten in"
                " memory."
            )
    cure = "Use direct I/O, O_DSYNC or an fsync in the loop to measure storage."
    # For names the rate is all there is; for data the latency is still that of memory.
    if kept is not None and kept >= thresholds.NEARLY_ALL and case.operation.direction != "write":
        return findings.note("absorbed", text, cure, effect=1 - kept)
    effect = None if kept is None else 1 - kept
    return findings.weak("absorbed", text, cure, brief="memory took it", effect=effect)


def _through_server(case: Case) -> Iterator[Finding]:
    """Report flushes that no device of this machine answered."""
    if case.reaches_device and case.subject.devices is None and not case.subject.touches_memory:
        text = (
            f"A server or program behind {case.subject.file_system} answers the flushes; no counter here shows what it keeps"
            " in memory."
        )
        cure = "Look at the server's own counters, and whether it acknowledges before it writes."
        yield findings.note("remote-cache", text, cure)
