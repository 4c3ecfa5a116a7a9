"""A plain table of results, as people keep them: `label,unit` and a column for each system that was measured.

    # tool: postmark
    # date: 2009-06-12
    label,unit,ext4,xfs
    transactions,ops/s,250,125
    read,MB/s,1.25,0.63

A label that comes again, with a unit of the same kind, is a repeat. Rows of one label with units of other kinds (`ops/s`,
then `us p99`) are of one result. An empty cell says that the system has no such value. Lines that begin with `#` say what
tool it was, and when, or are for people.
"""

import csv
import datetime as dt
import math
from collections.abc import Sequence

from assay.decode.claim import Circumstances, Claim, Doing
from assay.decode.units_told import as_claim

NAME = "table"

_HEAD = ("label", "unit")
_MOST_COLUMNS = 1000
_MOST_LETTERS = 200


def read(text: str) -> Sequence[Claim] | None:
    """Read every value."""
    said = dict(_said(line) for line in text.splitlines() if line.startswith("#"))
    rows = [
        (number, row)
        for number, row in enumerate(csv.reader(_plain(text.splitlines())), start=1)
        if row and "".join(row).strip()
    ]
    if not rows or tuple(cell.strip().lower() for cell in rows[0][1][:2]) != _HEAD:
        return None
    systems = [name.strip() for name in rows[0][1][2:]]
    if not systems or len(systems) > _MOST_COLUMNS or len(set(systems)) < len(systems) or not all(systems):
        raise ValueError(
            f"its first line needs a name for each of its 1 to {_MOST_COLUMNS} columns of values, all different"
        )
    during = [
        Circumstances(version=said.get("version"), machine=name[:_MOST_LETTERS], measured=_measured(said))
        for name in systems
    ]
    found = []
    for number, row in rows[1:]:
        if len(row) != len(rows[0][1]):
            raise ValueError(f"its line {number} has {len(row)} cells where the first has {len(rows[0][1])}")
        label, unit, *cells = (cell.strip() for cell in row)
        if not label or len(label) > _MOST_LETTERS:
            raise ValueError(f"its line {number} has no label of up to {_MOST_LETTERS} letters")
        found += [
            as_claim(label, Doing.MIXED, _value(cell, number), unit, about)
            for cell, about in zip(cells, during, strict=True)
            if cell
        ]
    return found


def tool_of(text: str) -> str | None:
    """Give the name of the tool that a table says it is of."""
    return dict(_said(line) for line in text.splitlines() if line.startswith("#")).get("tool")


def _plain(lines: list[str]) -> list[str]:
    """Leave remarks out, and keep the numbers of the lines."""
    return ["" if line.startswith("#") else line for line in lines]


def _said(line: str) -> tuple[str, str]:
    key, _, value = line.lstrip("# ").partition(":")
    return key.strip().lower()[:_MOST_LETTERS], value.strip()[:_MOST_LETTERS]


def _measured(said: dict[str, str]) -> dt.datetime | None:
    try:
        began = dt.datetime.fromisoformat(said["date"])
    except (KeyError, ValueError):  # none, or one for people such as `spring 2009`
        return None
    return began.replace(tzinfo=dt.UTC) if began.tzinfo is None else began


def _value(cell: str, number: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"'{cell[:40]}' in its line {number} is no rate and no time")
    return value
