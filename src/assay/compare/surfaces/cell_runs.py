"""Collect the runs of each cell of a surface, from the rows of a comparison."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay.analysis.two_sizes import SizePair
from assay.compare.arms import IOPS, THROUGHPUT
from assay.compare.comparison import Row, Side
from assay.compare.run_means import ByRun
from assay.verdicts import ComparisonVerdict

LEAST_CELLS = 3
"""Of a test, that are a surface."""


@dataclass(frozen=True)
class CellRuns:
    """A cell: its rates in bytes a second, as logarithms by run."""

    label: str
    place: SizePair
    a: ByRun
    b: ByRun
    why: str
    """Why it does not count; empty: it does."""

    @property
    def counts(self) -> bool:
        """Whether its ratio may be used."""
        return not self.why

    @property
    def medians(self) -> tuple[float | None, float | None]:
        """Rates of both sides; None: there is none."""
        one, other = (math.exp(median(side.values())) if side else None for side in (self.a, self.b))
        return one, other

    @property
    def log_ratio(self) -> float:
        """Of the medians; both sides have runs."""
        return median(self.b.values()) - median(self.a.values())


def cells_by_test(
    rows: Sequence[Row], places: Mapping[str, SizePair], ceiling_bytes_per_s: float | None
) -> dict[str, list[CellRuns]]:
    """Gather the cells of every test that is a surface, in the order of its sizes.

    Args:
        rows: Of a comparison.
        places: Where results lie, by label.
        ceiling_bytes_per_s: No storage of this machine is faster: cells that are do not count.
    """
    found: dict[str, list[CellRuns]] = {}
    for row in rows:
        place = places.get(row.label)
        if place is not None and row.metric in {IOPS.name, THROUGHPUT.name}:
            found.setdefault(place.test, []).append(_cell(row, place, ceiling_bytes_per_s))
    for cells in found.values():
        cells.sort(key=lambda cell: (cell.place.file_bytes, cell.place.record_bytes))
    return {test: cells for test, cells in found.items() if len(cells) >= LEAST_CELLS}


def _cell(row: Row, place: SizePair, ceiling_bytes_per_s: float | None) -> CellRuns:
    each_bytes = place.record_bytes if row.metric == IOPS.name else 1
    a, b = (_rates(side, each_bytes) for side in (row.a, row.b))
    cell = CellRuns(row.label, place, a, b, row.reason if row.verdict is ComparisonVerdict.NOT_COMPARABLE else "")
    beyond = [
        name
        for name, rate in zip("AB", cell.medians, strict=True)
        if ceiling_bytes_per_s is not None and rate is not None and rate > ceiling_bytes_per_s
    ]
    if not beyond:
        return cell
    why = f"{' and '.join(beyond)} faster than the ceiling: not of storage"
    return CellRuns(row.label, place, a, b, why)


def _rates(side: Side, each_bytes: int) -> dict[str, float]:
    return {run: math.log(value * each_bytes) for run, value in zip(side.runs, side.values, strict=True)}
