"""What a report reads of a run: the reading half of `assay.bundle.RunBundle`; a run in memory can be drawn too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from assay.events import Event
from assay.plan import Plan


class SourcedFact(Protocol):
    """One fact of the environment with the place that it was read from."""

    @property
    def key(self) -> str:
        """Dotted name, unit in the name."""

    @property
    def value(self) -> str | float | bool | tuple[str, ...] | None:
        """The value; None when it could not be had, and then `source` says why."""

    @property
    def source(self) -> str:
        """Where it is from: a path, `user`, or `n/a: reason`."""


class RunFacts(Protocol):
    """What was known about the run itself."""

    @property
    def command(self) -> str:
        """Command line, quoted for a shell."""

    @property
    def assay_version(self) -> str:
        """Version of Assay that made the run."""

    @property
    def note(self) -> str:
        """The operator's note; empty if there is none."""


class ReadableBundle(Protocol):
    """A run that can be read; tables are described in `assay.bundle`."""

    @property
    def path(self) -> Path:
        """Folder of the bundle."""

    @property
    def run_id(self) -> str:
        """Name of that folder."""

    @property
    def is_sealed(self) -> bool:
        """Whether the run ended and was sealed."""

    @property
    def info(self) -> RunFacts:
        """The run itself."""

    @property
    def plan(self) -> Plan:
        """The Plan after defaults."""

    @property
    def facts(self) -> Sequence[SourcedFact]:
        """Everything that can move the number."""

    def events(self) -> list[Event]:
        """All events but the intervals, in order."""

    def intervals(self) -> pl.DataFrame:
        """Operations per interval."""

    def histograms(self) -> pl.DataFrame:
        """Sparse latency histograms per interval."""

    def workers(self) -> pl.DataFrame:
        """Where each worker's time went, running totals."""
