"""Report clients that are missing in a sum.

One that is lost in a phase ends its sum: what the others did afterwards is theirs, and no part of a sum of all. Nor is what
some did before all of them were at work. A phase that began without a client is a sum of fewer, which is not the number that
was asked for.
"""

from collections.abc import Iterable, Iterator

from assay import events
from assay.analysis import findings
from assay.analysis.rows import NS_PER_S
from assay.analysis.sum_case import SumCase
from assay.results import Finding
from assay.units import format_names, format_seconds

_CURE = "Find why the client was lost. Then run again with all clients."


def judge(at: SumCase) -> Iterable[Finding]:
    """Report how many clients a sum has, and up to when."""
    yield from _absent(at)
    yield from _cut(at)


def _absent(at: SumCase) -> Iterator[Finding]:
    absent = at.phase.absent
    if not absent:
        return
    are, every = len(at.phase.clients), len(at.phase.clients) + len(absent)
    text = f"The sum has {are} of {every} clients: {_why(at, absent)}."
    brief = f"{are} of {every} clients"
    yield findings.invalid("clients-lost", text, _CURE, brief=brief, effect=len(absent) / every)


def _cut(at: SumCase) -> Iterator[Finding]:
    lost = tuple(name for name in at.phase.cut_by if at.clients[name].member.lost is not None)
    if not lost:
        return
    span, are = at.case.window.span, len(at.phase.clients)
    begin, end = (format_seconds((ns - at.phase.begin_ns) / NS_PER_S) for ns in (span.begin_ns, span.end_ns))
    of = (
        f"the sum covers the {format_seconds(span.seconds)} before ({begin} to {end} of the phase), in which all {are}"
        " clients worked"
    )
    of = (
        of
        if at.case.window.has_sum
        else "there is no sum of the time before, because the clients hardly worked together"
    )
    text = f"{_why(at, lost)} in this phase: {of}. It excludes what the others did afterwards."
    yield findings.warning("clients-lost", text, _CURE, brief="a client was lost")


def _why(at: SumCase, names: tuple[str, ...]) -> str:
    """Name clients, and why and when the first of them was lost: since the first phase was to begin, as `lost_s`."""
    lost = at.clients[names[0]].member.lost
    were = "was" if len(names) == 1 else "were"
    if lost is None and not at.clients[names[0]].member.clock:
        return f"the clock of {format_names(names)} was never read"
    if lost is None and _ended(at, names[0]):
        return f"{format_names(names)} finished the phase, and no record of it was received"
    if lost is None:
        return f"{format_names(names)} did nothing in it"
    found = at.case.run.client_set
    began_ns = found.starts[0].at_ns if found and found.starts else lost.heard_ns
    since = format_seconds(max(0, lost.heard_ns - began_ns) / NS_PER_S)
    of = "" if len(names) == 1 else f"{names[0]}: "
    text = f"{format_names(names)} {were} lost {since} into the run ({of}{lost.reason})"
    return text if at.clients[names[0]].run.events else f"{text}, and what was measured there is not in this run"


def _ended(at: SumCase, client: str) -> bool:
    """Whether a client came to the end of the phase."""
    ended = at.clients[client].run.all(events.PhaseFinished)
    return any(event.phase_index == at.phase.index for event in ended)
