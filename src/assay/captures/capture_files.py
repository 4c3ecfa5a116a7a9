"""Read capture files: find the format of each by its first lines, and turn them into one table."""

import contextlib
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from assay.captures.inventory import Inventory
from assay.captures.match import Match
from assay.captures.opened import is_zip, name_of, open_lines
from assay.captures.readers import READERS, Read, column_table, prometheus, rvtools
from assay.captures.samples import SampleRows
from assay.captures.stated_facts import Asked
from assay.errors import InputError
from assay.units import format_names

HEAD_LINES: Final = 200
HEAD_CHARACTERS: Final = 1 << 20
MOST_FILES: Final = 10_000


@dataclass(frozen=True)
class Capture:
    """One file, read.

    Attributes:
        source: Its path, as it was given; of Prometheus several are one capture.
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
    """Read files, in the order that they are given; those of Prometheus first, as one.

    Args:
        files: Their paths.
        asked: What the user adds.
        format_name: Name of the format of all; None: it is found out.

    Raises:
        InputError: A file cannot be read, is of no format that is known, or has no sample.
    """
    if len(files) > MOST_FILES:
        raise InputError(f"these are {len(files)} files; {MOST_FILES} are the most")
    if asked.columns or format_name not in {None, prometheus.NAME}:
        return [_read(file, asked, format_name) for file in files]
    answers = [file for file in files if _is_answer(file)]
    joined = [_read_answers(answers, asked)] if len(answers) > 1 else []
    return joined + [_read(file, asked, format_name) for file in files if not joined or file not in answers]


def _is_answer(file: str) -> bool:
    """Whether the file is of Prometheus: a query has one counter, and its files belong together."""
    if is_zip(file):
        return False
    with open_lines(file, lambda _: None) as lines:
        return prometheus.recognise(_head_of(lines)) is not None


def _read_answers(files: Sequence[str], asked: Asked) -> Capture:
    """Read the files of Prometheus as one capture."""
    source = format_names(files)
    rows = SampleRows(source, asked.host, name_of(files[0]))
    with _refusing(source, prometheus.NAME):
        prometheus.read_joined(_opened(files, rows), rows)
    return _captured(rows, prometheus.NAME, Match.CERTAIN)


def _opened(files: Sequence[str], rows: SampleRows) -> Iterator[Iterator[str]]:
    """Open one file after another, each until the next is asked for."""
    for file in files:
        with open_lines(file, rows.note) as lines:
            yield lines


def _read(file: str, asked: Asked, format_name: str | None) -> Capture:
    rows = SampleRows(file, asked.host, name_of(file))
    if is_zip(file):
        return _of_inventory(file, rows, rvtools.read_workbook(file, rows.note))
    with open_lines(file, rows.note) as lines:
        head = _head_of(lines)
        if not asked.columns and format_name in {None, rvtools.NAME} and rvtools.recognise(head):
            return _of_inventory(file, rows, rvtools.read_export(itertools.chain(head, lines), rows.note))
        name, match, read = _reader_of(file, head, asked, format_name)
        with _refusing(file, name):
            read(itertools.chain(head, lines), asked, rows)
    return _captured(rows, name, match)


@contextlib.contextmanager
def _refusing(source: str, name: str) -> Iterator[None]:
    """Refuse a file of a format that its reader cannot use."""
    try:
        yield
    except (ValueError, OverflowError, csv.Error, RecursionError) as error:
        raise InputError(f"{source}: is of {name}, but {error}") from error


def _captured(rows: SampleRows, name: str, match: Match) -> Capture:
    if not len(rows):
        raise InputError(
            f"{rows.source}: is of {name}, and has no sample" + "".join(f"; {note}" for note in rows.notes)
        )
    return Capture(rows.source, name, match, rows.table(), tuple(rows.notes))


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
