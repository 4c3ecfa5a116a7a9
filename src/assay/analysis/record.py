"""What was recorded, cut into phases: the input of every judgement, table and figure.

A command reads a run once, with `read`, and hands what it got to all who say something about it.

Times are integer nanoseconds since the engine's hello (`t_ns`), made from the tables' `t_s`, so that they can be
compared exactly.
"""

import bisect
import dataclasses
import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl

from assay import events
from assay.plan import Phase, Plan

NS_PER_S = 1_000_000_000

FactValue = str | int | float | bool | tuple[str, ...] | None


class RecordedFact(Protocol):
    """A fact of the environment with its source."""

    @property
    def key(self) -> str:
        """Dotted name."""

    @property
    def value(self) -> FactValue:
        """None: not known, the source says why."""

    @property
    def source(self) -> str:
        """Where it is from: a path, `user`, or `n/a: reason`."""


class RecordedInfo(Protocol):
    """Who ran what, when."""

    @property
    def command(self) -> str:
        """Shell-quoted command line."""

    @property
    def started_utc(self) -> str:
        """ISO 8601."""

    @property
    def seconds(self) -> float | None:
        """None while it runs, or when it died."""

    @property
    def exit_code(self) -> int | None:
        """Of the error that ended it early; None when it ended by itself, runs or died."""

    @property
    def assay_version(self) -> str:
        """Version of Assay that made the run."""

    @property
    def note(self) -> str:
        """The operator's note; empty if there is none."""


class RecordedRun(Protocol):
    """What is read of a run: the reading half of `assay.bundle.RunBundle`, or a run in memory."""

    @property
    def path(self) -> Path:
        """Where it is kept."""

    @property
    def run_id(self) -> str:
        """Name of its folder."""

    @property
    def is_sealed(self) -> bool:
        """Whether it is complete and will not change."""

    @property
    def info(self) -> RecordedInfo:
        """Who ran what, when."""

    @property
    def plan(self) -> Plan:
        """The Plan after defaults."""

    @property
    def facts(self) -> Sequence[RecordedFact]:
        """Facts of the environment."""

    def events(self) -> list[events.Event]:
        """Return every event but the intervals, in order."""

    def intervals(self) -> pl.DataFrame:
        """Return operations by interval."""

    def histograms(self) -> pl.DataFrame:
        """Return latency buckets by interval."""

    def workers(self) -> pl.DataFrame:
        """Return worker samples."""

    def host(self) -> pl.DataFrame:
        """Return host counters."""


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of time: `begin_ns` to `end_ns`."""

    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Length."""
        return (self.end_ns - self.begin_ns) / NS_PER_S


@dataclasses.dataclass(frozen=True)
class PhaseRecord:
    """One phase that started."""

    index: int
    phase: Phase
    start_ns: int
    finished: events.PhaseFinished | None
    grid: tuple[Span, ...]
    """The intervals of the phase in order."""
    intervals: pl.DataFrame
    histograms: pl.DataFrame
    workers: pl.DataFrame
    host: pl.DataFrame
    residency: tuple[events.Residency, ...]
    warnings: tuple[events.Warning, ...]
    steps: tuple[events.StepDone, ...]

    @property
    def whole(self) -> Span:
        """From the counters' first sample to their last."""
        return Span(self.grid[0].begin_ns, self.grid[-1].end_ns)

    def job_facts(self, job: str) -> events.JobFacts | None:
        """Return what really happened below a job; None when the phase was cut."""
        jobs = self.finished.jobs if self.finished else ()
        return next((facts for facts in jobs if facts.job == job), None)

    def host_delta(self, span: Span, source: str, instance: str, name: str) -> float | None:
        """Return the growth of a counter over a span; None when it was not sampled at the begin or not at all."""
        times, values = self._counters.get((source, instance, name), ((), ()))
        before, until = bisect.bisect_right(times, span.begin_ns), bisect.bisect_right(times, span.end_ns)
        if not before:
            return None
        first, last = values[before - 1], values[until - 1]
        return None if first is None or last is None else last - first

    @functools.cached_property
    def _counters(self) -> dict[tuple[str, str, str], tuple[list[int], list[float | None]]]:
        """Every counter with its samples in order: a filter of the table for each question would cost far more."""
        counters: dict[tuple[str, str, str], tuple[list[int], list[float | None]]] = {}
        columns = ("source", "instance", "name", "t_ns", "value")
        for source, instance, name, t_ns, value in self.host.select(columns).sort("t_ns").iter_rows():
            times, values = counters.setdefault((source, instance, name), ([], []))
            times.append(t_ns)
            values.append(value)
        return counters

    def process_delta(self, span: Span, name: str) -> float | None:
        """Return the growth of one of the engine's own counters over a span."""
        return self.host_delta(span, "process", "", name)


_E = TypeVar("_E")


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A run as it was read, cut into phases."""

    run_id: str
    path: Path
    is_sealed: bool
    info: RecordedInfo
    plan: Plan
    sourced_facts: tuple[RecordedFact, ...]
    """Facts of the environment, each with where it is from."""
    events: tuple[events.Event, ...]
    """Every event but the intervals, in order."""
    phases: tuple[PhaseRecord, ...]
    """Those that started."""

    @functools.cached_property
    def facts(self) -> dict[str, FactValue]:
        """Values of the facts, by key."""
        return {fact.key: fact.value for fact in self.sourced_facts}

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
        sizes = [event.bytes for event in self.all(events.Prepared) if event.set == name]
        return sizes[-1] if sizes else None


def read(run: RecordedRun) -> RunRecord:
    """Read a run and cut it into its phases."""
    happened = tuple(run.events())
    tables = tuple(
        _by_phase(_with_ns(table)) for table in (run.intervals(), run.histograms(), run.workers(), run.host())
    )
    of_phase: dict[int, list[events.Event]] = {}
    for event in happened:
        index = getattr(event, "phase_index", None)
        if index is not None:
            of_phase.setdefault(index, []).append(event)
    started = {event.phase_index for event in happened if isinstance(event, events.Started)}
    started |= tables[0].keys()
    phases = (_phase(run.plan, index, of_phase.get(index, []), tables) for index in sorted(started))
    return RunRecord(
        run_id=run.run_id,
        path=run.path,
        is_sealed=run.is_sealed,
        info=run.info,
        plan=run.plan,
        sourced_facts=tuple(run.facts),
        events=happened,
        phases=tuple(phase for phase in phases if phase is not None),
    )


class _Parts(dict[int, pl.DataFrame]):
    """A table, cut by phase; a phase that has no row has an empty part."""

    def __init__(self, parts: dict[int, pl.DataFrame], empty: pl.DataFrame) -> None:
        super().__init__(parts)
        self._empty = empty

    def __missing__(self, key: int) -> pl.DataFrame:
        return self._empty


def _by_phase(table: pl.DataFrame) -> _Parts:
    # One pass over the table: a filter for each of a thousand phases would read it a thousand times.
    parts = table.partition_by("phase_index", as_dict=True, maintain_order=True)
    return _Parts({int(key[0]): part for key, part in parts.items()}, table.clear())


def _with_ns(table: pl.DataFrame) -> pl.DataFrame:
    columns = [(pl.col("t_s") * NS_PER_S).round().cast(pl.Int64).alias("t_ns")]
    if "dt_s" in table.columns:
        columns.append((pl.col("dt_s") * NS_PER_S).round().cast(pl.Int64).alias("dt_ns"))
    return table.with_columns(columns)


def _phase(plan: Plan, index: int, of_phase: Sequence[events.Event], tables: tuple[_Parts, ...]) -> PhaseRecord | None:
    intervals, histograms, workers, host = (table[index] for table in tables)
    grid = _grid(intervals, host)
    if not grid:
        return None
    started = next((event.start_ns for event in of_phase if isinstance(event, events.Started)), grid[0].begin_ns)
    finished = next((event for event in of_phase if isinstance(event, events.PhaseFinished)), None)
    return PhaseRecord(
        index=index,
        phase=plan.phases[index],
        start_ns=finished.start_ns if finished else started,
        finished=finished,
        grid=grid,
        intervals=intervals,
        histograms=histograms,
        workers=workers,
        host=host,
        residency=tuple(event for event in of_phase if isinstance(event, events.Residency)),
        warnings=tuple(event for event in of_phase if isinstance(event, events.Warning)),
        steps=tuple(event for event in of_phase if isinstance(event, events.StepDone)),
    )


def _grid(intervals: pl.DataFrame, host: pl.DataFrame) -> tuple[Span, ...]:
    """Return the intervals of a phase.

    An interval in which nothing completed has no row among the operations, but its counters were sampled: the ticks are
    the union of both. The first tick holds the counters at the start and ends no interval.
    """
    ticks = set(intervals["t_ns"].to_list()) | set(host.filter(source="process")["t_ns"].to_list())
    lengths = {row[0]: row[1] for row in intervals.select("t_ns", "dt_ns").iter_rows() if row[1] > 0}
    edges = sorted(ticks)
    if edges and edges[0] in lengths:
        edges.insert(0, edges[0] - lengths[edges[0]])
    return tuple(Span(begin, end) for begin, end in itertools.pairwise(edges))
