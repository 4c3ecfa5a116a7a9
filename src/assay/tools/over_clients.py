"""Fold what several clients did, each by itself, into their mean, their slowest and their fastest.

    mean       every number is the arithmetic mean of the clients' numbers
    slowest    of rates the smallest, of times the longest; fastest: the other end

Nothing here is a sum. What one of the clients lacks is in none of the three: a mean of fewer would pass for one of all.
Records are folded whole, so that what stands in one line is of one client: that of the smallest or largest rate.
"""

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.window import find_window

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
"""A record: a frozen value whose fields are numbers and what they are of."""


class Fold(enum.Enum):
    """Which number stands for those of all clients."""

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
    """Keep what is equal in all, and average the other numbers; what one lacks is None."""
    means: dict[str, Any] = {}
    for field in dataclasses.fields(records[0]):
        values = [getattr(record, field.name) for record in records]
        if len(set(values)) > 1:
            means[field.name] = None if None in values else sum(values) / len(values)
    return dataclasses.replace(records[0], **means)


def has_sum(run: RunRecord, phase: PhaseRecord) -> bool:
    """Whether a sum over the clients of a run means something; of one client its workers are added up as the tool does."""
    return not run.members or find_window(phase, run.plan.sample_interval_s).has_sum
