"""The table that Assay itself writes: the columns of samples, a row an interval of a device."""

from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.csv_table import rows_of
from assay.captures.decimal_text import parse_number
from assay.captures.match import Match
from assay.captures.samples import NUMBERS, DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked

NAME: Final = "table of assay"
_HEAD: Final = ["host", "device", "layer", *NUMBERS]
_NAMES: Final = 3
"""Columns before the numbers."""


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its columns."""
    return Match.CERTAIN if head and next(rows_of(head[:1], ","), []) == _HEAD else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all rows."""
    del asked
    unread = 0
    for cells in rows_of(lines, ","):
        if cells == _HEAD:
            continue
        try:
            if len(cells) != len(_HEAD):
                raise ValueError("a row is cut off")  # noqa: TRY301 - as one with a wrong number
            layer = Layer(cells[2])
            values = [parse_number(cell) if cell else None for cell in cells[_NAMES:]]
            end_s, seconds, *others = values
            if end_s is None or seconds is None:
                raise ValueError("a row has no time")  # noqa: TRY301 - same
            rows.add(cells[0], cells[1], layer, DeviceSample(end_s, seconds, *others))
        except ValueError:
            unread += 1
    if unread:
        rows.note(f"rows that are cut off, or have a wrong number, are left out: {unread}")
