"""The words that measure one cell of a matrix alone: the same tests in the same order on the same file, of one size each.

The phases of a cell are called alike in both, `write-64-4`, so its results compare with those of the whole matrix.
"""

import re
from collections.abc import Sequence
from typing import Final

from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.options import options_of

_OF_SIZES: Final = frozenset({"a", "z", "n", "g", "y", "q", "s", "r", "+x"})
_WITH_FILES: Final = frozenset({"b", "Q"})
"""Options that write output files: those of the whole matrix would be replaced by those of a cell."""
_CHILDREN: Final = frozenset({"t", "l", "u"})
_LABEL = re.compile(r"[a-z]+(?:-[a-z]+)*-(\d{1,13})-(\d{1,13})/")


def cell_of_label(label: str) -> Cell | None:
    """Read the cell that a result is of, from its label such as `random-read-64-4/random-read`; None: it is of none."""
    found = _LABEL.match(label)
    return Cell(int(found[1]), int(found[2])) if found else None


def words_of_cell(words: Sequence[str], cell: Cell) -> tuple[str, ...] | None:
    """Give the words for one cell, without the program's name.

    Args:
        words: Of the whole matrix; they have been executed.
        cell: Which of them.

    Returns:
        None where a cell cannot be measured alone: there are several children, or output files are written.

    Raises:
        InputError: the words are none of IOzone.
    """
    options = options_of(words)
    names = {name for name, _ in options}
    if names & (_WITH_FILES | _CHILDREN):
        return None
    kept: list[str] = []
    for name, values in options:
        if name == "A":  # tests 0 and 1 of every size
            kept += ["-i", "0", "-i", "1"]
        elif name not in _OF_SIZES:
            kept += [f"-{name}", *values]
    return (*kept, "-s", f"{cell.file_kib}k", "-r", f"{cell.record_kib}k")
