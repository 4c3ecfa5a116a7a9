"""The totals of a PostMark run, phase by phase: what its text, its rates and its figures are made from."""

import dataclasses
from collections.abc import Mapping

from assay import events
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.tools import measured
from assay.tools.postmark.plan import TRANSACTIONS, TRANSACTIONS_DONE
from assay.tools.postmark.sequence import APPEND, CREATE, DELETE, READ
from assay.tools.postmark.settings import Settings


@dataclasses.dataclass(frozen=True)
class PartTotals:
    """One phase of a run: what was done in it, and how long it took."""

    seconds: float
    ops: dict[str, int]
    bytes: dict[str, int]
    is_complete: bool

    def count(self, kind: str) -> int:
        """Count the operations of a kind that succeeded."""
        return self.ops.get(kind, 0)


_NOTHING = PartTotals(seconds=0.0, ops={}, bytes={}, is_complete=False)


@dataclasses.dataclass(frozen=True)
class RunTotals:
    """A run as PostMark sees it."""

    settings: Settings
    begin_s: float
    """Time of day, in seconds since 1970, when the first file was made."""
    parts: dict[str, PartTotals]
    """By phase; none for what never began."""
    planned: frozenset[str]
    """Phases that have anything to do."""
    counts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """What the front end counted: see `plan.py`."""

    def part(self, phase: str) -> PartTotals:
        """Return a phase, of zeros where it never began."""
        return self.parts.get(phase, _NOTHING)

    def count(self, kind: str) -> int:
        """Count the operations of a kind over the whole run."""
        return sum(part.count(kind) for part in self.parts.values())

    def bytes(self, *kinds: str) -> int:
        """Sum the bytes moved by operations of some kinds."""
        return sum(part.bytes.get(kind, 0) for part in self.parts.values() for kind in kinds)

    def is_complete(self, phase: str) -> bool:
        """Return whether a phase did all that it had to do."""
        return phase not in self.planned or self.part(phase).is_complete

    @property
    def seconds(self) -> float:
        """Of all phases, without what is between them."""
        return sum(part.seconds for part in self.parts.values())

    @property
    def planned_transactions(self) -> int:
        """Transactions that there are files for: all that were asked for, unless the files run out before."""
        return int(self.counts.get(TRANSACTIONS_DONE, self.settings.transactions))

    @property
    def ran_out(self) -> bool:
        """Whether the files ran out before the transactions did: then nothing is left to delete."""
        return self.is_complete(TRANSACTIONS) and self.planned_transactions < self.settings.transactions

    @property
    def transactions(self) -> int:
        """Transactions that were executed, or those that the operations done show."""
        if self.is_complete(TRANSACTIONS):
            return self.planned_transactions
        done = self.part(TRANSACTIONS)
        of_data, of_files = done.count(READ) + done.count(APPEND), done.count(CREATE) + done.count(DELETE)
        return max(of_data, of_files)


def totals_of(run: RunRecord, settings: Settings) -> RunTotals:
    """Sum a run up; one that was cut is what it had measured."""
    hello = run.first(events.Hello)
    begin_ns = _begin_ns(run.phases[0]) if run.phases else 0
    return RunTotals(
        settings=settings,
        begin_s=((hello.clock.realtime_at_zero_ns if hello else 0) + begin_ns) / NS_PER_S,
        parts={phase.phase.name: _part(phase) for phase in run.phases},
        planned=frozenset(phase.name for phase in run.plan.phases),
        counts=run.plan.origin.counts,
    )


def _begin_ns(phase: PhaseRecord) -> int:
    begins = [worker.first_op_ns for worker in measured.workers(phase) if worker.first_op_ns is not None]
    return min(begins, default=phase.start_ns)


def _part(phase: PhaseRecord) -> PartTotals:
    of_workers = [worker.seconds for worker in measured.workers(phase)]
    sums = {kind: measured.totals(phase, kind) for kind in (CREATE, READ, APPEND, DELETE)}
    return PartTotals(
        seconds=max(of_workers, default=phase.whole.seconds),
        ops={kind: total.ops for kind, total in sums.items()},
        bytes={kind: total.bytes for kind, total in sums.items()},
        is_complete=phase.finished is not None and phase.finished.stopped_by is events.StoppedBy.EXHAUSTED,
    )
