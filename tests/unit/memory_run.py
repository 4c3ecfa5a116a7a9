"""A run without files: what analysis and reports read of a bundle, for tests that fill it with known truth."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from assay import events
from assay.analysis.document import document
from assay.analysis.phase_tables import Counters, Tables, sections_of
from assay.analysis.record import read
from assay.analysis.recorded_run import RecordedRun
from assay.bundle.client_set import ClientSet
from assay.bundle.files import RunInfo
from assay.bundle.kept_marks import KeptMark
from assay.bundle.remarks import NOTHING, Remarks
from assay.bundle.scan import HeldTable
from assay.bundle.tables import HOST, OF_STREAM
from assay.host.facts import Fact, FactValue
from assay.plan import Plan
from assay.results import Document

RUN_ID = "20260102T030405Z-quick-0123abcd"


def bucket_of(value_ns: int) -> int:
    """Encode a value as the engine does, from the definition of the HdrHistogram layout."""
    if value_ns < 2048:
        return value_ns
    shift = value_ns.bit_length() - 11
    return (shift + 1) * 1024 + (value_ns >> shift) - 1024


def filled_buckets(values_ns: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Encode many values as `bucket_of` does: buckets in order, and the values in each."""
    high = values_ns >> 32  # both halves are exact as floats, whose exponent is the bit length
    bits = np.where(high > 0, np.frexp(high)[1] + 32, np.frexp(values_ns & 0xFFFF_FFFF)[1]).astype(np.int64)
    shift = np.maximum(bits - 11, 0)
    return np.unique(shift * 1024 + (values_ns >> shift), return_counts=True)


def hello(
    *,
    schema: str = events.SCHEMA,
    cpus: int = 8,
    ram_bytes: int = 16 << 30,
    read_cost_ns: float = 25.0,
    profile: str = "release",
    io_uring: bool = True,
    notes: tuple[str, ...] = (),
) -> events.Hello:
    """First line of a stream."""
    return events.Hello(
        schema=schema,
        engine=events.EngineFacts(version="0.1.0", profile=profile, rustc="1.90", pid=1, uid=0),
        machine=events.MachineFacts(
            hostname="bench1", kernel="6.18.1", cpus=cpus, page_size_bytes=4096, ram_bytes=ram_bytes
        ),
        clock=events.ClockFacts(source="tsc", read_cost_ns=read_cost_ns, realtime_at_zero_ns=0, monotonic_at_zero_ns=0),
        capabilities=events.Capabilities(
            io_uring=io_uring,
            cachestat=True,
            drop_caches=True,
            delay_accounting=True,
            schedstat=True,
            notes=notes,
        ),
    )


def facts_of(values: dict[str, FactValue], source: str = "user") -> tuple[Fact, ...]:
    """Facts of one source."""
    return tuple(Fact(key=key, value=value, source=source) for key, value in values.items())


def run_info() -> RunInfo:
    """Who ran what; the end is not recorded."""
    return RunInfo(
        run_id=RUN_ID,
        command="assay quick /srv/data",
        argv=("assay", "quick", "/srv/data"),
        started_utc="2026-01-02T03:04:05Z",
        ended_utc=None,
        seconds=61.5,
        exit_code=None,
        assay_version="0.1.0",
    )


@dataclass
class MemoryRun:
    """What is read of a bundle; tables that are not given are empty."""

    plan: Plan
    facts: tuple[Fact, ...] = ()
    lines: list[events.Event] = field(default_factory=list)
    """Every event but the intervals."""
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    path: Path = Path("/runs") / RUN_ID
    is_sealed: bool = True
    info: RunInfo = field(default_factory=run_info)
    remarks: Remarks = NOTHING
    marks: tuple[KeptMark, ...] = ()

    @property
    def run_id(self) -> str:
        """Name of the folder."""
        return self.path.name

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by its name in a bundle."""
        return self.tables.get(name, pl.DataFrame(schema=OF_STREAM[name]))

    @property
    def clients(self) -> tuple[str, ...]:
        """Name the only one."""
        return ("0",)

    def client_set(self) -> ClientSet | None:
        """Say that one client measured."""
        return None

    def events(self, client: str | None = None) -> list[events.Event]:  # noqa: ARG002 - there is only one
        """Return every event but the intervals."""
        return self.lines

    def original(self) -> None:
        """Return what another tool printed: Assay measured it."""

    def scan(self, name: str) -> HeldTable:
        """Return a table to be read part by part."""
        return HeldTable(self.table(name))


def judged(run: RecordedRun) -> Document:
    """Work out the result document of a run."""
    return document(read(run))


def counters_of(host: pl.DataFrame) -> Counters:
    """Return the counters of the first phase of a table of them."""
    none = {name: HeldTable(pl.DataFrame(schema=OF_STREAM[name])) for name in OF_STREAM}
    return Tables(sections_of({**none, HOST: HeldTable(host)})).host.of_phase(0)
