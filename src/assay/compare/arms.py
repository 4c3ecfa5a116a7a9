"""Define the sides of a comparison: runs of the same load, and the values of each result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay.analysis.findings import INVALID
from assay.analysis.repeats import kind_words
from assay.analysis.rounds_window import of_window
from assay.analysis.set_views import own_results, sums_of
from assay.results import STREAMING_BYTES_PER_OP, Document, LatencyNs, Result, moves_data
from assay.verdicts import TrustLevel


@dataclass(frozen=True)
class Metric:
    """A number of a result that is compared."""

    name: str
    """`throughput`, `iops` or `p99`: also what a gate calls it."""
    unit: str
    value: Callable[[Result], float | None]
    """In SI units; None: it has none."""
    higher_is_better: bool = True


def _with_flush(of_result: Callable[[Result], float | None], of_committed: str) -> Callable[[Result], float | None]:
    """Take the rate with the closing flush in its time, where there is one: what memory took is no rate of storage."""

    def value(result: Result) -> float | None:
        return of_result(result) if result.committed is None else getattr(result.committed, of_committed)

    return value


THROUGHPUT: Final = Metric(
    "throughput", "B/s", _with_flush(lambda result: result.throughput_bytes_per_s, "throughput_bytes_per_s")
)
IOPS: Final = Metric("iops", "IOPS", _with_flush(lambda result: result.iops, "iops"))
OPS_PER_S: Final = replace(IOPS, unit="ops/s")
"""The same of operations that move no data."""
SECONDS: Final = Metric("seconds", "s", lambda result: result.seconds, higher_is_better=False)
"""The time that a fixed amount of work took: of what another tool did, where it gives no rate."""
P99: Final = Metric("p99", "ns", lambda result: _latency(result).p99, higher_is_better=False)


def _latency(result: Result) -> LatencyNs:
    """Response time, where there is a schedule that it counts from; else service time."""
    return result.response_ns or result.latency_ns


@dataclass(frozen=True)
class Sample:
    """One result of one run."""

    run_id: str
    started_utc: str
    result: Result
    is_foreign: bool = False
    """Whether another tool measured it."""

    @property
    def is_usable(self) -> bool:
        """Whether the result is used: foreign ones are never trusted, and used if there is no other objection."""
        trust = self.result.trust
        if self.is_foreign:
            is_objected = any(finding.severity == INVALID for finding in self.result.findings)
            return not is_objected and all(reason.id == FOREIGN_REASON for reason in trust.reasons)
        return trust.level is not TrustLevel.NO

    @property
    def measures(self) -> str:
        """What its number is a number of; of writes also what became of them."""
        return kind_words(self.result)

    @property
    def name(self) -> str:
        """For people: the run, and which of its repeats."""
        return f"{self.run_id}#{self.result.repeat + 1}" if self.result.repeat else self.run_id


FOREIGN_REASON: Final = "foreign"
"""Id of the finding that every foreign number has."""


def began_utc(document: Document) -> str:
    """Return when a run began; empty if unknown, because another tool measured it."""
    foreign = document.run.foreign
    return document.run.started_utc if foreign is None else foreign.measured_utc or ""


def _identity(document: Document) -> tuple[str, ...]:
    """Identify a run: one that was imported twice is the same."""
    foreign = document.run.foreign
    return (document.run.id,) if foreign is None else (foreign.file.sha256, foreign.machine or "")


@dataclass(frozen=True)
class Arm:
    """A set of runs, in the order in which they began."""

    name: str
    documents: tuple[Document, ...]
    """Of runs of several clients with their sums alone: what a client did is no repeat of what they all did."""
    own_left_out: int = 0
    """Results of single clients that are not among them."""

    @classmethod
    def of(cls, name: str, documents: Sequence[Document], *, own_left_out: int = 0) -> "Arm":
        """Make an arm of runs; a run that is given twice counts once.

        Args:
            name: What the user calls it.
            documents: Of the runs.
            own_left_out: Results of single clients that are not in these documents any more.
        """
        by_id = {_identity(document): document for document in documents}
        ordered = sorted(by_id.values(), key=began_utc)
        return cls(
            name, tuple(of_window(sums_of(one)) for one in ordered), own_left_out + sum(map(own_results, ordered))
        )

    @property
    def clients(self) -> tuple[int, ...]:
        """Of how many clients its sums are, each number once; empty where one client measured each run."""
        return tuple(sorted({found.clients for document in self.documents for found in document.sums}))

    @property
    def is_foreign(self) -> bool:
        """Whether another tool measured any of it."""
        return any(document.run.foreign is not None for document in self.documents)

    @property
    def is_mixed(self) -> bool:
        """Whether Assay measured some of it and another tool the rest."""
        return len({document.run.foreign is None for document in self.documents}) > 1

    @property
    def is_dated(self) -> bool:
        """Whether it is known when each of its runs began."""
        return all(began_utc(document) for document in self.documents)

    def samples(self) -> dict[str, list[Sample]]:
        """Give the values of each result, by its label without the number of the repeat: a repeat is a run of its own."""
        found: dict[str, list[Sample]] = {}
        for document in self.documents:
            for result in document.results:
                sample = Sample(document.run.id, began_utc(document), result, document.run.foreign is not None)
                found.setdefault(result.label.split("#", maxsplit=1)[0], []).append(sample)
        return found


def rate_metric(results: Sequence[Result]) -> Metric:
    """Choose what is compared: of streams bytes a second, of others operations, of what has no rate the time it took."""
    counted = IOPS if any(map(moves_data, results)) else OPS_PER_S
    if all(result.ops is not None and result.bytes is not None for result in results):
        ops, moved = (sum(getattr(result, name) for result in results) for name in ("ops", "bytes"))
        return THROUGHPUT if ops and moved / ops >= STREAMING_BYTES_PER_OP else counted
    usual = (THROUGHPUT, counted) if any(map(_is_of_data, results)) else (counted, THROUGHPUT)
    each = (*usual, SECONDS)
    return next((one for one in each if all(one.value(result) is not None for result in results)), each[0])


def _is_of_data(result: Result) -> bool:
    """Whether bytes a second are what a result without counts is known by."""
    moved, rate = result.throughput_bytes_per_s, result.iops
    return moved is not None and (not rate or moved / rate >= STREAMING_BYTES_PER_OP)
