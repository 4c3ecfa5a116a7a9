"""One client of a run of several, read as if it had been alone: its events, its rows of the tables, its facts."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from assay import events
from assay.analysis.recorded_run import RecordedRun
from assay.analysis.workers_of_plan import Workers, with_workers
from assay.bundle.client_set import ClientSet, Member
from assay.bundle.files import RunInfo
from assay.bundle.kept_marks import KeptMark
from assay.bundle.original import Original
from assay.bundle.remarks import Remarks
from assay.bundle.tables import CLIENT, HISTOGRAMS, HOST, INTERVALS, WORKERS
from assay.host.facts import DEVICE_FACT, LINK_FACT, Fact
from assay.plan import Plan

_OF_USER = frozenset({LINK_FACT, DEVICE_FACT})
"""What the user says once, of every client."""


@dataclasses.dataclass(frozen=True)
class ClientView:
    """A client's part of the record of a set."""

    whole: RecordedRun
    member: Member
    plan: Plan
    tables: Mapping[str, pl.DataFrame]
    happened: Sequence[events.Event]

    @property
    def path(self) -> Path:
        """Where the run is kept."""
        return self.whole.path

    @property
    def run_id(self) -> str:
        """Name of the run's folder."""
        return self.whole.run_id

    @property
    def is_sealed(self) -> bool:
        """Whether the run is complete."""
        return self.whole.is_sealed

    @property
    def info(self) -> RunInfo:
        """Who ran it, when."""
        return self.whole.info

    @property
    def remarks(self) -> Remarks:
        """What the user calls the run."""
        return self.whole.remarks

    @property
    def marks(self) -> Sequence[KeptMark]:
        """None: they are on the clock of the set."""
        return ()

    @property
    def facts(self) -> Sequence[Fact]:
        """Of its machine and targets, and what the user says of every client's link and devices."""
        own = {fact.key for fact in self.member.facts}
        said = (fact for fact in self.whole.facts if fact.key in _OF_USER and fact.key not in own)
        return (*self.member.facts, *said)

    @property
    def clients(self) -> Sequence[str]:
        """Its own name."""
        return (self.member.name,)

    def client_set(self) -> None:
        """Say that it is read as one that was alone."""

    def events(self, client: str | None = None) -> list[events.Event]:  # noqa: ARG002 - there is only this one
        """Return every event of its stream but the intervals."""
        return list(self.happened)

    def original(self) -> Original | None:
        """Return nothing: Assay measured it."""
        return None

    def intervals(self) -> pl.DataFrame:
        """Return its operations by interval."""
        return self.tables[INTERVALS]

    def histograms(self) -> pl.DataFrame:
        """Return its latency buckets by interval."""
        return self.tables[HISTOGRAMS]

    def workers(self) -> pl.DataFrame:
        """Return samples of its workers."""
        return self.tables[WORKERS]

    def host(self) -> pl.DataFrame:
        """Return counters of its machine."""
        return self.tables[HOST]


def tables_of(run: RecordedRun) -> dict[str, pl.DataFrame]:
    """Read the tables of a run, by name."""
    return {INTERVALS: run.intervals(), HISTOGRAMS: run.histograms(), WORKERS: run.workers(), HOST: run.host()}


def views_of(run: RecordedRun, found: ClientSet, whole: Mapping[str, pl.DataFrame]) -> dict[str, ClientView]:
    """Take a run of a set apart: a view of each member, in the order of the set; of one without a stream an empty one.

    Args:
        run: Of several clients.
        found: Who they are.
        whole: The tables of all of them.
    """
    parts = {name: _by_client(table) for name, table in whole.items()}
    workers = _workers(whole[WORKERS])
    there = frozenset(run.clients)
    return {
        member.name: ClientView(
            whole=run,
            member=member,
            plan=with_workers(run.plan, workers.get(member.name, {})),
            tables={name: of.get(member.name, whole[name].clear()) for name, of in parts.items()},
            happened=tuple(run.events(member.name)) if member.name in there else (),
        )
        for member in found.members
    }


def _by_client(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(name): part for (name,), part in table.partition_by(CLIENT, as_dict=True).items()}


def _workers(samples: pl.DataFrame) -> dict[str, Workers]:
    """Count the workers that each client had, by phase and job."""
    counted = samples.group_by(CLIENT, "phase_index", "job").agg(pl.col("worker").n_unique())
    found: dict[str, dict[tuple[int, str], int]] = {}
    for client, index, job, count in counted.iter_rows():
        found.setdefault(client, {})[index, job] = count
    return dict(found)
