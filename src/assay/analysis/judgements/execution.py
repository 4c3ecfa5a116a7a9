"""Did the engine do what the Plan asked for?"""

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
        text = f"{facts.short_transfers} operations moved fewer bytes than asked for."
        cure = "Look for a full file system, or a set smaller than the region that is read."
        yield findings.warning("short-transfers", text, cure)
    if kept := schedule_of(case.subject):
        yield from _arrivals(kept, lateness_of(case.subject))
    yield from _fallbacks(case, facts)


def _arrivals(kept: Schedule, late: GrowingLateness | None) -> Iterator[Finding]:
    """Say that an open loop did not keep its schedule."""
    cure = "Ask for a lower rate, or allow more operations in flight."
    if late is not None:
        text = (
            f"The backlog grew throughout: operations were issued {format_ns(late.first_ns)} late in the first fifth of the"
            f" phase, {format_ns(late.last_ns)} in the last. The load asks for more than the storage serves, so the response"
            " time depends on the length of the run."
        )
        yield findings.warning("overloaded", text, cure, brief="backlog grew")
    elif kept.verdict is ScheduleVerdict.FELL_BEHIND:
        achieved = 1 - kept.backlog / kept.arrivals
        text = (
            f"{kept.backlog} of {kept.arrivals} scheduled arrivals had not been issued when the phase ended:"
            f" {100 * achieved:.1f} % of the asked rate was achieved. Those left over are in no percentile, and the response"
            " time grows with the length of the run."
        )
        yield findings.warning("overloaded", text, cure, effect=1 - achieved)
    elif kept.late or kept.backlog:
        text = f"{kept.late} of {kept.arrivals} arrivals were issued after the next one was due already"
        text += f", {kept.backlog} were due and not issued at the end." if kept.backlog else "."
        yield findings.note("missed-slots", f"{text} Response times count from when they were due.")


def _fallbacks(case: Case, facts: events.JobFacts) -> Iterator[Finding]:
    """Name what was done in place of what was asked for, where the engine did not say so itself."""
    said = {event.id for event in case.record.warnings}
    asked = str(case.job.backend.__struct_config__.tag)
    if facts.backend != asked and events.IO_URING_FALLBACK not in said:
        text = f"The Plan asks for {asked}; {facts.backend} was used."
        cure = "Allow io_uring on this machine (kernel.io_uring_disabled = 0), or compare like with like."
        yield findings.note("backend-fallback", text, cure)
    if case.job.open.direct is not plan.Direct.OFF and not facts.direct and events.DIRECT_REFUSED not in said:
        text = "The Plan asks for O_DIRECT; the file system refused it and the page cache was used."
        cure = "Use a file system that supports O_DIRECT, or a set of more than twice the RAM."
        yield findings.warning("direct-refused", text, cure)
