"""What a run of bigdir measured, step by step: the formulas of its columns, and what lies behind them.

After step k there are n = k * STEP entries. Of each client the bundle has, by laps, the sum of the create times of
each step and the time of each listing, so

    mean create time up to n = sum of the create times of steps 1 to k / n        (a running mean)
    enumeration time         = the time of the one listing at n
    time per entry           = enumeration time / n

in whole nanoseconds up to the one division at the end. A client's steps count up to the first that is missing or had a
failure: from there on the number of entries is unknown.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay import events
from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.record import RunRecord
from assay.tools.bigdir.plan import LISTING, MAKING
from assay.tools.bigdir.settings import Settings
from assay.tools.over_clients import Fold

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class StepRow:
    """A line of the tool's table, times in milliseconds."""

    entries: int
    create_ms: float
    """Mean of all creates until then."""
    enumeration_ms: float
    enumeration_per_entry_ms: float


@dataclass(frozen=True)
class Client:
    """The whole steps of one client; arrays of shape `(steps,)`."""

    name: str
    step: int
    making_ns: IntArray
    """Sum of the create times of each step."""
    listing_ns: IntArray
    """Time of each enumeration."""
    end_ns: IntArray
    """End of each enumeration, since the engine's hello."""

    @property
    def entries(self) -> IntArray:
        """Entries in the directory at each enumeration."""
        return self.step * np.arange(1, len(self.making_ns) + 1)

    @property
    def create_ns(self) -> FloatArray:
        """Mean create time of each step alone."""
        return self.making_ns / self.step

    @property
    def listing_per_entry_ns(self) -> FloatArray:
        """Enumeration time by entry."""
        return self.listing_ns / self.entries

    def rows(self) -> list[StepRow]:
        """Compute the table."""
        sums = itertools.accumulate(self.making_ns.tolist())
        return [
            StepRow(
                entries=entries,
                create_ms=made_ns / entries / _NS_PER_MS,
                enumeration_ms=listing_ns / _NS_PER_MS,
                enumeration_per_entry_ms=listing_ns / entries / _NS_PER_MS,
            )
            for entries, made_ns, listing_ns in zip(self.entries.tolist(), sums, self.listing_ns.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class Steps:
    """What a run measured."""

    settings: Settings
    clients: tuple[Client, ...]

    @property
    def common(self) -> int:
        """Steps that every client has."""
        return min((len(client.making_ns) for client in self.clients), default=0)

    def count_contended(self) -> int:
        """Give the entries up to which all clients were at work: what each had when the first was through."""
        if not self.common:
            return 0
        first_end_ns = min(int(client.end_ns[-1]) for client in self.clients)
        return min(self.settings.step * int((client.end_ns <= first_end_ns).sum()) for client in self.clients)

    def mean_rows(self) -> list[StepRow]:
        """Average the rows of all clients, at the entries that every client reached."""
        by_client = [client.rows()[: self.common] for client in self.clients]
        return [fold_rows(rows, Fold.MEAN) for rows in zip(*by_client, strict=True)]


def fold_rows(rows: Sequence[StepRow], fold: Fold) -> StepRow:
    """Fold the rows of several at the same entries, each time by itself."""
    return StepRow(
        entries=rows[0].entries,
        create_ms=fold.time([row.create_ms for row in rows]),
        enumeration_ms=fold.time([row.enumeration_ms for row in rows]),
        enumeration_per_entry_ms=fold.time([row.enumeration_per_entry_ms for row in rows]),
    )


def steps(run: RunRecord, settings: Settings) -> Steps:
    """Find the steps of a run, whole or cut."""
    jobs = [job.name for phase in run.plan.phases for job in phase.jobs]
    counted: dict[tuple[str, str], dict[int, tuple[int, int | None]]] = {}
    for laps in run.all(events.Laps):
        known = counted.setdefault((laps.job, laps.group), {})
        known |= dict(zip(laps.number, zip(laps.end_ns, laps.latency_ns, strict=True), strict=True))
    clients = (
        _client(job, settings.step, counted.get((job, MAKING), {}), counted.get((job, LISTING), {})) for job in jobs
    )
    return Steps(settings=settings, clients=tuple(clients))


def _client(
    name: str, step: int, making: dict[int, tuple[int, int | None]], listing: dict[int, tuple[int, int | None]]
) -> Client:
    making_ns, listing_ns, ends = [], [], []
    for number in itertools.count():
        _, made = making.get(number, (0, None))
        end_ns, listed = listing.get(number, (0, None))
        if made is None or listed is None:
            break
        making_ns.append(made)
        listing_ns.append(listed)
        ends.append(end_ns)
    return Client(
        name=name,
        step=step,
        making_ns=np.array(making_ns, dtype=np.int64),
        listing_ns=np.array(listing_ns, dtype=np.int64),
        end_ns=np.array(ends, dtype=np.int64),
    )
