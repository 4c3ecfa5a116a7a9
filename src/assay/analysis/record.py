"""What was recorded, cut into phases: the input of every judgement, table and figure.

A command reads a run once, with `read`, and passes the result to all functions that report on it.

Times are integer nanoseconds since the engine's hello (`t_ns`), made from the tables' `t_s`, so that they can be
compared exactly.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from assay import events
from assay.analysis.arrays import IntArray
from assay.analysis.machines_of_set import machine_of, machines_of
from assay.analysis.merged import MergedRun
from assay.analysis.of_client import views_of
from assay.analysis.phase_tables import Counters, Tables, sections_of
from assay.analysis.recorded_operations import WHOLE_LOOP, Operation, operations_of, work_of
from assay.analysis.recorded_run import RecordedRun
from assay.analysis.rows import NO_ROWS, Rows, Span
from assay.analysis.set_times import PhaseOfSet, set_times
from assay.analysis.work_times import at_work_until_cut
from assay.bundle.client_set import ClientSet, Member
from assay.bundle.common_clock import common_clock
from assay.bundle.files import RunInfo
from assay.bundle.kept_marks import KeptMark
from assay.bundle.original import Original
from assay.bundle.remarks import Remarks
from assay.bundle.tables import COLUMNS
from assay.host.facts import Fact, FactValue
from assay.plan import Job, Phase, Plan
from assay.plan.op_rules import WRITES
from assay.plan.walk import job_ops, touched_sets
from assay.power_meter import PowerMeter


@dataclasses.dataclass(frozen=True)
class PhaseRecord:
    """One phase that started."""

    index: int
    phase: Phase
    start_ns: int
    finished: events.PhaseFinished | None
    found: events.WentWrong | events.PhaseFinished | None
    """The last report of what went wrong."""
    grid: tuple[Span, ...]
    """The intervals of the phase in order."""
    tables: Tables
    """Of the whole run."""
    residency: tuple[events.Residency, ...]
    warnings: tuple[events.Warning, ...]
    pauses: tuple[events.Paused, ...]
    steps: tuple[events.StepDone, ...]
    until_cut: tuple[Span, ...] = ()
    """Of a sum over clients that ends where one was lost: when each worker and each lost client was at work until then."""
    is_sum_of_clients: bool = False
    """Whether several clients did it."""
    common_ns: frozenset[int] = frozenset()
    """Of a sum over clients: times of its grid at which all of them counted. Who was paused did not."""

    @property
    def intervals(self) -> Rows:
        """Rows of the phase in `intervals`."""
        return self.tables.intervals.of_phase(self.index)

    @property
    def workers(self) -> Rows:
        """Rows of the phase in `workers`."""
        return self.tables.workers.of_phase(self.index)

    @property
    def counters(self) -> Counters:
        """Its part of `host`."""
        return self.tables.host.of_phase(self.index)

    @property
    def operation_rows(self) -> Mapping[tuple[str, ...], Rows]:
        """What each operation did, by job and operation."""
        return self.tables.intervals.by_name(self.index)

    @functools.cached_property
    def edges_ns(self) -> IntArray:
        """Begin of the first interval, then the ends of all."""
        return np.array([self.grid[0].begin_ns, *(interval.end_ns for interval in self.grid)], dtype=np.int64)

    @functools.cached_property
    def whole(self) -> Span:
        """From the counters' first sample to their last."""
        return Span(self.grid[0].begin_ns, self.grid[-1].end_ns)

    @functools.cached_property
    def operations(self) -> dict[str, dict[str, Operation]]:
        """Operations and groups that the Plan names, by job and name."""
        return {job.name: operations_of(job) for job in self.phase.jobs}

    def recorded(self, job: str) -> tuple[str, ...]:
        """Name the operations of a job that were recorded, in the order in which they were first seen."""
        return tuple(name for of, name in self.operation_rows if of == job)

    def rows(self, job: str, operation: str) -> Rows:
        """Give what one operation of a job did, interval by interval; `WHOLE_LOOP` is all of them."""
        if operation == WHOLE_LOOP:
            return NO_ROWS.also([self.rows(job, name) for name in self.counted_once(job)])
        return self.operation_rows.get((job, operation), NO_ROWS)

    def buckets(self, job: str, operation: str, series: str) -> Rows:
        """Give the filled buckets of one operation; `series` is `latency` or `response`."""
        if operation == WHOLE_LOOP:
            return NO_ROWS.also([self.buckets(job, name, series) for name in self.counted_once(job)])
        return self.tables.histograms.by_name(self.index).get((job, operation, series), NO_ROWS)

    def counted_once(self, job: str) -> tuple[str, ...]:
        """Name the recorded operations of a job, without groups of which members are recorded."""
        recorded, planned = self.recorded(job), self.operations.get(job, {})
        return tuple(
            name
            for name in recorded
            if name not in planned
            or not planned[name].is_group
            or not any(op.name in recorded for op in planned[name].members)
        )

    def moving(self, direction: str) -> tuple[tuple[Job, Operation], ...]:
        """Return the recorded operations that move data in a direction, each counted once."""
        found = []
        for job in self.phase.jobs:
            counted = self.counted_once(job.name)
            found += [
                (job, operation)
                for operation in self.operations[job.name].values()
                if operation.direction == direction and operation.name in counted
            ]
        return tuple(found)

    def moved_bytes(self, direction: str, span: Span) -> int:
        """Return what all recorded operations moved in a direction."""
        return sum(self.rows(job.name, op.name).total("bytes", span) for job, op in self.moving(direction))

    def workers_at(self, job: str, t_ns: int | None = None) -> dict[int, dict[str, Any]]:
        """Return the last sample of each worker of a job, up to a time if given, in the order of their numbers."""
        return {worker: row for worker, rows in self.workers_of(job).items() if (row := rows.last(t_ns)) is not None}

    def workers_of(self, job: str) -> dict[int, Rows]:
        """Return the samples of each worker of a job, in the order of their numbers."""
        samples = self.tables.workers.by_name(self.index)
        numbered = [(worker, rows) for (of, worker), rows in samples.items() if of == job]
        return dict(sorted(numbered, key=lambda pair: pair[0]))

    def job_facts(self, job: str) -> events.JobFacts | None:
        """Return what really happened below a job; None when the phase was cut."""
        jobs = self.finished.jobs if self.finished else ()
        return next((facts for facts in jobs if facts.job == job), None)

    def process_delta(self, span: Span, name: str) -> float | None:
        """Return the growth of one of the engine's own counters over a span."""
        return self.counters.delta(span, "process", "", name)


_E = TypeVar("_E")
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A run as it was read, cut into phases."""

    run_id: str
    path: Path
    is_sealed: bool
    info: RunInfo
    remarks: Remarks
    marks: tuple[KeptMark, ...]
    """As the user says, in the order of time."""
    plan: Plan
    sourced_facts: tuple[Fact, ...]
    """Facts of the environment, each with where it is from."""
    events: tuple[events.Event, ...]
    """Every event but the intervals, in order."""
    phases: tuple[PhaseRecord, ...]
    """Those that started."""
    original: Original | None = None
    """What another tool printed, of a run that Assay did not measure."""
    meter: PowerMeter | None = None
    """What a power meter read beside the run; it is in no bundle."""
    client_set: ClientSet | None = None
    """Of a run of several clients: then the phases are those of all together on one clock, as if one machine had done it."""
    members: tuple["ClientRecord", ...] = ()
    """Of such a run: what each of them recorded, observers too; of a lost one what is known."""
    machine: "SharedMachine | None" = dataclasses.field(default=None, compare=False, repr=False)
    """Of one of several clients that shares its machine with others of them: counters of the machine are of all of these."""
    of_set: Mapping[int, PhaseOfSet] = dataclasses.field(default_factory=dict)
    """Of such a run: by index of a phase, who is in its sum, and how the times of each stand to those of the set."""

    @functools.cached_property
    def facts(self) -> dict[str, FactValue]:
        """Values of the facts, by key."""
        return {fact.key: fact.value for fact in self.sourced_facts}

    @functools.cached_property
    def round_phases(self) -> frozenset[str]:
        """Names of the phases that are repeated in rounds."""
        if self.plan.rounds is None:
            return frozenset()
        return frozenset(phase.name for phase in self.plan.phases if phase.repeat)

    @functools.cached_property
    def left_out(self) -> frozenset[int]:
        """Places in the Plan of phases that were left out by an order."""
        places = range(len(self.plan.phases))
        return frozenset(
            index for event in self.all(events.Skipped) for index in places[event.phase_index : event.next_index]
        )

    @functools.cached_property
    def phases_by_index(self) -> Mapping[int, PhaseRecord]:
        """Those that started, by their place in the Plan."""
        return {record.index: record for record in self.phases}

    @functools.cached_property
    def members_by_name(self) -> Mapping[str, "ClientRecord"]:
        """Those of a run of several clients."""
        return {one.member.name: one for one in self.members}

    @functools.cached_property
    def by_work(self) -> Mapping[object, tuple[PhaseRecord, ...]]:
        """Phases of one job by what it does, however much of it at a time."""
        found: dict[object, tuple[PhaseRecord, ...]] = {}
        for record in self.phases:
            if len(record.phase.jobs) == 1:
                work = work_of(record.phase.jobs[0])
                found[work] = (*found.get(work, ()), record)
        return found

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Give what is worked out once for all results of the run."""
        if key not in self._made:
            self._made[key] = make()
        found: _T = self._made[key]
        return found

    @functools.cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def first(self, kind: type[_E]) -> _E | None:
        """Return the first event of a kind."""
        return next(iter(self.all(kind)), None)

    def all(self, kind: type[_E]) -> tuple[_E, ...]:
        """Return all events of a kind, in order."""
        return tuple(self._by_kind.get(kind, ()))

    @functools.cached_property
    def _by_kind(self) -> dict[type, list[Any]]:
        kinds: dict[type, list[Any]] = {}
        for event in self.events:
            kinds.setdefault(type(event), []).append(event)
        return kinds

    def target_fact(self, target: str, name: str) -> FactValue:
        """Return `target.TARGET.NAME`, or None."""
        return self.facts.get(f"target.{target}.{name}")

    def set_bytes(self, name: str) -> int | None:
        """Return the size of a file set as it was laid out last."""
        return self._set_bytes.get(name)

    @functools.cached_property
    def _set_bytes(self) -> dict[str, int]:
        return {event.set: event.bytes for event in self.all(events.Prepared)}

    def was_written(self, name: str, before: int) -> bool:
        """Whether a phase before that of an index wrote to a set."""
        return self._first_written.get(name, before) < before

    @functools.cached_property
    def _first_written(self) -> dict[str, int]:
        """Index of the first phase that writes to each set."""
        first: dict[str, int] = {}
        for index, phase in enumerate(self.plan.phases):
            for job in phase.jobs:
                for name in touched_sets(job, (op for op in job_ops(job) if op.op in WRITES)):
                    first.setdefault(name, index)
        return first


@dataclasses.dataclass(frozen=True)
class ClientRecord:
    """What one of several clients recorded."""

    member: Member
    run: RunRecord
    """By its own clock and with its own facts, as if it had been alone."""
    shift_ns: Mapping[int, int]
    """By index of a phase: what has to be added to its times to make them those of the set."""

    @functools.cached_property
    def host(self) -> Hashable:
        """Its machine: members that have the same are taken to share it."""
        return machine_of(self.member, self.run.first(events.Hello))


@dataclasses.dataclass(frozen=True, eq=False)
class SharedMachine:
    """The machine of one of several clients of a run, where others of them had it too; `shared_machine.py` adds them up."""

    client: str
    clients: Mapping[str, RunRecord]
    """What each of them recorded, by its own clock, this one too."""
    unheard: frozenset[str]
    """Those that were lost: what they did after their last word is not known."""
    of_set: Mapping[int, PhaseOfSet]
    """By index of a phase, how their times stand to those of the set."""
    totals: dict[Hashable, float | None]
    """What was added up before, for any of them."""

    @property
    def others(self) -> tuple[str, ...]:
        """Name the others."""
        return tuple(name for name in self.clients if name != self.client)


def read(run: RecordedRun) -> RunRecord:
    """Read a run and cut it into its phases; one of several clients as a whole, and each of them.

    Raises:
        BundleError: it cannot be read, or there are several clients and the offsets of their clocks are unknown.
    """
    found = run.client_set()
    return _read_alone(run) if found is None else _read_set(run, found)


def _read_set(run: RecordedRun, found: ClientSet) -> RunRecord:
    scans = {name: run.scan(name) for name in COLUMNS}
    sections = sections_of(scans, has_clients=True)
    views = views_of(run, found, scans)
    clock = common_clock(found, {name: view.happened for name, view in views.items()})
    times = set_times(found, views, scans, clock, run.plan.sample_interval_s)
    together = _read_alone(MergedRun(run, scans, sections, found, clients=views, times=times))
    happened = {name: view.happened for name, view in views.items()}
    alone = {name: _read_alone(view, Tables(sections, name)) for name, view in views.items()}
    machines = _shared_machines(machines_of(found, views), found, alone, times.phases)
    return dataclasses.replace(
        together,
        phases=tuple(
            dataclasses.replace(
                phase,
                until_cut=at_work_until_cut(times.phases[phase.index], happened),
                is_sum_of_clients=len(times.phases[phase.index].clients) > 1,
                common_ns=times.phases[phase.index].common_ns,
            )
            for phase in together.phases
        ),
        client_set=found,
        members=tuple(
            ClientRecord(
                member=member,
                run=dataclasses.replace(alone[member.name], machine=machines.get(member.name)),
                shift_ns={
                    index: one.shift.ns
                    for index, phase in times.phases.items()
                    if (one := phase.clients.get(member.name) or phase.observers.get(member.name)) is not None
                },
            )
            for member in found.members
        ),
        of_set=times.phases,
    )


def _shared_machines(
    machines: Iterable[Sequence[str]],
    found: ClientSet,
    alone: Mapping[str, RunRecord],
    of_set: Mapping[int, PhaseOfSet],
) -> dict[str, SharedMachine]:
    """Give the machine of each client that shares it."""
    lost = frozenset(one.name for one in found.members if one.lost is not None and not one.lost.is_collected)
    shared: dict[str, SharedMachine] = {}
    for names in machines:
        clients, totals = {name: alone[name] for name in names}, dict[Hashable, float | None]()
        shared |= {name: SharedMachine(name, clients, lost & frozenset(names), of_set, totals) for name in names}
    return shared


def _read_alone(run: RecordedRun, tables: Tables | None = None) -> RunRecord:
    happened = tuple(run.events())
    if tables is None:
        tables = Tables(sections_of({name: run.scan(name) for name in COLUMNS}))
    of_phase: dict[int, list[events.Event]] = {}
    for event in happened:
        index = getattr(event, "phase_index", None)
        if index is not None:
            of_phase.setdefault(index, []).append(event)
    started = {event.phase_index for event in happened if isinstance(event, events.Started)}
    started.update(tables.intervals.phases)
    phases = (_phase(run.plan, index, of_phase.get(index, []), tables) for index in sorted(started))
    return RunRecord(
        run_id=run.run_id,
        path=run.path,
        is_sealed=run.is_sealed,
        info=run.info,
        remarks=run.remarks,
        marks=tuple(run.marks),
        plan=run.plan,
        sourced_facts=tuple(run.facts),
        events=happened,
        phases=tuple(phase for phase in phases if phase is not None),
        original=run.original(),
    )


_REPORTS = (events.WentWrong, events.PhaseFinished)


def _phase(plan: Plan, index: int, of_phase: Sequence[events.Event], tables: Tables) -> PhaseRecord | None:
    grid = _grid(tables.intervals.by_name(index).values(), tables.host.of_phase(index))
    if not grid:
        return None
    started = next((event.start_ns for event in of_phase if isinstance(event, events.Started)), grid[0].begin_ns)
    finished = next((event for event in of_phase if isinstance(event, events.PhaseFinished)), None)
    return PhaseRecord(
        index=index,
        phase=plan.phases[index],
        start_ns=finished.start_ns if finished else started,
        finished=finished,
        found=next((event for event in reversed(of_phase) if isinstance(event, _REPORTS)), None),
        grid=grid,
        tables=tables,
        residency=tuple(event for event in of_phase if isinstance(event, events.Residency)),
        warnings=tuple(event for event in of_phase if isinstance(event, events.Warning)),
        pauses=tuple(event for event in of_phase if isinstance(event, events.Paused)),
        steps=tuple(event for event in of_phase if isinstance(event, events.StepDone)),
    )


def _grid(operations: Iterable[Rows], counters: Counters) -> tuple[Span, ...]:
    """Return the intervals of a phase.

    An interval in which nothing completed has no row among the operations, but its counters were sampled: the ticks are
    the union of both. The first tick holds the counters at the start and ends no interval.
    """
    times, lengths = [counters.times("process")], [np.zeros(0, dtype=np.int64)]
    for rows in operations:
        times.append(rows.t_ns)
        lengths.append(rows.column("dt_ns"))
    edges = np.unique(np.concatenate(times)).tolist()
    if edges:
        of_first = [
            int(length_ns[0])
            for t_ns, length_ns in zip(times[1:], lengths[1:], strict=True)
            if t_ns[0] == edges[0] and length_ns[0] > 0
        ]
        edges[:0] = [edges[0] - of_first[-1]] if of_first else []
    return tuple(Span(begin, end) for begin, end in itertools.pairwise(edges))
