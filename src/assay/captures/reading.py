"""Read capture files: find the format of each by its first lines, and turn them into one table."""

import csv
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from assay.captures.asked import Asked
from assay.captures.inventory import Inventory
from assay.captures.match import Match
from assay.captures.opened import is_zip, name_of, open_lines
from assay.captures.readers import READERS, Read, column_table, rvtools
from assay.captures.samples import SampleRows
from assay.errors import InputError

HEAD_LINES: Final = 200
HEAD_CHARACTERS: Final = 1 << 20
MOST_FILES: Final = 10_000


@dataclass(frozen=True)
class Capture:
    """One file, read.

    Attributes:
        source: Its path, as it was given.
        format_name: Of the program and its format.
        match: How sure it is that this is the format.
        table: Its samples, as `SampleRows.table` gives them.
        notes: What was assumed, left out or repaired.
        inventory: What there is of hosts, virtual machines and bytes; None where the format has samples.
    """

    source: str
    format_name: str
    match: Match
    table: pl.DataFrame
    notes: tuple[str, ...]
    inventory: Inventory | None = None


def read_captures(files: Sequence[str], asked: Asked, format_name: str | None = None) -> list[Capture]:
    """Read files, in the order that they are given.

    Args:
        files: Their paths.
        asked: What the user adds.
        format_name: Name of the format of all; None: it is found out.

    Raises:
        InputError: A file cannot be read, is of no format that is known, or has no sample.
    """
    if len(files) > MOST_FILES:
        raise InputError(f"these are {len(files)} files; {MOST_FILES} are the most")
    return [_read(file, asked, format_name) for file in files]


def _read(file: str, asked: Asked, format_name: str | None) -> Capture:
    rows = SampleRows(file, asked.host, name_of(file))
    if is_zip(file):
        return _of_inventory(file, rows, rvtools.read_workbook(file, rows.note))
    with open_lines(file, rows.note) as lines:
        head = _head_of(lines)
        if not asked.columns and format_name in {None, rvtools.NAME} and rvtools.recognise(head):
            return _of_inventory(file, rows, rvtools.read_export(itertools.chain(head, lines), rows.note))
        name, match, read = _reader_of(file, head, asked, format_name)
        try:
            read(itertools.chain(head, lines), asked, rows)
        except (ValueError, OverflowError, csv.Error, json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{file}: is of {name}, but {error}") from error
    if not len(rows):
        raise InputError(f"{file}: is of {name}, and has no sample" + "".join(f"; {note}" for note in rows.notes))
    return Capture(file, name, match, rows.table(), tuple(rows.notes))


def _of_inventory(file: str, rows: SampleRows, inventory: Inventory) -> Capture:
    rows.note("RVTools has capacity and the number of virtual machines; IOPS, throughput and latency are unknown")
    return Capture(file, rvtools.NAME, Match.CERTAIN, rows.table(), tuple(rows.notes), inventory)


def _head_of(lines: Iterator[str]) -> list[str]:
    """Take the lines by which a format is known: few where they are long."""
    head: list[str] = []
    characters = 0
    while len(head) < HEAD_LINES and characters < HEAD_CHARACTERS and (line := next(lines, None)) is not None:
        head.append(line)
        characters += len(line)
    return head


def _reader_of(file: str, head: Sequence[str], asked: Asked, format_name: str | None) -> tuple[str, Match, Read]:
    if asked.columns:
        return column_table.NAME, Match.CERTAIN, column_table.read
    if format_name is not None:
        for name, _, read in READERS:
            if name == format_name:
                return name, Match.CERTAIN, read
        raise InputError(f"there is no format '{format_name[:40]}'; there are {', '.join(_names())}")
    found = [(match, name, read) for name, recognise, read in READERS if (match := recognise(head)) is not None]
    if not found:
        raise InputError(f"{file}: is of no format that is known: {', '.join(_names())}; --columns reads any CSV table")
    match, name, read = max(found, key=lambda one: one[0])
    return name, match, read


def _names() -> Iterator[str]:
    return itertools.chain((name for name, _, _ in READERS), [rvtools.NAME])
