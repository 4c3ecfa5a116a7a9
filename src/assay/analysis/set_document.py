"""The results of a run of several clients: sums first, then what each client did by itself, and who they were."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from assay.analysis.carried import carried, carried_of_run
from assay.analysis.judgements import OF_RUN, OF_RUN_OF_CLIENT, OF_RUN_OF_OBSERVER, OF_SET, OF_SUM
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.phase_results import Judged, judged_alone, phase_cases, result_of
from assay.analysis.record import ClientRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.set_limiter import with_advice
from assay.analysis.set_times import PhaseOfSet
from assay.analysis.sum_case import SumCase
from assay.bundle.client_set import ClientSet, Reached, Role
from assay.clocks import ClockReading, drift_ppm
from assay.results import (
    ClientOfRun,
    ClientStart,
    ClockError,
    Finding,
    Result,
    SetOfClients,
    StartOfPhase,
    WayToClient,
)

_CUT = "unfinished"
_LOST = "clients-lost"
_Key = tuple[int, str, str]
"""Phase, job and operation."""


@dataclasses.dataclass(frozen=True)
class SetResults:
    """What a document has of a set; of a run of one client nothing."""

    results: tuple[Result, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Of the run."""
    clients: tuple[ClientOfRun, ...] = ()
    starts: tuple[StartOfPhase, ...] = ()
    sums: tuple[SetOfClients, ...] = ()


def set_results(run: RunRecord, progress: Callable[[int, int], None] | None = None) -> SetResults:
    """Judge each client by itself, and then all of them together; `progress` gets how many of how many were judged."""
    loads = {one.member.name: one for one in run.members if one.member.role is Role.LOAD}
    own: dict[_Key, dict[str, Judged]] = {}
    for done, (name, client) in enumerate(loads.items(), start=1):
        for record in client.run.phases:
            for case in phase_cases(client.run, record):
                key = (record.index, case.job.name, case.operation.name)
                own.setdefault(key, {})[name] = judged_alone(case, name)
        if progress is not None:
            progress(done, len(loads))
    clients = {one.member.name: one for one in run.members}
    sums, pieces = [], []
    advised: dict[_Key, Conclusion | None] = {}
    for at in _sum_cases(run, clients, own):
        key = (at.phase.index, at.case.job.name, at.case.operation.name)
        parts, advised[key] = own.get(key, {}), at.limiter
        result = _sum(at, {name: parts[name] for name in at.phase.clients if name in parts})
        sums.append(result)
        pieces.append(at.taken_to_pieces(result.label))
    by_client = (
        _advised(parts[name].result, advised.get(key)) for name in loads for key, parts in own.items() if name in parts
    )
    return SetResults(
        results=(*sums, *by_client),
        findings=tuple(_of_run(run)),
        clients=tuple(_clients(run.members, run.client_set)),
        starts=tuple(_starts(run)),
        sums=tuple(pieces),
    )


def _advised(result: Result, of_set: Conclusion | None) -> Result:
    return msgspec.structs.replace(result, limiter=with_advice(result.limiter, of_set))


def _sum_cases(
    run: RunRecord, clients: Mapping[str, ClientRecord], own: Mapping[_Key, Mapping[str, Judged]]
) -> Iterator[SumCase]:
    for record in run.phases:
        phase = run.of_set[record.index]
        for case in phase_cases(run, record):
            parts = own.get((record.index, case.job.name, case.operation.name), {})
            results = {name: parts[name].result for name in phase.clients if name in parts}
            yield SumCase(case, phase, clients, results)


def _sum(at: SumCase, parts: Mapping[str, Judged]) -> Result:
    """Write a sum down, with its findings and those of its clients."""
    of_set = [finding for judge in OF_SET for finding in judge(at)]
    own = [finding for judge in OF_SUM for finding in judge(at.case)]
    if any(finding.id == _LOST for finding in of_set):
        own = [finding for finding in own if finding.id != _CUT]
    shares = {rate.client: rate.share or 0.0 for rate in at.rates}
    of_clients = carried({name: part.of_machine for name, part in parts.items()}, shares)
    found = (*of_set, *own, *of_clients)
    return result_of(at.case, found, limiter=at.limiter, measures=at.measures, has_rate=at.case.window.has_sum)


def _of_run(run: RunRecord) -> Iterator[Finding]:
    for judge in OF_RUN:
        if judge not in OF_RUN_OF_CLIENT:
            yield from judge(run)
    yield from carried_of_run(
        (client.member.name, finding)
        for client in run.members
        for judge in (OF_RUN_OF_CLIENT if client.member.role is Role.LOAD else OF_RUN_OF_OBSERVER)
        for finding in judge(client.run)
    )


# -- who they were -----------------------------------------------------------------------------------------------------


def _clients(members: Iterable[ClientRecord], found: ClientSet | None) -> Iterator[ClientOfRun]:
    began_ns = found.starts[0].at_ns if found and found.starts else None
    for member in (one.member for one in members):
        lost = member.lost
        since_ns = None if lost is None else lost.heard_ns - (lost.heard_ns if began_ns is None else began_ns)
        yield ClientOfRun(
            name=member.name,
            role=member.role.value,
            hostname=member.hostname,
            address=member.address,
            clock=_clock(member.clock),
            lost_s=None if since_ns is None else since_ns / NS_PER_S,
            lost_reason=None if lost is None else lost.reason,
            is_complete=lost is None or lost.is_collected,
            reached=_reached(member.reached),
        )


def _reached(found: Reached | None) -> WayToClient | None:
    if found is None:
        return None
    return WayToClient(way=found.way.value, address=found.address, user=found.user, needs_file=found.needs_file)


def _clock(readings: tuple[ClockReading, ...]) -> ClockError | None:
    if not readings:
        return None
    return ClockError(
        offset_ns=readings[0].offset_ns,
        bound_ns=max(one.bound_ns for one in readings),
        drift_ppm=drift_ppm(readings),
    )


def _starts(run: RunRecord) -> Iterator[StartOfPhase]:
    for phase in run.of_set.values():
        starts = tuple(_start(name, phase) for name in phase.clients)
        if not starts:
            continue
        first, last = (pick(starts, key=lambda one: one.late_ns) for pick in (min, max))
        of_plan = run.plan.phases[phase.index]
        yield StartOfPhase(
            phase=of_plan.name,
            repeat=of_plan.repeat,
            skew_ns=last.late_ns - first.late_ns,
            bound_ns=first.bound_ns + last.bound_ns if last is not first else 0,
            starts=starts,
        )


def _start(name: str, phase: PhaseOfSet) -> ClientStart:
    one = phase.clients[name]
    return ClientStart(client=name, late_ns=one.late_ns(phase.begin_ns), bound_ns=one.shift.bound_ns)
