"""Check whether the engine did what the Plan asks for."""

from collections.abc import Iterable, Iterator

from assay import events, plan
from assay.analysis import findings
from assay.analysis.case import Case
from assay.analysis.schedule import GrowingLateness, lateness_of, schedule_of
from assay.results import Finding, Schedule
from assay.units import format_ns
from assay.verdicts import ScheduleVerdict


def judge(case: Case) -> Iterable[Finding]:
    """Judge transfers, arrivals, backend and open flags against the Plan."""
    facts = case.subject.facts
    if facts is None:
        return
    if facts.short_transfers:
        text = (
            f"{facts.short_transfers} operations moved fewer bytes than requested: IOPS cover smaller operations than"
            " planned."
        )
        cure = "Look for a full file system, or a file set smaller than the region that is read."
        yield findings.warning("short-transfers", text, cure)
    if kept := schedule_of(case.subject):
        yield from _arrivals(kept, lateness_of(case.subject))
    yield from _fallbacks(case, facts)


def _arrivals(kept: Schedule, late: GrowingLateness | None) -> Iterator[Finding]:
    """Report how an open loop fell behind its schedule."""
    cure = "Request a lower rate, or allow more operations in flight."
    if late is not None:
        text = (
            f"The backlog grew: operations were issued {format_ns(late.first_ns)} late in the first fifth of the phase,"
            f" {format_ns(late.last_ns)} in the last. Response times grow with the length of the run."
        )
        yield findings.warning("late-arrivals", text, cure, brief="backlog grew")
    elif kept.verdict is ScheduleVerdict.FELL_BEHIND:
        achieved = 1 - kept.backlog / kept.arrivals
        text = (
            f"{kept.backlog} of {kept.arrivals} scheduled operations were not issued by the end of the phase:"
            f" {100 * achieved:.1f} % of the requested rate was reached. Percentiles exclude them, and response times grow"
            " with the run."
        )
        yield findings.warning("late-arrivals", text, cure, brief="overloaded", effect=1 - achieved)
    elif kept.late or kept.backlog:
        text = f"{kept.late} of {kept.arrivals} operations were issued after the next one was due"
        text += f", {kept.backlog} were due and not issued at the end." if kept.backlog else "."
        cure = "Use more workers or a larger queue depth to keep the schedule."
        yield findings.note("late-arrivals", f"{text} Response times include that wait.", cure)


def _fallbacks(case: Case, facts: events.JobFacts) -> Iterator[Finding]:
    """Report fallbacks that the engine did not report itself."""
    warned = {event.id for event in case.record.warnings}
    asked = str(case.job.backend.__struct_config__.tag)
    if facts.backend != asked and events.IO_URING_FALLBACK not in warned:
        text = f"The load asks for {asked}; {facts.backend} was used. CPU times do not compare with those of {asked}."
        cure = "Allow io_uring on this machine (kernel.io_uring_disabled = 0), or compare like with like."
        yield findings.note("engine-fallback", text, cure)
    if case.job.open.direct is not plan.Direct.OFF and not facts.direct and events.DIRECT_REFUSED not in warned:
        text = "The file system refused O_DIRECT, so the page cache was used. Memory can have part of the result."
        cure = "Use a file system that supports O_DIRECT, or a file set of more than twice the RAM."
        yield findings.warning("direct-refused", text, cure)
