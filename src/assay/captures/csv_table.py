"""A table of text: its delimiter, its head and its rows."""

import csv
from collections.abc import Iterable, Iterator
from typing import Final

_DELIMITERS: Final = (",", ";", "\t")


def delimiter_of(line: str) -> str:
    """Tell the delimiter of a head by what it has most of."""
    return max(_DELIMITERS, key=line.count)


def rows_of(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Split lines into cells, each without blanks at its ends; lines without any are left out."""
    for cells in csv.reader(lines, delimiter=delimiter):
        stripped = [cell.strip() for cell in cells]
        if any(stripped):
            yield stripped
