"""Fold what several clients did, each by itself, into their mean, their slowest and their fastest.

    mean       every number is the arithmetic mean of the clients' numbers
    slowest    of rates the smallest, of times the longest; fastest: the other end

Nothing here is a sum. What is missing for one client is in none of the three: a mean of fewer would pass for one of all.
Records are folded whole, so that each line is of one client: that of the smallest or largest rate.
"""

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.window import Window, find_window

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
"""A record: a frozen value whose fields are numbers and what they are of."""


class Fold(enum.Enum):
    """Which number represents those of all clients."""

    MEAN = "mean"
    SLOWEST = "slowest"
    FASTEST = "fastest"

    def label(self, clients: int) -> str:
        """Name it: `mean of 3 clients`."""
        return f"{self.value} of {clients} clients"

    def rate(self, values: Sequence[float]) -> float:
        """Fold rates, of which more is faster."""
        if self is Fold.MEAN:
            return sum(values) / len(values)
        return min(values) if self is Fold.SLOWEST else max(values)

    def time(self, values: Sequence[float]) -> float:
        """Fold times, of which less is faster."""
        if self is Fold.MEAN:
            return sum(values) / len(values)
        return max(values) if self is Fold.SLOWEST else min(values)

    def record(self, records: Sequence[R], rate: Callable[[R], float]) -> R:
        """Give the record with the smallest or largest rate; as the mean, one with the mean of each number."""
        if self is Fold.MEAN:
            return _mean(records)
        return (min if self is Fold.SLOWEST else max)(records, key=rate)


def _mean(records: Sequence[R]) -> R:
    """Keep what is equal in all, and average the other numbers; what is missing in one is None."""
    means: dict[str, Any] = {}
    for field in dataclasses.fields(records[0]):
        values = [getattr(record, field.name) for record in records]
        if len(set(values)) > 1:
            means[field.name] = None if None in values else sum(values) / len(values)
    return dataclasses.replace(records[0], **means)


def window_of_all(run: RunRecord, phase: PhaseRecord, job: str | None = None) -> Window | None:
    """Find the part of a phase in which all clients did a job, or without one all of it; None: the run is of one client."""
    if not run.members:
        return None
    if job is not None and phase.finished is not None:
        mine = tuple(worker for worker in phase.finished.workers if worker.job == job)
        phase = dataclasses.replace(phase, finished=msgspec.structs.replace(phase.finished, workers=mine))
    return find_window(phase, run.plan.sample_interval_s)


def has_sum(run: RunRecord, phase: PhaseRecord) -> bool:
    """Return whether a sum over the clients of a run is valid; of one client its workers are added up as the tool does."""
    window = window_of_all(run, phase)
    return window is None or window.has_sum
