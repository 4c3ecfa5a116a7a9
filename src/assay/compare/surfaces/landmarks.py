"""Find where a surface falls, where two sides cross, and which cells look wrongly measured.

cliff       neighbouring cells of one side differ by a factor of 3: a cache that ends, most often
crossover   B is marked as better at one size and A at a later one, with none marked between: the line between the two
            points, logarithm of the ratio over log2 of the size, crosses no difference there
odd cell    its logarithm lies 5 x 1.4826 MAD of its neighbours, up to eight, from their median, and by more than
            matters: it is to be checked before it is believed
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from assay.compare.surfaces.cell_runs import CellRuns
from assay.compare.surfaces.surface import Cliff, Crossover

_CLIFF_TIMES = 3.0
"""Neighbouring cells of one side that differ by this factor are a cliff (METHOD 2.6)."""
_ODD_SPREADS, _ODD_NEIGHBOURS = 5.0, 5
"""Spreads (1.4826 MAD) of its neighbours from their median, beyond which a cell is odd (METHOD 2.6); neighbours for that."""

FILE: Final = "file"
RECORD: Final = "record"
_NORMAL_MAD = 1.4826
"""Standard deviation of a normal by its median absolute deviation."""

Grid = Mapping[tuple[int, int], float]
"""A value by file and record size."""


@dataclass(frozen=True)
class Marked:
    """A difference at a size, as a logarithm, that is shown."""

    size_bytes: int
    log_ratio: float


def cliffs(cells: Sequence[CellRuns]) -> tuple[Cliff, ...]:
    """Find the cliffs of both sides, also of cells that do not count: what ends there is often why they do not."""
    found = []
    for at, side in enumerate("AB"):
        rates = {
            (cell.place.file_bytes, cell.place.record_bytes): rate
            for cell in cells
            if (rate := cell.medians[at]) is not None
        }
        found += list(_cliffs(side, rates))
    return tuple(found)


def _cliffs(side: str, rates: Grid) -> Iterator[Cliff]:
    for along in (RECORD, FILE):
        for at_bytes, line in _lines(rates, along):
            for (before_bytes, before), (after_bytes, after) in pairwise(line):
                if max(before, after) >= _CLIFF_TIMES * min(before, after):
                    yield Cliff(
                        side=side,
                        along=along,
                        at_bytes=at_bytes,
                        from_bytes=before_bytes,
                        to_bytes=after_bytes,
                        factor=before / after,
                    )


def _lines(values: Grid, along: str) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Give the values along each row (`record`) or column (`file`), with the size that stays the same."""
    here, other = (1, 0) if along == RECORD else (0, 1)
    for at_bytes in sorted({sizes[other] for sizes in values}):
        yield at_bytes, sorted((sizes[here], value) for sizes, value in values.items() if sizes[other] == at_bytes)


def crossovers(marked: Grid) -> tuple[Crossover, ...]:
    """Find the crossovers of every row and every column.

    Args:
        marked: Logarithm of the ratio of the cells that are marked as different.
    """
    return tuple(
        crossover
        for along in (RECORD, FILE)
        for at_bytes, line in _lines(marked, along)
        for crossover in crossovers_of_line(along, at_bytes, [Marked(*point) for point in line])
    )


def crossovers_of_line(along: str, at_bytes: int | None, line: Sequence[Marked]) -> Iterator[Crossover]:
    """Find the crossovers along a line of sizes, in order, all of them marked."""
    for before, after in pairwise(line):
        if before.log_ratio * after.log_ratio < 0:
            low, high = math.log2(before.size_bytes), math.log2(after.size_bytes)
            share = before.log_ratio / (before.log_ratio - after.log_ratio)
            yield Crossover(
                along=along,
                at_bytes=at_bytes,
                better_below="B" if before.log_ratio > 0 else "A",
                below_bytes=before.size_bytes,
                above_bytes=after.size_bytes,
                crossing_bytes=2 ** (low + share * (high - low)),
            )


def odd_cells(log_ratios: Grid, effect: float) -> dict[tuple[int, int], float]:
    """Find the cells that are far from their neighbours.

    Args:
        log_ratios: Of the cells that count.
        effect: Difference that matters, as a share: cells that are nearer than this are never odd.

    Returns:
        Median of the neighbours' logarithms, by file and record size.
    """
    files, records = (sorted({sizes[axis] for sizes in log_ratios}) for axis in (0, 1))
    neighbours = _neighbours(files, records)
    found = {}
    for sizes, value in log_ratios.items():
        near = [log_ratios[each] for each in neighbours(sizes) if each in log_ratios]
        if len(near) < _ODD_NEIGHBOURS:
            continue
        middle = median(near)
        spread = _NORMAL_MAD * median(abs(each - middle) for each in near)
        away = abs(value - middle)
        is_alone = all(abs(value - each) > away / 2 for each in near)
        if is_alone and away > max(_ODD_SPREADS * spread, math.log1p(effect)):
            found[sizes] = middle
    return found


def _neighbours(files: Sequence[int], records: Sequence[int]) -> Callable[[tuple[int, int]], list[tuple[int, int]]]:
    file_at, record_at = ({size: at for at, size in enumerate(sizes)} for sizes in (files, records))

    def neighbours(sizes: tuple[int, int]) -> list[tuple[int, int]]:
        row, column = file_at[sizes[0]], record_at[sizes[1]]
        return [
            (files[i], records[j])
            for i in range(max(0, row - 1), min(len(files), row + 2))
            for j in range(max(0, column - 1), min(len(records), column + 2))
            if (i, j) != (row, column)
        ]

    return neighbours
