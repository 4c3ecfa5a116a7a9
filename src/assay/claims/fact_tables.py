"""Tables that claims are held to: CSV with the names of its columns, or JSON.

Lines of a CSV file that begin with `#` are remarks. `# unit: KB/s` gives the unit of the columns whose names have none,
and a column `unit` that of the numbers of its row; `# stations: 9` is a number by that name. JSON is an object of
numbers, lists and objects, reached by their names with dots between them, or a list of objects, which is a table; the
value of `data` counts where there is such a key.

A table may come from another author: rows, columns and depth have bounds.
"""

import csv
import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from assay.claims.stated_units import StatedUnit, unit_of_name, unit_of_words
from assay.errors import InputError

MOST_ROWS = 20_000
MOST_COLUMNS = 200
MOST_CHARACTERS = 1_000
"""Of a cell."""

Row: TypeAlias = Mapping[str, str]
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

_REMARK = re.compile(r"#\s*(\w{1,60}):\s*(.*)")
_UNIT_COLUMN = "unit"


class NotThereError(Exception):
    """The tables do not have what a claim is about; the text has the details."""


@dataclasses.dataclass(frozen=True)
class FactTable:
    """Rows of named cells, or a tree of numbers."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    unit: StatedUnit | None = None
    tree: Json = None
    """Of JSON that is no table."""
    remarks: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Numbers above a CSV table."""

    def unit_of(self, column: str, rows: Sequence[Row]) -> StatedUnit | None:
        """Give the unit of a column in some rows; None: unknown, or not the same in all rows."""
        if (named := unit_of_name(column)) is not None:
            return named
        words = {row.get(_UNIT_COLUMN, "") for row in rows}
        if _UNIT_COLUMN in self.columns:
            return unit_of_words(words.pop()) if len(words) == 1 else None
        return self.unit


def number_of(text: str) -> float | None:
    """Read a cell; None: it is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_csv(text: str, name: str, source: str) -> FactTable:
    """Read a table; raises InputError with the line."""
    lines = text.splitlines()
    remarks = {found[1]: found[2] for line in lines if (found := _REMARK.match(line))}
    numbered = {key: value for key, text in remarks.items() if (value := number_of(text)) is not None}
    numbers = [number for number, line in enumerate(lines, start=1) if not line.startswith("#") and line.strip()]
    reader = csv.reader(lines[number - 1] for number in numbers)
    if len(numbers) > MOST_ROWS + 1:
        raise InputError(f"{source}: has {len(numbers) - 1} rows; the limit is {MOST_ROWS}")
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    try:
        for number, cells in zip(numbers, reader, strict=False):
            if max(map(len, cells), default=0) > MOST_CHARACTERS:
                raise InputError(f"{source}:{number}: a cell has more than {MOST_CHARACTERS} characters")
            if not columns:
                columns = _columns(cells, f"{source}:{number}")
            elif len(cells) != len(columns):
                raise InputError(f"{source}:{number}: has {len(cells)} cells; the first line names {len(columns)}")
            else:
                rows.append(dict(zip(columns, (cell.strip() for cell in cells), strict=True)))
    except csv.Error as error:
        raise InputError(f"{source}: is no CSV ({error})") from error
    if not rows:
        raise InputError(f"{source}: has no rows; the first line names the columns, the others hold values")
    unit = unit_of_words(remarks.get(_UNIT_COLUMN, ""))
    return FactTable(name, columns, tuple(rows), unit, remarks=numbered)


def _columns(cells: Sequence[str], where: str) -> tuple[str, ...]:
    columns = tuple(cell.strip() for cell in cells)
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"{where}: has {len(columns)} columns; the limit is {MOST_COLUMNS}")
    if len(set(columns)) < len(columns) or not all(columns):
        raise InputError(f"{where}: its first line names the columns, all different")
    return columns


def of_json(document: Json, name: str, source: str) -> FactTable:
    """Make a table of a JSON document; raises InputError."""
    tree = document.get("data", document) if isinstance(document, dict) else document
    if not isinstance(tree, dict | list) or not tree:
        raise InputError(f"{source}: expected an object of facts, or a list of objects")
    if not (isinstance(tree, list) and all(isinstance(item, dict) for item in tree)):
        return FactTable(name, (), (), tree=tree)
    items = [item for item in tree if isinstance(item, dict)]
    columns = tuple(dict.fromkeys(key for item in items for key in item))
    if len(items) > MOST_ROWS or len(columns) > MOST_COLUMNS:
        raise InputError(f"{source}: the limit is {MOST_ROWS} rows of {MOST_COLUMNS} columns")
    rows = tuple({key: str(item[key]) if key in item else "" for key in columns} for item in items)
    return FactTable(name, columns, rows)


def branch(table: FactTable, path: Sequence[str]) -> tuple[tuple[float, ...], tuple[Row, ...]]:
    """Give the numbers at a place of a tree, and what names each; raises NotThereError."""
    at: Json = table.tree
    for part in path:
        if not isinstance(at, dict) or part not in at:
            known = ", ".join(at) if isinstance(at, dict) else "none"
            raise NotThereError(f"{table.name} has no '{'.'.join(path)}'; there are {known[:200]}")
        at = at[part]
    items = list(at.items()) if isinstance(at, dict) else list(enumerate(at)) if isinstance(at, list) else [("", at)]
    found = [
        (str(key), value) for key, value in items if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(found) < len(items) or not found or not all(math.isfinite(value) for _, value in found):
        raise NotThereError(f"{table.name}: '{'.'.join(path)}' is neither a number nor a list of numbers")
    return tuple(float(value) for _, value in found), tuple({"name": key} for key, _ in found)
