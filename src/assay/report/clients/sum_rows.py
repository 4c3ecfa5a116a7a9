"""Describe each sum over clients, in the unit of its headline."""

import functools
import statistics
from dataclasses import dataclass

from assay.analysis.repeats_by_label import by_label
from assay.analysis.set_views import sums_of
from assay.report.numbers import RateUnit, rate_unit
from assay.report.titles import titles_of
from assay.results import ClientRate, Document, Result, SetOfClients
from assay.units import format_number


@dataclass(frozen=True)
class SumRow:
    """One sum."""

    row: int
    """Of the table of the sums, from 1; of repeats that of all of them."""
    title: str
    result: Result
    found: SetOfClients

    @property
    def unit(self) -> RateUnit:
        """Unit of its rates."""
        return rate_unit(self.result)

    def value(self, rate: ClientRate) -> float:
        """Give a client's rate in that unit; 0 where it did nothing."""
        return self.unit.of(rate.iops, rate.throughput_bytes_per_s) or 0.0

    def rate_text(self, rate: ClientRate) -> str:
        """Write a client's rate without its unit."""
        return format_number(self.value(rate))

    @functools.cached_property
    def slowest_first(self) -> list[ClientRate]:
        """The clients by their rates."""
        return sorted(self.found.rates, key=self.value)

    @property
    def is_sum(self) -> bool:
        """Whether the clients worked at the same time: else there is no sum."""
        return self.found.window_s is not None

    @functools.cached_property
    def median(self) -> float:
        """Of the clients' rates, in the unit; 0 where they are not of one time."""
        return statistics.median(map(self.value, self.found.rates)) if self.found.rates and self.is_sum else 0.0

    @property
    def times(self) -> float | None:
        """How many times the fastest client's rate, in the unit, is the slowest's; None: that is nothing."""
        ordered = self.slowest_first
        least = self.value(ordered[0]) if ordered else 0.0
        return self.value(ordered[-1]) / least if least > 0 else None

    @property
    def of_operations(self) -> str:
        """What to add to a figure that goes by operations, where the unit is another."""
        return " of operations" if self.unit.of_bytes else ""

    def by_median(self, rate: ClientRate) -> float | None:
        """Give a client's rate by the median of all; None: that is nothing."""
        middle = self.median
        return self.value(rate) / middle if middle > 0 else None


def sum_rows(document: Document) -> list[SumRow]:
    """Give the sums in the order of their rows; those whose result is not there are left out."""
    sums = sums_of(document).results
    row_of = {result.label: row for row, same in enumerate(by_label(sums).values(), start=1) for result in same}
    by_name = {found.label: found for found in document.sums}
    return [
        SumRow(row_of[result.label], title, result, by_name[result.label])
        for title, result in zip(titles_of(sums), sums, strict=True)
        if result.label in by_name
    ]


def clients_by_label(document: Document) -> dict[str, int]:
    """Give of how many clients each result is the sum; none where one client measured."""
    return {found.label: found.clients for found in document.sums}
