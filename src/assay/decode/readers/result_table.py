"""A plain table of results, as people keep them: `label,unit` and a column for each system that was measured.

    # tool: postmark
    # date: 2009-06-12
    label,unit,ext4,xfs
    transactions,ops/s,250,125
    read,MB/s,1.25,0.63

A label `TEST, FILE by RECORD`, such as `write, 64MiB by 4KiB`, is a cell of a surface: a file size and a record size.
A label that comes again, with a unit of the same kind, is a repeat. Rows of one label with units of other kinds (`ops/s`,
then `us p99`) are of one result. An empty cell says that the system has no such value. Lines that begin with `#` say what
tool it was, and when, or are for people.
"""

import csv
import dataclasses
import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Sequence

from assay.decode.claim import Circumstances, Claim, Doing, ToldCell
from assay.decode.units_told import as_claim
from assay.errors import InputError
from assay.units import parse_bytes

NAME = "table"

_HEAD = ["label", "unit"]
_LONGEST_HEAD = 256 << 10
_REMARKS = ("tool", "date", "version")
_MOST_COLUMNS = 1000
_MOST_CHARACTERS = 200
_LARGEST_BYTES = 1 << 62
"""Of a file: more than any file system holds."""
_CELL = re.compile(r"([^,]{1,100}), (\S{1,20}(?: [KMGT]i?B)?) by (\S{1,20}(?: [KMGT]i?B)?)")


def read(text: str) -> Iterable[Claim] | None:
    """Read every value."""
    lines = text.splitlines()
    first = next((line for line in lines if line.strip(", \t") and not line.startswith("#")), "")
    if len(first) > _LONGEST_HEAD or [cell.strip(' \t"').lower() for cell in first.split(",")[:2]] != _HEAD:
        return None
    said = _remarks(lines)
    rows = (
        (number, row) for number, row in enumerate(csv.reader(_plain(lines)), start=1) if row and "".join(row).strip()
    )
    _, head = next(rows, (0, []))
    systems = [name.strip() for name in head[2:]]
    if not systems or len(systems) > _MOST_COLUMNS or len(set(systems)) < len(systems) or not all(systems):
        raise ValueError(
            f"its first line needs a name for each of its 1 to {_MOST_COLUMNS} columns of values, all different"
        )
    during = [
        Circumstances(version=said.get("version"), machine=name[:_MOST_CHARACTERS], measured=_measured(said))
        for name in systems
    ]
    return _claims(rows, during)


def _claims(rows: Iterator[tuple[int, list[str]]], during: Sequence[Circumstances]) -> Iterator[Claim]:
    for number, row in rows:
        if len(row) != len(during) + len(_HEAD):
            raise ValueError(f"its line {number} has {len(row)} cells where the first has {len(during) + len(_HEAD)}")
        label, unit, *cells = (cell.strip() for cell in row)
        if not label or len(label) > _MOST_CHARACTERS:
            raise ValueError(f"its line {number} has no label of up to {_MOST_CHARACTERS} letters")
        place = _cell_of(label)
        for cell, about in zip(cells, during, strict=True):
            if cell:
                yield dataclasses.replace(as_claim(label, Doing.MIXED, _value(cell, number), unit, about), cell=place)


def tool_of(text: str) -> str | None:
    """Give the name of the tool that a table says it is of."""
    return _remarks(text.splitlines()).get("tool")


def _cell_of(label: str) -> ToldCell | None:
    """Read the sizes of a label; None: it has none."""
    told = _CELL.fullmatch(label)
    if told is None:
        return None
    try:
        file_bytes, record_bytes = (parse_bytes(size.replace(" ", "")) for size in told.group(2, 3))
    except InputError:
        return None
    is_size = 0 < record_bytes <= file_bytes <= _LARGEST_BYTES
    return ToldCell(told[1], file_bytes, record_bytes) if is_size else None


def _plain(lines: list[str]) -> list[str]:
    """Leave remarks out, and keep the numbers of the lines."""
    return ["" if line.startswith("#") else line for line in lines]


def _remarks(lines: Iterable[str]) -> dict[str, str]:
    """Give what remarks say of the keys that are known."""
    told = (_said(line) for line in lines if line.startswith("#"))
    return {key: value for key, value in told if key in _REMARKS}


def _said(line: str) -> tuple[str, str]:
    key, _, value = line.lstrip("# ").partition(":")
    return key.strip().lower()[:_MOST_CHARACTERS], value.strip()[:_MOST_CHARACTERS]


def _measured(said: dict[str, str]) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(said["date"])
    except (KeyError, ValueError):  # none, or one for people such as `spring 2009`
        return None


def _value(cell: str, number: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"'{cell[:40]}' in its line {number} is no rate and no time")
    return value
