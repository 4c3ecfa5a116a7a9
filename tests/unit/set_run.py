"""A run of several clients whose truth is known: each client's record, the sum's, and the document of them all."""

import dataclasses
import functools
import statistics
from collections.abc import Mapping, Sequence

import msgspec

from assay import plan
from assay.analysis.document import document
from assay.analysis.record import ClientRecord, RunRecord, read
from assay.bundle.client_set import ClientSet, Lost, Member, OnLost, PhaseStart, Role, Share
from assay.clocks import ClockReading
from assay.results import (
    ClientOfRun,
    ClientRate,
    ClientStart,
    ClockError,
    Document,
    Result,
    SetOfClients,
    StartOfPhase,
    Straggler,
)
from unit.memory_run import hello
from unit.synthetic import NS, SyntheticRun, one_job, one_plan, steady_stream

SECONDS = 6
TITLES = ("4 KiB random read", "8 KiB random write")
RATES: Mapping[str, tuple[int, int]] = {"h1": (100, 60), "h2": (120, 60), "h3": (110, 60), "h4": (25, 60)}
"""Operations a second of each client in each phase."""
LOST_S = 4.0
"""Of `with_lost`: h3 is lost so long after the first phase began."""
OBSERVER = "s1"


def _plan() -> plan.Plan:
    phases = [plan.Phase(name=f"p{i}", title=title, jobs=(one_job(),)) for i, title in enumerate(TITLES)]
    return one_plan(*phases)


@functools.cache
def _record(rates: tuple[tuple[int, ...], ...], begin_s: float = 0.0) -> RunRecord:
    """Give the record of who had workers of these rates, by phase, on a clock that is ahead by `begin_s`."""
    first = hello()
    machine = msgspec.structs.replace(first.machine, hostname=f"bench{begin_s:g}")
    run = SyntheticRun(_plan(), first=msgspec.structs.replace(first, machine=machine))
    run._now_ns += round(begin_s * NS)
    for index, each in enumerate(rates):
        streams = [
            steady_stream(per_s=rate, seconds=SECONDS, latency_ns=10**6, bytes_each=4096, worker=worker)
            for worker, rate in enumerate(each)
            if rate
        ]
        run.phase(streams, seconds=SECONDS, index=index)
    return read(run.end())


class _Judged:
    """Documents of records, each worked out once: many clients have the same."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[RunRecord, Document]] = {}

    def __call__(self, run: RunRecord) -> Document:
        if id(run) not in self._found:
            self._found[id(run)] = run, document(run)
        return self._found[id(run)][1]


_judged = _Judged()


def clock_of(place: int) -> ClockError:
    """How the clock of the client at a place stood: 100 s further ahead each."""
    return ClockError(
        offset_ns=100 * NS * place, bound_ns=900_000 + place, drift_ppm=None if place == 0 else 3.0 * place
    )


def set_run(
    rates: Mapping[str, tuple[int, int]] = RATES, *, with_lost: bool = False, with_observer: bool = False
) -> tuple[RunRecord, Document]:
    """Make the record and the document of some clients.

    h4 is a straggler of the first phase where its rate is below half of the median of the others.
    """
    names = list(rates)
    members = tuple(_member(name, i, rates[name], with_lost=with_lost) for i, name in enumerate(names))
    together = _record(tuple(tuple(each[index] for each in rates.values()) for index in range(len(TITLES))))
    observers = (_member(OBSERVER, len(names), (0, 0), role=Role.OBSERVER),) if with_observer else ()
    run = dataclasses.replace(
        together,
        client_set=ClientSet(
            share=Share.OWN,
            on_lost=OnLost.CONTINUE,
            members=tuple(each.member for each in (*members, *observers)),
            starts=tuple(
                PhaseStart(phase_index=phase.index, at_ns=phase.start_ns, members=tuple(names))
                for phase in together.phases
            ),
        ),
        members=(*members, *observers),
    )
    return run, _document(run, rates)


def _member(
    name: str, place: int, rates: tuple[int, int], *, with_lost: bool = False, role: Role = Role.LOAD
) -> ClientRecord:
    # A few clocks for all: records of alike clients are the same.
    begin_s = 100.0 * (place % 10)
    lost = Lost(heard_ns=0, noticed_ns=1, reason="socket closed", phase_index=0) if with_lost and name == "h3" else None
    return ClientRecord(
        member=Member(
            name=name,
            role=role,
            hostname=f"bench{place}",
            address=f"198.51.100.{place % 250}",
            facts=(),
            clock=(ClockReading(at_ns=0, offset_ns=round(begin_s * NS), bound_ns=900_000, exchanges=16),),
            lost=lost,
        ),
        run=_record(tuple((rate,) for rate in rates), begin_s),
        shift_ns=dict.fromkeys(range(len(TITLES)), -round(begin_s * NS)),
    )


def _document(run: RunRecord, rates: Mapping[str, tuple[int, int]]) -> Document:
    """Work the sums out, and write down beside them what is known of each client."""
    sums = document(dataclasses.replace(run, client_set=None, members=()))
    loads = [each for each in run.members if each.member.role is Role.LOAD]
    own = [_own_results(each) for each in loads]
    found = [
        _set(
            result,
            [
                (client.member.name, results[i].label, rates[client.member.name][i])
                for client, results in zip(loads, own, strict=True)
            ],
        )
        for i, result in enumerate(sums.results)
    ]
    return msgspec.structs.replace(
        sums,
        results=(*sums.results, *(result for each in own for result in each)),
        clients=tuple(_client(i, each) for i, each in enumerate(run.members)),
        starts=tuple(_start(phase.phase.name, [each.member.name for each in loads]) for phase in run.phases),
        sums=tuple(found),
    )


def _own_results(client: ClientRecord) -> list[Result]:
    return [
        msgspec.structs.replace(result, client=client.member.name, label=f"{result.label}@{client.member.name}")
        for result in _judged(client.run).results
    ]


def _set(total: Result, own: Sequence[tuple[str, str, int]]) -> SetOfClients:
    """Take a sum to pieces: name, label of its own result, and rate of each client."""
    rates = [rate for _, _, rate in own]
    slowest = min(range(len(rates)), key=rates.__getitem__)
    others = [rate for i, rate in enumerate(rates) if i != slowest]
    ratio = rates[slowest] / statistics.median(others)
    return SetOfClients(
        label=total.label,
        clients=len(own),
        window_s=(0.0, float(SECONDS)),
        all_at_work_s=(0.0, float(SECONDS)),
        rates=tuple(
            ClientRate(
                client=name,
                label=label,
                iops=float(rate),
                throughput_bytes_per_s=4096.0 * rate,
                share=rate / sum(rates),
            )
            for name, label, rate in own
        ),
        jain=sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates)),
        spread=max(rates) / min(rates) if min(rates) > 0 else None,
        straggler=Straggler(client=own[slowest][0], ratio=ratio, cause="its link is full") if ratio < 0.5 else None,
    )


def _client(place: int, client: ClientRecord) -> ClientOfRun:
    member = client.member
    return ClientOfRun(
        name=member.name,
        role=member.role.value,
        hostname=member.hostname,
        address=member.address,
        clock=clock_of(place),
        lost_s=LOST_S if member.lost else None,
        lost_reason=member.lost.reason if member.lost else None,
        is_complete=member.lost is None,
    )


def _start(phase: str, names: Sequence[str]) -> StartOfPhase:
    """Client `i` was `(i + 1) * 20 µs` late, known to 5 µs."""
    late = [20_000 * (i + 1) for i in range(len(names))]
    return StartOfPhase(
        phase=phase,
        repeat=0,
        skew_ns=max(late) - min(late),
        bound_ns=10_000,
        starts=tuple(
            ClientStart(client=name, late_ns=ns, bound_ns=5_000) for name, ns in zip(names, late, strict=True)
        ),
    )
