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
from assay.bundle.scan import HeldTable, Scan
from assay.bundle.tables import CLIENT, WORKERS
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
        stated = (fact for fact in self.whole.facts if fact.key in _OF_USER and fact.key not in own)
        return (*self.member.facts, *stated)

    @property
    def clients(self) -> Sequence[str]:
        """Its own name."""
        return (self.member.name,)

    def client_set(self) -> None:
        """Report that it is read as one that was alone."""

    def events(self, client: str | None = None) -> list[events.Event]:  # noqa: ARG002 - there is only this one
        """Return every event of its stream but the intervals."""
        return list(self.happened)

    def original(self) -> Original | None:
        """Return nothing: Assay measured it."""
        return None

    def scan(self, name: str) -> Scan:
        """Return the rows of its stream in a table."""
        rows = (part.filter(pl.col(CLIENT) == self.member.name) for part in self.whole.scan(name).parts())
        return HeldTable(pl.concat(rows))


def views_of(run: RecordedRun, found: ClientSet, scans: Mapping[str, Scan]) -> dict[str, ClientView]:
    """Take a run of a set apart: a view of each member, in the order of the set; of one without a stream an empty one.

    Args:
        run: Of several clients.
        found: Who they are.
        scans: The tables of all of them.
    """
    workers = _workers(scans[WORKERS])
    there = frozenset(run.clients)
    return {
        member.name: ClientView(
            whole=run,
            member=member,
            plan=with_workers(run.plan, workers.get(member.name, {})),
            happened=tuple(run.events(member.name)) if member.name in there else (),
        )
        for member in found.members
    }


def _workers(samples: Scan) -> dict[str, Workers]:
    """Count the workers that each client had, by phase and job."""
    of_job = [CLIENT, "phase_index", "job"]
    named = pl.concat(part.unique() for part in samples.parts(columns=[*of_job, "worker"]))
    counted = named.group_by(of_job).agg(pl.col("worker").n_unique())
    found: dict[str, dict[tuple[int, str], int]] = {}
    for client, index, job, count in counted.iter_rows():
        found.setdefault(client, {})[index, job] = count
    return dict(found)
