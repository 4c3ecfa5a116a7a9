"""What happened in a set of clients, as events of one that did it all: on the clock of the set, each thing once.

Texts name the clients that they are from. A step is done when the last client has done it, and only if all of its phase
reported that they had; sizes of file sets are those of all clients, but where all use one set. The end of a phase is
there where no client was lost in it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from assay import events
from assay.analysis.named_clients import first_of_each, join_texts
from assay.analysis.of_client import ClientView
from assay.analysis.set_times import ClientPhase, PhaseOfSet, SetTimes
from assay.bundle.client_set import Share
from assay.units import format_names

_E = TypeVar("_E")
_Reported = tuple[str, int, _E]
"""Client, time in that of the set, and event."""
_GRAVEST = (
    events.StoppedBy.ERROR,
    events.StoppedBy.CONTROL,
    events.StoppedBy.STONEWALL,
    events.StoppedBy.EXHAUSTED,
)
_SEVERITIES = (events.Severity.INVALID, events.Severity.WARNING, events.Severity.WEAK, events.Severity.NOTE)
_FILL = "fill"
_IN_ONE_FOLDER = frozenset({Share.TOGETHER, Share.ONE_SET})
"""Where one client fills the storage for all."""
_WORST = (events.Outcome.FAILED, events.Outcome.STOPPED, events.Outcome.COMPLETE)


def merged_events(
    clients: Mapping[str, ClientView], times: SetTimes, share: Share, workers_before: Mapping[str, int]
) -> list[events.Event]:
    """Put the events of all clients together.

    Args:
        clients: Those that made load.
        times: Their times.
        share: What each got of the Plan.
        workers_before: By client, how many workers the clients before it have.
    """
    reported = _Record(clients, times)
    found: list[events.Event] = list(_hello(clients, times))
    found += _prepared(reported.all(events.Prepared), is_one_set=share is Share.ONE_SET)
    found += _steps(reported.all(events.StepDone), clients, times, share)
    found += _residency(reported.all(events.Residency))
    found += _warnings(reported.all(events.Warning))
    found += [
        msgspec.structs.replace(event, t_ns=t_ns, label=f"{client}: {event.label}")
        for client, t_ns, event in reported.all(events.Mark)
    ]
    found += [
        msgspec.structs.replace(event, t_ns=t_ns, text=f"{client}: {event.text}")
        for client, t_ns, event in reported.all(events.Error)
    ]
    found += [
        msgspec.structs.replace(event, t_ns=t_ns, begun_ns=t_ns - event.t_ns + event.begun_ns)
        for _, t_ns, event in reported.all(events.Paused)
    ]
    found += _went_wrong(reported.all(events.WentWrong))
    found += [
        msgspec.structs.replace(
            event,
            t_ns=t_ns,
            worker=workers_before[client] + event.worker,
            end_ns=tuple(end_ns + t_ns - event.t_ns for end_ns in event.end_ns),
        )
        for client, t_ns, event in reported.all(events.Laps)
    ]
    for phase in times.phases.values():
        found += _of_phase(phase, clients, workers_before)
    found += _finished(clients, reported)
    # Stable: what is of one moment stays in this order.
    return sorted(found, key=lambda event: getattr(event, "t_ns", 0))


class _Record:
    """All events of the clients, by kind."""

    def __init__(self, clients: Mapping[str, ClientView], times: SetTimes) -> None:
        self._by_kind: dict[type, list[_Reported[events.Event]]] = {}
        for name, view in clients.items():
            for event in view.happened:
                t_ns = getattr(event, "t_ns", 0)
                if (shift_ns := _shift_ns(times, name, event, t_ns)) is not None:
                    self._by_kind.setdefault(type(event), []).append((name, t_ns + shift_ns, event))

    def all(self, kind: type[_E]) -> list[_Reported[_E]]:
        """Give those of a kind, in the order of the clients."""
        return [(name, t_ns, event) for name, t_ns, event in self._by_kind.get(kind, ()) if isinstance(event, kind)]


def _shift_ns(times: SetTimes, client: str, event: events.Event, t_ns: int) -> int | None:
    """Describe what to add to an event's time: in a phase the same as to all of the phase."""
    index = getattr(event, "phase_index", None)
    phase = None if index is None else times.phases.get(index)
    if phase is not None and client in phase.clients:
        return phase.clients[client].shift.ns
    found = times.clock.shift(client, t_ns)
    return None if found is None else found.ns


def _hello(clients: Mapping[str, ClientView], times: SetTimes) -> Iterator[events.Hello]:
    """One machine with the CPUs and the memory of all: two clients of one host share them."""
    reported = {
        name: event for name, view in clients.items() for event in view.happened if isinstance(event, events.Hello)
    }
    if not reported:
        return
    hosts = {hello.machine.hostname: hello.machine for hello in reported.values()}
    every = list(reported.values())
    first_name, first = next(iter(reported.items()))
    slow = next((hello.engine for hello in every if hello.engine.profile != first.engine.profile), first.engine)
    capable = [hello.capabilities for hello in every]
    shift = times.clock.shift(first_name, 0)
    yield msgspec.structs.replace(
        first,
        engine=slow,
        machine=msgspec.structs.replace(
            first.machine,
            hostname=format_names(list(hosts)),
            cpus=sum(machine.cpus for machine in hosts.values()),
            ram_bytes=sum(machine.ram_bytes for machine in hosts.values()),
        ),
        clock=msgspec.structs.replace(
            first.clock,
            read_cost_ns=max(hello.clock.read_cost_ns for hello in every),
            realtime_at_zero_ns=first.clock.realtime_at_zero_ns - (shift.ns if shift else 0),
            monotonic_at_zero_ns=times.clock.zero_ns,
        ),
        capabilities=events.Capabilities(
            **{
                name: all(getattr(one, name) for one in capable)
                for name in events.Capabilities.__struct_fields__
                if name != "notes"
            },
            notes=tuple(dict.fromkeys(note for one in capable for note in one.notes)),
        ),
    )


# -- around the phases -------------------------------------------------------------------------------------------------


def _together(reported: Iterable[_Reported[_E]], key: Callable[[_E], object]) -> list[list[_Reported[_E]]]:
    """Group the clients' events by key: the first event of each client, the second, and so on."""
    found: dict[object, list[_Reported[_E]]] = {}
    seen: dict[object, int] = {}
    for client, t_ns, event in reported:
        place = (client, key(event))
        seen[place] = seen.get(place, 0) + 1
        found.setdefault((key(event), seen[place]), []).append((client, t_ns, event))
    return list(found.values())


def _prepared(reported: list[_Reported[events.Prepared]], *, is_one_set: bool) -> Iterator[events.Event]:
    add = max if is_one_set else sum
    for same in _together(reported, lambda event: event.set):
        every = [event for _, _, event in same]
        yield msgspec.structs.replace(
            every[0],
            t_ns=max(t_ns for _, t_ns, _ in same),
            files=add(event.files for event in every),
            directories=add(event.directories for event in every),
            bytes=add(event.bytes for event in every),
            seconds=max(event.seconds for event in every),
            reused=all(event.reused for event in every),
            sampled_blocks=sum(event.sampled_blocks for event in every),
            zero_blocks=sum(event.zero_blocks for event in every),
        )


def _steps(
    reported: list[_Reported[events.StepDone]], clients: Mapping[str, ClientView], times: SetTimes, share: Share
) -> Iterator[events.Event]:
    for same in _together(reported, lambda event: (event.phase_index, event.step, event.subject)):
        every = [event for _, _, event in same]
        phase = times.phases.get(every[0].phase_index)
        did_it = {client for client, _, _ in same}
        is_by_one = every[0].step == _FILL and share in _IN_ONE_FOLDER
        silent = [name for name in (phase.clients if phase else clients) if name not in did_it and not is_by_one]
        t_ns = max(t_ns for _, t_ns, _ in same)
        begun_ns = min(t_ns - round(event.seconds * 1e9) for _, t_ns, event in same)
        failed = {client: event.detail for client, _, event in same if not event.achieved}
        failed |= dict.fromkeys(silent, "it did not say that it had done this")
        yield msgspec.structs.replace(
            every[0],
            t_ns=t_ns,
            achieved=not failed,
            detail=join_texts(failed) if failed else every[0].detail,
            seconds=(t_ns - begun_ns) / 1e9,
        )


def _residency(reported: list[_Reported[events.Residency]]) -> Iterator[events.Event]:
    for same in _together(reported, lambda event: (event.phase_index, event.moment, event.set)):
        every = [event for _, _, event in same]
        methods = dict.fromkeys(event.method for event in every)
        yield msgspec.structs.replace(
            every[0],
            t_ns=max(t_ns for _, t_ns, _ in same),
            method=", ".join(methods),
            **{
                name: sum(getattr(event, name) for event in every)
                for name in ("files_sampled", "files", "pages", "resident_pages", "dirty_pages")
            },
        )


def _warnings(reported: list[_Reported[events.Warning]]) -> Iterator[events.Event]:
    by_kind: dict[object, list[_Reported[events.Warning]]] = {}
    for client, t_ns, event in reported:
        by_kind.setdefault((event.phase_index, event.id), []).append((client, t_ns, event))
    for same in by_kind.values():
        gravest = min((event for _, _, event in same), key=lambda event: _SEVERITIES.index(event.severity))
        texts = first_of_each((client, event.text) for client, _, event in same)
        yield msgspec.structs.replace(gravest, t_ns=min(t_ns for _, t_ns, _ in same), text=join_texts(texts))


def _finished(clients: Mapping[str, ClientView], reported: _Record) -> Iterator[events.Event]:
    ended = reported.all(events.Finished)
    if not ended or len({client for client, _, _ in ended}) < len(clients):
        return
    every = [event for _, _, event in ended]
    yield events.Finished(
        t_ns=max(t_ns for _, t_ns, _ in ended),
        outcome=min((event.outcome for event in every), key=_WORST.index),
        user_cpu_ns=sum(event.user_cpu_ns for event in every),
        system_cpu_ns=sum(event.system_cpu_ns for event in every),
        peak_rss_bytes=sum(event.peak_rss_bytes for event in every),
    )


# -- the phases --------------------------------------------------------------------------------------------------------


def _of_phase(
    phase: PhaseOfSet, clients: Mapping[str, ClientView], workers_before: Mapping[str, int]
) -> Iterator[events.Event]:
    """Give the begin of a phase, and its end where all came to it."""
    yield events.Started(t_ns=phase.begin_ns, phase_index=phase.index, start_ns=phase.begin_ns)
    if not phase.is_whole:
        return
    ended = [
        (name, event)
        for name in phase.clients
        for event in clients[name].happened
        if isinstance(event, events.PhaseFinished) and event.phase_index == phase.index
    ]
    every = [event for _, event in ended]
    yield events.PhaseFinished(
        t_ns=max(event.t_ns + phase.clients[name].shift.ns for name, event in ended),
        phase_index=phase.index,
        start_ns=phase.begin_ns,
        stopped_by=_gravest([event.stopped_by for event in every]),
        workers=tuple(
            _moved(window, phase.clients[name], workers_before[name])
            for name, event in ended
            for window in event.workers
        ),
        jobs=tuple(_jobs(every)),
        errors=tuple(_errors(every)),
        corruption=tuple(_corruption(ended)),
    )


def _gravest(reasons: Sequence[events.StoppedBy]) -> events.StoppedBy:
    return next((one for one in _GRAVEST if one in reasons), reasons[0])


def _moved(window: events.WorkerWindow, of: ClientPhase, before: int) -> events.WorkerWindow:
    first, last = (None if ns is None else ns + of.shift.ns for ns in (window.first_op_ns, window.last_op_ns))
    return msgspec.structs.replace(window, worker=before + window.worker, first_op_ns=first, last_op_ns=last)


def _jobs(ended: Sequence[events.PhaseFinished]) -> Iterator[events.JobFacts]:
    by_name: dict[str, list[tuple[events.JobFacts, int]]] = {}
    for event in ended:
        for facts in event.jobs:
            started = sum(window.started for window in event.workers if window.job == facts.job)
            by_name.setdefault(facts.job, []).append((facts, started))
    for name, weighted in by_name.items():
        every = [facts for facts, _ in weighted]
        yield events.JobFacts(
            job=name,
            backend=", ".join(dict.fromkeys(facts.backend for facts in every)),
            direct=all(facts.direct for facts in every),
            mean_queue_depth=_mean((facts.mean_queue_depth, started) for facts, started in weighted),
            mean_reap_batch=_mean((facts.mean_reap_batch, started) for facts, started in weighted),
            short_transfers=sum(facts.short_transfers for facts in every),
            punted=_sum([facts.punted for facts in every]),
            cached_first=_cached_first([facts.cached_first for facts in every]),
            arrivals=_arrivals([facts.arrivals for facts in every]),
            features=tuple(name for name in every[0].features if all(name in facts.features for facts in every)),
        )


def _mean(values: Iterable[tuple[float, int]]) -> float:
    """Mean by the operations that each is of; 0 where there are none."""
    found = list(values)
    weight = sum(count for _, count in found)
    return math.fsum(value * count for value, count in found) / weight if weight else 0.0


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _cached_first(values: Sequence[events.CachedFirst | None]) -> events.CachedFirst | None:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return events.CachedFirst(
        hit_bytes=sum(one.hit_bytes for one in known), missed_bytes=sum(one.missed_bytes for one in known)
    )


def _arrivals(values: Sequence[events.Arrivals | None]) -> events.Arrivals | None:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    rates = [one.rate_per_s for one in known if one.rate_per_s is not None]
    return events.Arrivals(
        scheduled=sum(one.scheduled for one in known),
        missed=sum(one.missed for one in known),
        unissued=sum(one.unissued for one in known),
        rate_per_s=math.fsum(rates) if len(rates) == len(known) else None,
    )


def _went_wrong(reported: Sequence[_Reported[events.WentWrong]]) -> Iterator[events.WentWrong]:
    """Give the last reports of all clients as one of each phase, which is all that is left of a phase that was cut."""
    last: dict[int, dict[str, tuple[int, events.WentWrong]]] = {}
    for client, t_ns, event in reported:
        last.setdefault(event.phase_index, {})[client] = (t_ns, event)
    for index, by_client in last.items():
        yield events.WentWrong(
            t_ns=max(t_ns for t_ns, _ in by_client.values()),
            phase_index=index,
            errors=tuple(_errors([event for _, event in by_client.values()])),
            corruption=tuple(_corruption([(client, event) for client, (_, event) in by_client.items()])),
        )


def _corruption(ended: Iterable[tuple[str, events.WentWrong | events.PhaseFinished]]) -> Iterator[events.Corruption]:
    for client, event in ended:
        for bad in event.corruption:
            yield msgspec.structs.replace(bad, path=f"{client}:{bad.path}")


def _errors(ended: Sequence[events.WentWrong | events.PhaseFinished]) -> Iterator[events.ErrorCount]:
    counts: dict[tuple[str, str, int], int] = {}
    for event in ended:
        for error in event.errors:
            key = (error.job, error.operation, error.errno)
            counts[key] = counts.get(key, 0) + error.count
    for (job, operation, errno), count in counts.items():
        yield events.ErrorCount(job=job, operation=operation, errno=errno, count=count)
