"""Assess outlying cells that were measured again alone.

A cell that is far from its neighbours either is so, or was disturbed during its measurement. The deciding runs are
new ones, of that cell alone and in turns; the first ones were chosen for their distance, and are not used.
The threshold is half of the way from the neighbours to the first figure, on the logarithm: the cell is confirmed where
the whole 95 % interval of the new ratio lies beyond it, not confirmed where all of it lies before, and open in between.

No run is dropped for it: the new ones count together with the first, and are to be one round more than these, so that the
median is one of the new where they disagree with the first. Where time or a failure ended them before, it may still be of
the first, with a note. Means go by whole runs, so that the first would stay in them as they were: a cell that
was not confirmed is in no mean.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from assay.compare.arms import P99
from assay.compare.comparison import Comparison, Row
from assay.compare.surfaces.surface import AgainState, CellAgain, ComparedSurface, SurfaceCell

MOST_AGAIN: Final = 8
"""Cells that are measured again, those that lie farthest first."""
LEAST_AGAIN: Final = 3
"""Rounds of each: fewer have no interval."""


@dataclass(frozen=True)
class OddCell:
    """A cell that is to be checked."""

    side: str
    """What A is held against."""
    label: str
    file_bytes: int
    record_bytes: int
    ratio: float
    """B by A, of the first runs."""
    neighbours_ratio: float

    @property
    def distance(self) -> float:
        """Distance from its neighbours, as a logarithm."""
        return abs(math.log(self.ratio / self.neighbours_ratio))


def odd_of(comparison: Comparison) -> list[OddCell]:
    """Give the cells of all surfaces that are to be checked, those that lie farthest first."""
    found = [
        OddCell(against.name, cell.label, cell.file_bytes, cell.record_bytes, cell.ratio, cell.neighbours_ratio)
        for against in comparison.against
        for surface in against.surfaces
        for cell in surface.cells
        if cell.ratio is not None and cell.neighbours_ratio is not None
    ]
    return sorted(found, key=lambda odd: -odd.distance)


def rounds_again(rounds: int) -> int:
    """Return how often a cell is measured again, for the number of rounds."""
    return max(rounds + 1, LEAST_AGAIN)


@dataclass(frozen=True)
class RoundsAgain:
    """How often a cell was measured again."""

    first: int
    """Rounds of the whole before."""
    new: int
    """Of it alone."""
    ended_by: str = ""
    """What failed, where it was measured no more for that."""


def verdict_again(odd: OddCell, new: Comparison, rounds: RoundsAgain) -> CellAgain:
    """Assess a cell that was measured again.

    Args:
        odd: The cell, with what the first runs made of it.
        new: The comparison of the new runs alone.
        rounds: Of both.
    """
    rows = next(against.rows for against in new.against if against.name == odd.side)
    row = next((row for row in rows if row.label == odd.label and row.metric != P99.name), None)
    if row is None or row.ratio is None:
        return not_again(odd, "the new runs have no such number" if row is None else row.reason)
    state = _state(odd, row)
    return _result(odd, state, rounds.new, row, "; ".join(_reasons(state, rounds)))


def _reasons(state: AgainState, rounds: RoundsAgain) -> Iterator[str]:
    """Return remarks on the outcome of a cell."""
    if rounds.ended_by:
        yield f"measured no more after round {rounds.new} of it, because: {rounds.ended_by}"
    if state is AgainState.NOT_CONFIRMED and rounds.new <= rounds.first:
        yield (
            f"{rounds.new} new rounds are too few against the {rounds.first} first ones: the cell's own ratio is of all, and"
            " may still be one of the first"
        )


def _state(odd: OddCell, row: Row) -> AgainState:
    if row.interval is None:
        return AgainState.OPEN
    sign = 1 if odd.ratio > odd.neighbours_ratio else -1
    halfway = math.log(odd.ratio * odd.neighbours_ratio) / 2
    beyond = [sign * (math.log(end) - halfway) > 0 for end in row.interval]
    return AgainState.CONFIRMED if all(beyond) else AgainState.OPEN if any(beyond) else AgainState.NOT_CONFIRMED


def not_again(odd: OddCell, why: str) -> CellAgain:
    """Record why a cell was not measured again."""
    return _result(odd, AgainState.NOT_CHECKED, 0, None, why)


def _result(odd: OddCell, state: AgainState, rounds: int, row: Row | None, why: str = "") -> CellAgain:
    return CellAgain(
        label=odd.label,
        file_bytes=odd.file_bytes,
        record_bytes=odd.record_bytes,
        first_ratio=odd.ratio,
        neighbours_ratio=odd.neighbours_ratio,
        ratio=None if row is None else row.ratio,
        interval=None if row is None else row.interval,
        rounds=rounds,
        state=state,
        why=why,
    )


def unconfirmed_of(again: Mapping[str, Sequence[CellAgain]]) -> dict[str, set[str]]:
    """Give the labels of the cells whose first runs the new ones have shown to be disturbed, by side."""
    return {
        side: {each.label for each in cells if each.state is AgainState.NOT_CONFIRMED} for side, cells in again.items()
    }


def with_cells_again(comparison: Comparison, again: Mapping[str, Sequence[CellAgain]]) -> Comparison:
    """Add the outcome of its cells to each surface.

    Args:
        comparison: Of all runs, the first and the new.
        again: By the side that A is held against.
    """
    against = tuple(
        msgspec.structs.replace(
            each, surfaces=tuple(_surface(surface, again.get(each.name, ())) for surface in each.surfaces)
        )
        for each in comparison.against
    )
    return msgspec.structs.replace(comparison, against=against)


def _surface(surface: ComparedSurface, again: Sequence[CellAgain]) -> ComparedSurface:
    labels = {cell.label for cell in surface.cells}
    mine = tuple(each for each in again if each.label in labels)
    confirmed = {each.label for each in mine if each.state is AgainState.CONFIRMED}
    return msgspec.structs.replace(
        surface, again=mine, cells=tuple(_checked(cell, confirmed) for cell in surface.cells)
    )


def _checked(cell: SurfaceCell, confirmed: set[str]) -> SurfaceCell:
    """Take the mark off a cell that is to be checked no more."""
    return msgspec.structs.replace(cell, neighbours_ratio=None) if cell.label in confirmed else cell
