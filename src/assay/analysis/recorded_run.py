"""What analysis reads of a run, wherever it is kept: the reading half of `assay.bundle.RunBundle`, or a run in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from assay import events
from assay.bundle.client_set import ClientSet
from assay.bundle.files import RunInfo
from assay.bundle.kept_marks import KeptMark
from assay.bundle.original import Original
from assay.bundle.remarks import Remarks
from assay.bundle.scan import Scan
from assay.host.facts import Fact
from assay.plan import Plan


class RecordedRun(Protocol):
    """A run of one client, or of several."""

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
    def info(self) -> RunInfo:
        """Who ran what, when."""

    @property
    def remarks(self) -> Remarks:
        """What the user calls it."""

    @property
    def marks(self) -> Sequence[KeptMark]:
        """When something happened, as the user says."""

    @property
    def plan(self) -> Plan:
        """The Plan after defaults."""

    @property
    def facts(self) -> Sequence[Fact]:
        """Facts of the environment."""

    @property
    def clients(self) -> Sequence[str]:
        """Names of the clients that have a stream."""

    def client_set(self) -> ClientSet | None:
        """Return who measured; None of a run of one client."""

    def events(self, client: str | None = None) -> list[events.Event]:
        """Return every event of a client but the intervals, in order; None: of the only one."""

    def original(self) -> Original | None:
        """Return what another tool printed; None: Assay measured it."""

    def scan(self, name: str) -> Scan:
        """Return a table, to be read part by part."""
