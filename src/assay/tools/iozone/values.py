"""The numbers of an IOzone text, counted from a run's phases.

    elapsed = sum of the latencies of what is timed: the records, with -e the fsync, with -c the close
    rate = whole records in KiB / elapsed, cut to a whole number

A test that was cut, or in which a record failed, has no number.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path

from assay import events
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.tools.iozone import single, throughput
from assay.tools.iozone.columns import Column, ThroughputTest
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.settings import Settings
from assay.tools.measured import WorkerTotals, totals, workers
from assay.tools.over_clients import Fold, has_sum

_TIMER_S = 1e-6
"""IOzone's clock counts microseconds; it divides by no less."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A run of IOzone's front end, ready to be printed."""

    record: RunRecord
    settings: Settings
    phases: dict[str, PhaseRecord]
    clients: int = 1
    """Children of `-+m` are counted as those of one."""

    @classmethod
    def of(cls, run: RunRecord, settings: Settings) -> "Measured":
        """Look at a run as IOzone's."""
        return cls(run, settings, {phase.phase.name: phase for phase in run.phases})

    @property
    def is_complete(self) -> bool:
        """Whether every phase of the Plan finished."""
        ended = sum(phase.finished is not None for phase in self.phases.values())
        return ended == len(self.record.plan.phases) and not self._was_stopped

    @property
    def _was_stopped(self) -> bool:
        finished = self.record.first(events.Finished)
        return finished is None or finished.outcome is not events.Outcome.COMPLETE

    @functools.cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that have phases of their own."""
        return self.settings.measured()

    # -- one stream ----------------------------------------------------------------------------------------------------

    def value(self, column: Column, cell: Cell) -> int | None:
        """Give the number of a column in a row; 0 where the test is left out, None where it has no number yet."""
        if column not in self.columns:
            return 0
        phase = self.phases.get(single.phase_name(column, cell))
        if phase is None:
            return None
        done = totals(phase, column.key)
        if done.ops < cell.records or done.errors:
            return None
        return self._number(cell, self.elapsed_s(phase, cell))

    def elapsed_s(self, phase: PhaseRecord, cell: Cell) -> float:
        """Give the time that the test took."""
        job = phase.phase.jobs[0]
        if job.queue_depth > 1:
            # What is in flight together overlaps: from the first issue to the last completion.
            elapsed_s = sum(worker.seconds for worker in workers(phase)[:1])
        else:
            elapsed_s = sum(totals(phase, name).seconds for name in job.timed)
        if self.settings.compute_counts:
            elapsed_s += cell.records * self.settings.compute_ms / 1000
        return elapsed_s

    def _number(self, cell: Cell, elapsed_s: float) -> int:
        elapsed_s = max(elapsed_s, _TIMER_S)
        if self.settings.microseconds:
            return math.floor(elapsed_s / cell.records * 1e6)
        amount = cell.records if self.settings.ops_per_s else cell.file_bytes / 1024
        return math.floor(amount / elapsed_s)

    def is_below_timer(self, cell: Cell) -> bool:
        """Return whether a test of a cell took less than IOzone's clock resolves."""
        phases = (self.phases.get(single.phase_name(column, cell)) for column in self.columns)
        return any(phase is not None and 0 < self.elapsed_s(phase, cell) < _TIMER_S for phase in phases)

    # -- throughput ----------------------------------------------------------------------------------------------------

    def sums(self, load: ThroughputTest, count: int) -> "Sums | None":
        """Give the numbers of a test with N children; None where it was not ended."""
        phase = self.phases.get(throughput.phase_name(load, count))
        if phase is None or phase.finished is None:
            return None
        return dataclasses.replace(sums_of(phase, self.settings, count), is_sum=has_sum(self.record, phase))


@dataclasses.dataclass(frozen=True)
class OverClients:
    """Several clients as one: a cell folded, the children of all together."""

    parts: tuple[Measured, ...]
    """Of each client."""
    record: RunRecord
    """Of all together."""
    fold: Fold = Fold.MEAN

    @property
    def settings(self) -> Settings:
        """What was asked for, of each client."""
        return self.parts[0].settings

    @property
    def clients(self) -> int:
        """Clients that each did it."""
        return len(self.parts)

    @property
    def is_complete(self) -> bool:
        """Whether all clients finished."""
        return all(part.is_complete for part in self.parts)

    def value(self, column: Column, cell: Cell) -> int | None:
        """Fold the clients' printed numbers; None where one has none."""
        values = [value for part in self.parts if (value := part.value(column, cell)) is not None]
        if len(values) < len(self.parts):
            return None
        return math.floor((self.fold.time if self.settings.microseconds else self.fold.rate)(values))

    def is_below_timer(self, cell: Cell) -> bool:
        """Return whether a test of a cell took a client less than IOzone's clock resolves."""
        return any(part.is_below_timer(cell) for part in self.parts)

    def sums(self, load: ThroughputTest, count: int) -> "Sums | None":
        """Give the numbers of the children of all clients; None where a client has not ended the test."""
        found = [sums for part in self.parts if (sums := part.sums(load, count)) is not None]
        name = throughput.phase_name(load, count)
        phase = next((phase for phase in self.record.phases if phase.phase.name == name), None)
        if phase is None or len(found) < len(self.parts):
            return None
        children = tuple(child for sums in found for child in sums.children)
        return Sums(children, max(sums.parent_s for sums in found), has_sum(self.record, phase))


Numbers = Measured | OverClients
"""What is printed: the numbers of one client, or those of several."""


@dataclasses.dataclass(frozen=True)
class Child:
    """What one child did, in KiB or operations."""

    amount: float
    seconds: float

    @property
    def rate(self) -> float:
        """Amount by time."""
        return self.amount / self.seconds if self.seconds > 0 else 0.0


@dataclasses.dataclass(frozen=True)
class Sums:
    """A test of the throughput mode."""

    children: tuple[Child, ...]
    parent_s: float
    """From the start until all children were done, flush and close included."""
    is_sum: bool = True
    """Whether the children worked together long enough for sums of their rates."""

    @property
    def total(self) -> float | None:
        """Sum of the children's rates."""
        return sum(child.rate for child in self.children) if self.is_sum else None

    @property
    def parent(self) -> float | None:
        """What all did by the time of all."""
        if not self.is_sum:
            return None
        return sum(child.amount for child in self.children) / self.parent_s if self.parent_s > 0 else 0.0

    @property
    def slowest(self) -> float:
        """Give the smallest rate as IOzone finds it: children at 0 are passed over while nothing else was seen."""
        return _least([child.rate for child in self.children])

    @property
    def least_amount(self) -> float:
        """Give the smallest amount, found the same way."""
        return _least([child.amount for child in self.children])

    @property
    def fastest(self) -> float:
        """Largest rate."""
        return max((child.rate for child in self.children), default=0.0)

    @property
    def mean(self) -> float:
        """Mean rate."""
        return sum(child.rate for child in self.children) / len(self.children) if self.children else 0.0


def _least(values: list[float]) -> float:
    least = 0.0
    for value in values:
        if least == 0 or value < least:
            least = value
    return least


def sums_of(phase: PhaseRecord, settings: Settings, count: int) -> Sums:
    """Count a phase by children.

    The time of a child is that between its first and its last record, less its part of what was no call: the content of
    writes is made between the calls, and -J computes there. That part is measured for the children of a job together.
    """
    cell = throughput.cell_of(settings, count)
    done = workers(phase)
    children: dict[int, Child] = {}
    # Only how the children are divided matters here, not where their files are.
    for group in throughput.children_of(settings, count, Path("/")):
        mine = [worker for worker in done if worker.job == group.job]
        in_calls = _share_of_calls(phase, group.job, mine)
        for worker in mine:
            records = worker.bytes // cell.record_bytes
            computed_s = records * settings.compute_ms / 1000 if settings.compute_counts else 0.0
            amount = records if settings.ops_per_s else records * cell.record_kib
            children[group.numbers[worker.worker]] = Child(amount, worker.seconds * in_calls + computed_s)
    flushed_s = sum(step.seconds for step in phase.steps if step.step == "sync")
    wall_s = (phase.finished.t_ns - phase.start_ns) / NS_PER_S if phase.finished else 0.0
    return Sums(tuple(children[number] for number in sorted(children)), wall_s + flushed_s)


def _share_of_calls(phase: PhaseRecord, job_name: str, mine: Sequence[WorkerTotals]) -> float:
    """Give the share of the children's time that they spent in calls."""
    job = next(job for job in phase.phase.jobs if job.name == job_name)
    windows_s = sum(worker.seconds for worker in mine)
    if windows_s <= 0 or job.queue_depth > 1:
        return 1.0
    return min(1.0, sum(totals(phase, timed, job_name).seconds for timed in job.timed) / windows_s)
