"""When was what, in a run of several clients: one grid of intervals for a phase, and every client's place on it.

The time of the set is the leader's clock since the first engine spoke (`bundle/common_clock.py`). A phase begins when it was
to begin everywhere. A client's ticks are on a grid of its own, from its own start: tick `k` of the set is every client's
tick `k`, because the clients start within milliseconds. One that started later by more is put as many whole intervals later
on. Tick `k` of the set is at the mean time of the clients' ticks `k`: from the mean of their starts, less those whole
intervals, `k` intervals on, and by the mean of how late they then were. So a window is as long, in the mean, as what each
client counted in it. With ticks at their due times from the agreed start, clients that all start or count 10 ms late would
have 10 ms of operations too few in a window that begins there.
A tick is never before its time, and late by less than an interval, so that it is numbered by rounding down. One that ends
more than one interval ends a pause; it counts what was done before the pause, and no window begins or ends there.
The last tick of a phase may be anywhere: it has a place of its own where the one before has its place.

A phase's sum ends with the last interval of the first client that was lost in it, or before, where another was paused then:
beyond, it would be one of fewer clients.
A client that was lost is lost in a phase where its stream has no end of it, or the end is that of an engine that stopped
because its leader or its worker was gone; what was collected of it later reaches to there.
A client that did nothing in a phase is not in its sum, nor is one of which no interval is on record.
"""

import dataclasses
import functools
import statistics
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from assay import events
from assay.analysis.arrays import IntArray
from assay.analysis.of_client import ClientView
from assay.analysis.rows import NS_PER_S, in_time
from assay.bundle.client_set import ClientSet
from assay.bundle.common_clock import CommonClock
from assay.bundle.scan import Scan
from assay.bundle.tables import CLIENT, HOST, INTERVALS
from assay.clocks import Shift
from assay.plan import Closed, Plan

_CUT = frozenset({events.StoppedBy.CONTROL, events.StoppedBy.ERROR})
_EARLY = 0.1
"""Of an interval, by which a tick may be before its time: clocks are rounded."""


@dataclasses.dataclass(frozen=True)
class ClientPhase:
    """How the times of one client in one phase stand to those of the set."""

    start_ns: int
    """When it began, by its own clock since its hello."""
    begun_ns: int
    """When its first worker issued its first operation. When its start was ordered, where the load does not begin with one,
    as an open loop does not, and where of one client of the phase's sum only that is known."""
    shift: Shift
    """What has to be added to its times, at its start."""
    to_grid_ns: int
    """What has to be added to its times to have them on the grid of the set: the same but for how late it began."""
    is_finished: bool
    """Whether it came to the end of the phase."""
    own_ns: IntArray
    """Its ticks, by its own clock."""
    set_ns: IntArray
    """The same ticks on the grid of the set."""
    regular_ns: IntArray
    """Of these, those that end one interval, and no pause."""

    def to_set(self, own_ns: IntArray) -> IntArray:
        """Give the times of the set of some of its ticks."""
        if not len(self.own_ns):
            return own_ns + self.shift.ns
        found: IntArray = self.set_ns[np.searchsorted(self.own_ns, own_ns).clip(max=len(self.own_ns) - 1)]
        return found

    def to_own(self, set_ns: int) -> int:
        """Give the last of its ticks that is at a time of the set, or before it; its first where none is."""
        if not len(self.own_ns):
            return set_ns - self.shift.ns
        return int(self.own_ns[max(0, int(np.searchsorted(self.set_ns, set_ns, side="right")) - 1)])

    def late_ns(self, begin_ns: int) -> int:
        """Return how much later than a time of the set it began."""
        return self.begun_ns + self.shift.ns - begin_ns


@dataclasses.dataclass(frozen=True)
class PhaseOfSet:
    """One phase of a set that began."""

    index: int
    begin_ns: int
    """When it was to begin."""
    clients: Mapping[str, ClientPhase]
    """Those that its sum is of, in the order of the set."""
    observers: Mapping[str, ClientPhase]
    absent: tuple[str, ...]
    """Clients of the set that are not in the sum: lost before, or never begun."""
    cut_by: tuple[str, ...]
    """Clients of the sum whose streams do not have its end: it ends with the first of their last intervals."""
    grid_ns: int
    """Begin of the grid: the mean of the starts of the sum's clients."""
    edges_ns: IntArray
    """Times of the grid that a client counted at, up to where the sum ends."""

    @property
    def common_ns(self) -> frozenset[int]:
        """Edges at which all clients of the sum counted, and none what it had done before a pause."""
        of_each = [one.regular_ns for one in self.clients.values()]
        return frozenset(functools.reduce(np.intersect1d, of_each).tolist()) if of_each else frozenset()

    @property
    def is_whole(self) -> bool:
        """Whether the sum goes to the end of the phase for all that are in it."""
        return bool(self.clients) and not self.cut_by


@dataclasses.dataclass(frozen=True)
class SetTimes:
    """The times of a set."""

    clock: CommonClock
    phases: Mapping[int, PhaseOfSet]
    ticks: pl.DataFrame
    """Ticks of clients that are in the sum: `client`, `phase_index`, `t_ns` by the client's clock, `set_ns`."""


@dataclasses.dataclass(frozen=True)
class _Grid:
    """Where the intervals of a phase lie."""

    begin_ns: int
    interval_ns: int

    def intervals_before(self, client: ClientPhase) -> int:
        """Count the whole intervals that went by before a client started."""
        return max(0, round((client.start_ns + client.shift.ns - self.begin_ns) / self.interval_ns))

    def moved_to(self, clients: Sequence[ClientPhase]) -> "_Grid":
        """Give the grid from the mean of the clients' starts on, less the whole intervals before them."""
        starts_ns = [
            one.start_ns + one.shift.ns - self.intervals_before(one) * self.interval_ns - self.begin_ns
            for one in clients
        ]
        return (
            dataclasses.replace(self, begin_ns=self.begin_ns + round(statistics.fmean(starts_ns))) if clients else self
        )


def set_times(
    found: ClientSet,
    clients: Mapping[str, ClientView],
    scans: Mapping[str, Scan],
    clock: CommonClock,
    interval_s: float,
) -> SetTimes:
    """Put the ticks of all clients on the grids of the set; `scans` are the tables of all of them."""
    interval_ns = max(1, round(interval_s * NS_PER_S))
    lost = {member.name for member in found.members if member.lost is not None}
    begun = _begun(clients, clock, lost)
    agreed = {start.phase_index: clock.of_leader(start.at_ns) for start in found.starts}
    begins = {
        index: agreed[index] if index in agreed else min(one.start_ns + one.shift.ns for one in of.values())
        for index, of in begun.items()
    }
    grids = {index: _Grid(begin_ns, interval_ns) for index, begin_ns in begins.items()}
    ticks = _numbered(scans, begun, grids, interval_ns)
    loads = [member.name for member in found.loads]
    phases, kept = {}, []
    for index, rows in _by_phase(ticks).items():
        phase, of_sum = _phase(index, rows, begun[index], grids[index], loads)
        phases[index] = phase
        kept.append(of_sum)
    columns = [CLIENT, "phase_index", "t_ns", "set_ns"]
    of_sums = pl.concat(kept) if kept else ticks.with_columns(set_ns=pl.lit(0, pl.Int64))
    return SetTimes(clock, dict(sorted(phases.items())), of_sums.select(columns))


def _begun(
    clients: Mapping[str, ClientView], clock: CommonClock, lost: Collection[str]
) -> dict[int, dict[str, ClientPhase]]:
    """Find which clients began each phase, and when; those whose clocks are not known have no place in a sum."""
    nothing = np.empty(0, dtype=np.int64)
    found: dict[int, dict[str, ClientPhase]] = {}
    for name, view in clients.items():
        ended = {event.phase_index: event for event in view.happened if isinstance(event, events.PhaseFinished)}
        for event in view.happened:
            if not isinstance(event, events.Started) or (shift := clock.shift(name, event.start_ns)) is None:
                continue
            found.setdefault(event.phase_index, {})[name] = ClientPhase(
                start_ns=event.start_ns,
                begun_ns=max(event.start_ns, _first_op_ns(view.plan, ended.get(event.phase_index)) or 0),
                shift=shift,
                to_grid_ns=shift.ns,
                is_finished=_came_to_the_end(ended.get(event.phase_index), is_lost=name in lost),
                own_ns=nothing,
                set_ns=nothing,
                regular_ns=nothing,
            )
    return found


def _came_to_the_end(ended: events.PhaseFinished | None, *, is_lost: bool) -> bool:
    return ended is not None and not (is_lost and ended.stopped_by in _CUT)


def _first_op_ns(plan: Plan, ended: events.PhaseFinished | None) -> int | None:
    """Return when the first worker of the jobs that begin at once did so; None: there is none, or the phase has no end."""
    if ended is None:
        return None
    jobs = plan.phases[ended.phase_index].jobs
    at_once = {job.name for job in jobs if isinstance(job.arrival, Closed) and not job.delay_s}
    firsts = (window.first_op_ns for window in ended.workers if window.job in at_once)
    return min((first for first in firsts if first is not None), default=None)


def _numbered(
    scans: Mapping[str, Scan],
    begun: Mapping[int, Mapping[str, ClientPhase]],
    grids: Mapping[int, _Grid],
    interval_ns: int,
) -> pl.DataFrame:
    """Number every tick of every client.

    Columns: `client`, `phase_index`, `t_ns`; `since_ns` its start, which was `first` intervals after that of the set;
    `number`; `is_last` of its client's phase; `is_regular`: it ends one interval at most; `late_ns` after it was due.
    """
    starts = pl.DataFrame(
        [
            (name, index, one.start_ns, grids[index].intervals_before(one))
            for index, of in begun.items()
            for name, one in of.items()
        ],
        schema={CLIENT: pl.String, "phase_index": pl.Int32, "start_ns": pl.Int64, "first": pl.Int64},
        orient="row",
    )
    own = [part.unique() for part in scans[INTERVALS].parts(columns=[CLIENT, "phase_index", "t_s"])]
    own += [
        part.filter(pl.col("source") == "process").select(CLIENT, "phase_index", "t_s").unique()
        for part in scans[HOST].parts(columns=[CLIENT, "phase_index", "t_s", "source"])
    ]
    ticks = in_time(pl.concat(own).unique()).join(starts, on=[CLIENT, "phase_index"])
    of_client = [CLIENT, "phase_index"]
    since = pl.col("t_ns") - pl.col("start_ns")
    number = ((since / interval_ns + _EARLY).floor().cast(pl.Int64)).clip(lower_bound=0)
    return (
        ticks.with_columns(since_ns=since, number=number)
        .sort(*of_client, "t_ns")
        .with_columns(is_last=pl.col("t_ns") == pl.col("t_ns").max().over(of_client))
        .with_columns(
            number=pl.col("first")
            + pl.col("number")
            + (pl.col("is_last") & (pl.col("number") == pl.col("number").shift(1).over(of_client)))
            .fill_null(value=False)
            .cast(pl.Int64)
        )
        .with_columns(
            is_regular=pl.col("number") - pl.col("number").shift(1).over(of_client).fill_null(pl.col("first")) <= 1,
            late_ns=pl.col("since_ns") - (pl.col("number") - pl.col("first")) * interval_ns,
        )
        .select(*of_client, "t_ns", "since_ns", "first", "number", "is_last", "is_regular", "late_ns")
    )


def _by_phase(ticks: pl.DataFrame) -> dict[int, pl.DataFrame]:
    return {int(index): part for (index,), part in ticks.partition_by("phase_index", as_dict=True).items()}


def _phase(
    index: int, ticks: pl.DataFrame, begun: Mapping[str, ClientPhase], grid: _Grid, loads: Sequence[str]
) -> tuple[PhaseOfSet, pl.DataFrame]:
    """Return where a phase of a set lies; its ticks that are in the sum, with `set_ns`, too."""
    begin_ns = grid.begin_ns
    last = dict(ticks.group_by(CLIENT).agg(pl.col("number").max() - pl.col("first").min()).iter_rows())
    of_sum = [name for name in loads if name in last and (begun[name].is_finished or last[name] > 0)]
    cut_by = tuple(name for name in of_sum if not begun[name].is_finished)
    counted = ticks.filter(pl.col(CLIENT).is_in(of_sum))
    if cut_by:
        ends = counted.filter(pl.col(CLIENT).is_in(cut_by)).group_by(CLIENT).agg(pl.col("number").max())
        counted = counted.filter(pl.col("number") <= ends["number"].min())
        # What others counted across the end is not in the sum: it ends where all of them counted.
        common = counted.group_by("number").len().filter(pl.col("len") == len(of_sum))["number"]
        counted = counted.filter(pl.col("number") <= common.max()) if len(common) else counted
    before = {name: grid.intervals_before(one) for name, one in begun.items()}
    grid = grid.moved_to([begun[name] for name in of_sum])
    edges = _edges(counted, grid)
    placed = ticks.join(edges, on="number", how="left").with_columns(
        set_ns=pl.col("set_ns").fill_null(grid.begin_ns + pl.col("number") * grid.interval_ns)
    )
    of_client = placed.group_by(CLIENT).agg("t_ns", "set_ns", regular_ns=pl.col("set_ns").filter("is_regular"))
    ticks_of = {name: [one.to_numpy() for one in arrays] for name, *arrays in zip(*of_client, strict=True)}
    found = {
        name: dataclasses.replace(
            one,
            to_grid_ns=grid.begin_ns + before[name] * grid.interval_ns - one.start_ns,
            own_ns=ticks_of[name][0],
            set_ns=ticks_of[name][1],
            regular_ns=ticks_of[name][2],
        )
        for name, one in begun.items()
        if name in ticks_of
    }
    phase = PhaseOfSet(
        index=index,
        begin_ns=begin_ns,
        clients={
            name: dataclasses.replace(found[name], begun_ns=found[name].start_ns) if cut_by else found[name]
            for name in of_sum
        },
        observers={name: one for name, one in found.items() if name not in loads},
        absent=tuple(name for name in loads if name not in of_sum),
        cut_by=cut_by,
        grid_ns=grid.begin_ns,
        edges_ns=edges["set_ns"].to_numpy(),
    )
    return phase, counted.join(edges, on="number")


def _edges(counted: pl.DataFrame, grid: _Grid) -> pl.DataFrame:
    """Give the time of every number: the mean time of its ticks; where only last ticks are, that of the latest of them."""
    latest = (pl.col("since_ns") + pl.col("first") * grid.interval_ns).max()
    late = pl.col("late_ns").filter(pl.col("is_regular") & ~pl.col("is_last")).clip(lower_bound=0).mean().fill_null(0)
    edges = (
        counted.group_by("number").agg(is_end=pl.col("is_last").all(), latest_ns=latest, late_ns=late).sort("number")
    )
    mean = pl.col("number") * grid.interval_ns + pl.col("late_ns").round().cast(pl.Int64)
    end = pl.max_horizontal("latest_ns", mean.shift(1) + 1)
    return edges.select("number", set_ns=grid.begin_ns + pl.when(pl.col("is_end")).then(end).otherwise(mean))
