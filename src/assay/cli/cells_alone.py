"""Measure outlying cells of a surface again, alone and in turns, after the rounds of `assay ab`."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from assay.cli.in_turns import MeasuredInTurns
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from assay.compare.arms import Arm
    from assay.compare.comparison import Comparison
    from assay.compare.surfaces.cells_again import OddCell
    from assay.compare.surfaces.questions import Questions
    from assay.compare.surfaces.surface import CellAgain
    from assay.results import Document
    from assay.running.stopping import Stops
    from assay.tools.iozone.matrix import Cell

_NOT_ALONE = "its sides have no command for it alone: an 'assay iozone' of one stream, without -b and -Q, has"


class CellsAlone:
    """Measure cells alone, and report the outcome."""

    def __init__(
        self,
        series: MeasuredInTurns,
        sides: Sequence[Sequence[str]],
        more: Sequence[str],
        questions: "Questions",
        runs: Path | None,
    ) -> None:
        """Measure nothing yet.

        Args:
            series: What the sides are, and has measured them whole.
            sides: The words of each side's command.
            more: What is added to each command: tags, and the folder of runs.
            questions: What is asked of surfaces.
            runs: Where runs are kept.
        """
        self._series, self._sides, self._more = series, sides, more
        self._questions, self._runs = questions, runs
        self._new: list[list[Document]] = [[] for _ in sides]
        self._again: dict[str, list[CellAgain]] = {}

    def compared(self) -> "tuple[list[Arm], Comparison]":
        """Compare the first runs and the new ones together."""
        from assay.compare.surfaces.cells_again import unconfirmed_of, with_cells_again

        both = [[*first, *new] for first, new in zip(self._series.found, self._new, strict=True)]
        arms, found = self._compared(both, unconfirmed_of(self._again))
        return arms, with_cells_again(found, self._again)

    def measure(self, stops: "Stops") -> bool:
        """Measure outlying cells again. False: the user ended it; an incomplete turn is left out."""
        from assay.compare.surfaces.cells_again import MOST_AGAIN, not_again, odd_of, rounds_again

        cells: dict[str, _Alone] = {}
        for odd in odd_of(self._compared(self._series.found)[1]):
            name, commands = self._commands(odd)
            if commands is None:
                self._keep(odd, not_again(odd, _NOT_ALONE))
            elif name not in cells and len(cells) >= MOST_AGAIN:
                self._keep(
                    odd, not_again(odd, f"{MOST_AGAIN} cells that lie farther were; more are not measured again")
                )
            else:
                cells.setdefault(name, _Alone(commands, [[] for _ in commands])).odd.append(odd)
        if not cells:
            return True
        rounds = rounds_again(len(self._series.found[0]))
        echo(
            f"to be checked, and measured again in {rounds} rounds of {'it' if len(cells) == 1 else 'them'} alone"
            f" (--no-check: not): {', '.join(cells)}",
            err=True,
        )
        is_whole = self._measure(cells, rounds, stops)
        for cell in cells.values():
            self._assess(cell)
        return is_whole

    def _measure(self, cells: "dict[str, _Alone]", rounds: int, stops: "Stops") -> bool:
        """Measure cells round after round, each by all sides in turns."""
        from assay.compare.turns import orders

        longest_s = 0.0
        # Drawn by another seed than the rounds of the whole.
        for number, order in zip(range(1, rounds + 1), orders(len(self._sides), self._series.seed + 1), strict=False):
            begun_s = time.monotonic()
            if not self._series.has_time(longest_s):
                echo(f"the budget ends it after {number - 1} rounds of cells", err=True)
                break
            for name, cell in cells.items():
                place = f"cell {name}, round {number} of {rounds}"
                if not cell.failed and not self._turn(cell, place, order, stops):
                    return False
            longest_s = max(longest_s, time.monotonic() - begun_s)
        return True

    def _turn(self, cell: "_Alone", place: str, order: Sequence[int], stops: "Stops") -> bool:
        """Measure a cell once by each side. False: a signal ended it."""
        from assay.errors import RunError

        measured: dict[int, Document] = {}
        for side in order:
            try:
                document = None if stops.count else self._series.one(side, cell.commands[side], place, stops)
            except RunError as error:
                cell.failed = str(error)
                echo(f"{place}: {error}", err=True)
                return True
            if document is None:
                return False
            measured[side] = document
        for side, document in measured.items():
            cell.found[side].append(document)
        return True

    def _assess(self, cell: "_Alone") -> None:
        """Report the outcome of a cell, for each test in which it was an outlier."""
        from assay.compare.surfaces.cells_again import RoundsAgain, not_again, verdict_again

        rounds = RoundsAgain(first=len(self._series.found[0]), new=len(cell.found[0]), ended_by=cell.failed)
        if not rounds.new:
            for odd in cell.odd:
                self._keep(odd, not_again(odd, cell.failed or "there was no time for it"))
            return
        new = self._compared(cell.found)[1]
        for odd in cell.odd:
            self._keep(odd, verdict_again(odd, new, rounds))
        for side, documents in enumerate(cell.found):
            self._new[side] += documents

    def _compared(
        self, found: "Sequence[Sequence[Document]]", unconfirmed: Mapping[str, Collection[str]] = MappingProxyType({})
    ) -> "tuple[list[Arm], Comparison]":
        from assay.cli.comparing import surveyed
        from assay.compare.arms import Arm
        from assay.compare.comparison import compare

        arms = [Arm.of(name, documents) for name, documents in zip(self._series.names, found, strict=True)]
        questions = replace(self._questions, unconfirmed=unconfirmed)
        return arms, surveyed(
            compare(arms, self._series.effect, unconfirmed, self._series.headline), arms, questions, self._runs
        )

    def _keep(self, odd: "OddCell", again: "CellAgain") -> None:
        self._again.setdefault(odd.side, []).append(again)

    def _commands(self, odd: "OddCell") -> tuple[str, list[list[str]] | None]:
        """Name a cell, and give the command of each side for it alone; None: there is none."""
        from assay.tools.iozone.one_cell import cell_of_label

        cell = cell_of_label(odd.label)
        if cell is None:
            return odd.label, None
        words = [_words_alone(side, cell) for side in self._sides]
        name = f"{cell.file_kib}k/{cell.record_kib}k"
        return name, None if None in words else [[*each, *self._more] for each in words if each is not None]


@dataclass
class _Alone:
    """A cell on its way."""

    commands: list[list[str]]
    """Of each side."""
    found: "list[list[Document]]"
    """By side, as many of each."""
    odd: "list[OddCell]" = field(default_factory=list)
    """The tests and sides in which it was an outlier."""
    failed: str = ""
    """Why it is measured no more."""


def _words_alone(side: Sequence[str], cell: "Cell") -> list[str] | None:
    """Give the words of a side for one cell; None: there are none."""
    from assay.cli.tool import take_apart
    from assay.tools.iozone import one_cell

    tool, *words = side
    if tool != "iozone":
        return None
    asked = take_apart(words)
    alone = one_cell.words_of_cell(asked.tool, cell)
    if alone is None:
        return None
    user = ["--user", asked.user] if asked.user is not None else []
    note = ["--note", asked.note] if asked.note is not None else []
    return [tool, *alone, *user, *note, *(word for tag in asked.tags for word in ("--tag", tag))]
