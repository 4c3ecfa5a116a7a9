"""Report I/O of others on the devices of the load, and on those below them.

How much of the devices others had, and how that is known, is in `company.py`; `layers.py` has which devices lie below. Where
as much was dirty in memory when the window began, that is named: it was written before, by this run or by others.

A limit of the control group that was full is used like a device by the programs of that group, and by no others: these take
from the load, however idle the device.

Limits: where files are made or removed, their share of the writes is not distinguished from that of others; the owner of
writes that memory takes is unknown when they reach the device.
"""

from collections.abc import Callable, Iterable, Iterator

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.company import Company, on_devices_below, on_own_devices, own_read_bytes, own_written_bytes
from assay.analysis.io_limits import IoLimit, most_used
from assay.results import Finding
from assay.units import format_bytes
from assay.verdicts import Bottleneck, ServedBy

_LEAST_REQUEST_BYTES = 512
_CURE = "Find what else uses the device (iotop, other clients of an array) and stop it. Then run again."


def judge(case: Case) -> Iterable[Finding]:
    """Judge what the devices, or a full limit on one, did for others."""
    if case.measures is ServedBy.PAGE_CACHE:
        return
    if found := _within_limit(case):
        yield found
        return
    seen = sorted(_with_company(case), key=lambda one: one.shares, reverse=True)
    if seen:
        yield _earlier_writes(case, seen[0]) or _in_company(seen[0])


def _with_company(case: Case) -> Iterator[Company]:
    """Find the devices that did enough for others to change a number."""
    own = on_own_devices(case, however_idle=_is_held_by_somebody(case))
    for company in (*([own] if own else []), *on_devices_below(case)):
        if company.is_noticeable and company.shares[1] > thresholds.NOTABLE_SHARE:
            yield company


def _in_company(company: Company) -> Finding:
    most, judged = company.shares[1], _graded(company)
    text = f"{_amount(company)}. Others used it too, which can slow this load."
    return judged("foreign-io", text, _CURE, brief=f"others had up to {100 * most:.0f} % of the device", effect=most)


def _earlier_writes(case: Case, company: Company) -> Finding | None:
    """Name what was dirty in memory when the window began, if it is most of what others wrote; write-back flushes little."""
    written, flushes = company.parts["write"], company.parts["flush"]
    dirty = _dirty_before(case)
    is_flushed = (flushes.requests or 0.0) > thresholds.NOTABLE_SHARE * (written.requests or 0.0)
    is_most = written.bytes >= thresholds.MOST_OF_IT * company.bytes and dirty >= thresholds.MOST_OF_IT * written.bytes
    if not is_most or is_flushed or company.above:
        return None
    text = f"{_amount(company)}. {format_bytes(dirty)} of earlier writes were dirty in memory and went to storage meanwhile."
    cure = 'Flush before the phase (before = "sync"), or wait until the storage is at rest. Then run again.'
    judged = _graded(company)
    return judged("earlier-io", text, cure, brief="earlier writes go to storage", effect=company.shares[1])


def _amount(company: Company) -> str:
    """Describe what others had of the devices."""
    names = ", ".join(company.devices) + (f", below {', '.join(company.above)}," if company.above else "")
    share = company.bytes / company.total_bytes if company.total_bytes else 0.0
    text = (
        f"Of the {format_bytes(company.total_bytes)} that {names} moved in the window, {format_bytes(company.bytes)}"
        f" ({100 * share:.0f} %) were not this load's"
    )
    if company.requests is None or not company.total_requests:
        return text
    share = company.requests / company.total_requests
    flushes = company.parts["flush"].requests
    of_flushes = f", {flushes:,.0f} of them flushes" if flushes else ""
    made = f"{company.requests:,.0f} of its {company.total_requests:,.0f} requests ({100 * share:.0f} %)"
    return f"{text}, and {made}{of_flushes}"


def _graded(company: Company) -> Callable[..., Finding]:
    return findings.warning if company.shares[0] > thresholds.MOST_OF_IT else findings.weak


def _is_held_by_somebody(case: Case) -> bool:
    """Whether a limit was full, and it is unknown by whose I/O: the group's own counters were not recorded."""
    used = most_used(case.subject, case.window.counted) if _is_full_limit(case) else None
    return used is not None and not used.is_of_group


def _is_full_limit(case: Case) -> bool:
    return case.limiter is not None and case.limiter.limit is Bottleneck.THROTTLE_IO


def _within_limit(case: Case) -> Finding | None:
    """Judge what others of the control group took of a limit that was full."""
    if not _is_full_limit(case):
        return None
    used = most_used(case.subject, case.window.counted)
    through = _bytes_through(case, used.limit) if used else None
    if used is None or through is None or not through[1]:
        return None
    theirs, total = through
    done = "read" if used.limit.direction == "read" else "wrote"
    share, part = theirs / total, f"{format_bytes(total)} that the control group {done}, {format_bytes(theirs)}"
    requests = _requests_through(case, used.limit, theirs)
    if requests is not None and requests[0] > share * requests[1]:
        theirs, total = requests
        share, part = theirs / total, f"{total:,.0f} {used.limit.direction}s of the control group, {theirs:,.0f}"
    if share <= thresholds.NOTABLE_SHARE:
        return None
    text = (
        f"Of the {part} ({100 * share:.0f} %) were not this load's in the window. Other programs share the limit"
        f" {used.limit}."
    )
    cure = "Find what else runs in the control group, or run in one with a limit of its own."
    judged = findings.warning if share > thresholds.MOST_OF_IT else findings.weak
    return judged("foreign-io", text, cure, brief=f"{100 * share:.0f} % of the I/O is others'", effect=share)


def _bytes_through(case: Case, limit: IoLimit) -> tuple[float, float] | None:
    """Bytes that went through a limit, for others and for all; None where unknown."""
    moved = limit.bytes_through(case.record, case.window.counted)
    own = own_read_bytes(case) if limit.direction == "read" else own_written_bytes(case)
    return None if moved is None or own is None else (max(0.0, moved - own), moved)


def _requests_through(case: Case, limit: IoLimit, foreign: float) -> tuple[float, float] | None:
    """Requests that went through a limit of them, for others and for all; None where unknown.

    Others made no more than their bytes have sectors: of a file that lies in pieces, an operation is several requests.
    """
    if not limit.is_of_operations or not case.subject.is_plain_direct or case.operation.direction != limit.direction:
        return None
    made = limit.operations_through(case.record, case.window.counted)
    own = case.subject.ops_on_devices(case.window.counted)
    if not made or own is None or len(case.record.phase.jobs) > 1:
        return None
    return max(0.0, min(made - own, foreign / _LEAST_REQUEST_BYTES)), made


def _dirty_before(case: Case) -> float:
    """Bytes that memory was to write back when the window began; 0 where that was not sampled."""
    hello = case.run.first(events.Hello)
    begin_ns = case.window.counted.begin_ns
    pages = (case.record.counters.at(begin_ns, "vmstat", "", name) for name in ("nr_dirty", "nr_writeback"))
    return sum(count or 0.0 for count in pages) * (hello.machine.page_size_bytes if hello else 0)
