"""Evaluate the sides of a claim: arithmetic over the columns of tables.

    mean(total_seconds[test=1, iteration>4])     a function of a list of values
    iops[filesystem=XFS, scheduler=deadline]     a column, of the rows whose cells are so
    facts.read_latency_ms.before                 a number of a JSON file, by its names
    'write rate'                                 a column whose name has blanks

Operators are + - * / and brackets; a list with a number, or with another of the same rows, is taken value by value.
Conditions are = != < <= > >=, with `*` for any characters. A sum of like units keeps the unit, and so does a function of one
list; a ratio of like units has none; any other product or quotient has an unknown unit, until the sentence
gives one.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from statistics import fmean, geometric_mean, median
from typing import Final, NoReturn

import numpy as np

from assay.analysis.statistics import rank_sum
from assay.analysis.statistics.levels import find_levels, settled
from assay.claims.fact_tables import FactTable, NotThereError, Row, branch, number_of
from assay.claims.stated_units import StatedUnit

MOST_TOKENS: Final = 200
DEEPEST: Final = 20
MOST_SAMPLES: Final = 200
"""Values of a side where each pair of both is looked at."""
SHORTEST_LEVEL: Final = 2
"""Values that `settled` takes for a level."""


class ExpressionError(Exception):
    """A text is no expression; the message has the reason."""


@dataclasses.dataclass(frozen=True)
class Quantity:
    """Values of a side, one or several."""

    values: tuple[float, ...]
    unit: StatedUnit | None = None
    is_plain: bool = False
    """Whether it has no unit by nature: a number of the text, a count, a ratio."""
    rows: tuple[Row, ...] = ()
    """What each value is of, where they are of rows."""
    marks: tuple[int, ...] = ()
    """Which rows of their table: values with the same marks are of the same rows."""
    source: str = ""


_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)*|'[^']+')"
    r"|(?P<where>\[[^\]]*\])"
    r"|(?P<sign>[-+*/(),]))"
)
_CONDITION = re.compile(r"\s*([\w .%/-]+?)\s*(!=|>=|<=|=|>|<)\s*('[^']*'|[^,']*?)\s*(?:,|$)")

_Tokens = list[tuple[str, str]]


def evaluate(text: str, tables: Mapping[str, FactTable]) -> Quantity:
    """Compute an expression.

    Raises:
        ExpressionError: it is none.
        NotThereError: the tables have no such column, row or number, or it cannot be computed (a division by 0).
    """
    return _Evaluation(_tokens(text), tables).whole()


def _tokens(text: str) -> _Tokens:
    found: _Tokens = []
    at, text = 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"'{text[at : at + 20]}' is not understood")
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
        if len(found) > MOST_TOKENS:
            raise ExpressionError(f"it has more than {MOST_TOKENS} words and signs")
    return found


class _Evaluation:
    """Goes through the tokens once, from left to right."""

    def __init__(self, tokens: _Tokens, tables: Mapping[str, FactTable]) -> None:
        self._tokens, self._tables, self._at, self._depth = tokens, tables, 0, 0

    def whole(self) -> Quantity:
        found = self._sum()
        if self._at < len(self._tokens):
            raise ExpressionError(f"'{self._tokens[self._at][1]}' is one too many")
        return found

    def _next(self, *signs: str) -> str | None:
        """Take the next sign if it is one of these."""
        if self._at < len(self._tokens) and self._tokens[self._at] in {("sign", sign) for sign in signs}:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _sum(self) -> Quantity:
        found = self._product()
        while (sign := self._next("+", "-")) is not None:
            found = combine(sign, found, self._product())
        return found

    def _product(self) -> Quantity:
        found = self._one()
        while (sign := self._next("*", "/")) is not None:
            found = combine(sign, found, self._one())
        return found

    def _one(self) -> Quantity:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionError(f"its brackets are more than {DEEPEST} deep")
        try:
            return self._operand()
        finally:
            self._depth -= 1

    def _operand(self) -> Quantity:
        if self._next("-"):
            return combine("*", Quantity((-1.0,), is_plain=True), self._one())
        if self._next("("):
            found = self._sum()
            self._close()
            return found
        if self._at >= len(self._tokens):
            raise ExpressionError("it ends too early")
        kind, word = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return Quantity((float(word),), is_plain=True)
        if kind != "name":
            raise ExpressionError(f"'{word}' is not allowed there")
        if self._next("("):
            return self._call(word)
        where = ""
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "where":
            where = self._tokens[self._at][1][1:-1]
            self._at += 1
        return find(word.strip("'"), where, self._tables)

    def _call(self, name: str) -> Quantity:
        arguments = [self._sum()]
        while self._next(","):
            arguments.append(self._sum())
        self._close()
        if name not in FUNCTIONS:
            raise ExpressionError(f"'{name}' is not a function; there are {', '.join(sorted(FUNCTIONS))}")
        count, function = FUNCTIONS[name]
        if count is not None and len(arguments) != count:
            raise ExpressionError(f"'{name}' takes {count} {'value' if count == 1 else 'values'}")
        try:
            found = function(arguments)
        except (ArithmeticError, ValueError) as error:
            raise NotThereError(f"{name} cannot be computed: {error}") from error
        return _finite(found)

    def _close(self) -> None:
        if not self._next(")"):
            raise ExpressionError("a bracket is not closed")


def _finite(found: Quantity) -> Quantity:
    if not all(map(math.isfinite, found.values)):
        raise NotThereError("its value is not a finite number")
    return found


def combine(sign: str, a: Quantity, b: Quantity) -> Quantity:
    """Compute `a sign b`, value by value; raises NotThereError where the two do not go together."""
    if len(a.values) > 1 < len(b.values) and not (a.marks and a.marks == b.marks and a.source == b.source):
        raise NotThereError("the two lists are not of the same rows")
    size = max(len(a.values), len(b.values))
    of_a, of_b = (side.values * size if len(side.values) == 1 else side.values for side in (a, b))
    try:
        values = tuple(_OPERATIONS[sign](x, y) for x, y in zip(of_a, of_b, strict=True))
    except ArithmeticError as error:
        raise NotThereError(f"it cannot be computed: {error}") from error
    unit, is_plain = _unit(sign, a, b)
    of = a if len(a.values) == size and a.rows else b
    return _finite(Quantity(values, unit, is_plain, of.rows, of.marks, of.source))


_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
}


def _unit(sign: str, a: Quantity, b: Quantity) -> tuple[StatedUnit | None, bool]:
    if a.is_plain and b.is_plain:
        return None, True
    alike = a.unit == b.unit and a.unit is not None
    if sign in {"+", "-"}:
        return (a.unit if alike else None), False
    return None, alike and sign == "/"


# -- references --------------------------------------------------------------------------------------------------------


def find(name: str, where: str, tables: Mapping[str, FactTable]) -> Quantity:
    """Find a column or a number by its name, and the rows that fit; raises NotThereError."""
    table, path = _table_of(name, tables)
    found = (_of_rows if table.tree is None else _of_tree)(name, table, path, _conditions(where))
    if not found.values:
        raise NotThereError(f"no row of {table.name} fits the conditions of {name}")
    return found


_Conditions = Sequence[Callable[[Row], bool]]


def _of_rows(name: str, table: FactTable, path: Sequence[str], conditions: _Conditions) -> Quantity:
    column = ".".join(path)
    if column not in table.columns:
        return Quantity((table.remarks[column],), table.unit_of(column, ()), source=table.name)
    kept = tuple(i for i, row in enumerate(table.rows) if all(fits(row) for fits in conditions))
    values = []
    for i in kept:
        if (value := number_of(table.rows[i][column])) is None:
            raise NotThereError(f"{name} has no number in row {i + 1} of {table.name}")
        values.append(value)
    rows = tuple(table.rows[i] for i in kept)
    return Quantity(tuple(values), table.unit_of(column, rows), rows=rows, marks=kept, source=table.name)


def _of_tree(name: str, table: FactTable, path: Sequence[str], conditions: _Conditions) -> Quantity:
    values, names = branch(table, path)
    kept = tuple(i for i, row in enumerate(names) if all(fits(row) for fits in conditions))
    units = (table.unit_of(part, ()) for part in reversed(path))
    unit = next((unit for unit in units if unit is not None), None)
    rows = tuple(names[i] for i in kept)
    return Quantity(tuple(values[i] for i in kept), unit, rows=rows, marks=kept, source=f"{table.name}.{name}")


def _table_of(name: str, tables: Mapping[str, FactTable]) -> tuple[FactTable, list[str]]:
    first, *rest = name.split(".")
    if first in tables and rest:
        table, path = tables[first], rest
        if table.tree is None and ".".join(path) not in {*table.columns, *table.remarks}:
            raise NotThereError(f"{first} has no '{'.'.join(path)}'; it has {', '.join(table.columns)[:200]}")
        return table, path
    having = [table for table in tables.values() if name in {*table.columns, *table.remarks}]
    having += [table for table in tables.values() if isinstance(table.tree, dict) and first in table.tree]
    if len(having) == 1:
        return having[0], [name] if having[0].tree is None else [first, *rest]
    if having:
        raise NotThereError(f"several tables have '{name}': {', '.join(table.name for table in having)}")
    if not tables:
        raise NotThereError(f"there is no table that could have '{name}'")
    known = ", ".join(dict.fromkeys(column for table in tables.values() for column in table.columns))
    raise NotThereError(f"no table has '{name}'; there are {known[:200] or ', '.join(tables)}")


def _conditions(text: str) -> list[Callable[[Row], bool]]:
    found: list[Callable[[Row], bool]] = []
    at = 0
    while at < len(text):
        match = _CONDITION.match(text, at)
        if match is None or match.end() == at:
            raise ExpressionError(f"'[{text[:60]}]' is not a condition such as [filesystem=XFS, size>=512]")
        found.append(_condition(match[1], match[2], match[3].strip("'")))
        at = match.end()
    return found


def _condition(column: str, sign: str, wanted: str) -> Callable[[Row], bool]:
    number = number_of(wanted)

    def fits(row: Row) -> bool:
        if column not in row:
            raise NotThereError(f"there is no column '{column}' for a condition; there are {', '.join(row)[:200]}")
        cell = number_of(row[column])
        if sign in {"=", "!="}:
            is_alike = cell == number if number is not None and cell is not None else fnmatchcase(row[column], wanted)
            return is_alike == (sign == "=")
        if number is None or cell is None:
            return _refuse_order(column, sign, wanted)
        return _ORDERS[sign](cell, number)

    return fits


def _refuse_order(column: str, sign: str, wanted: str) -> NoReturn:
    raise NotThereError(f"'{column}{sign}{wanted}' compares what is not a number")


_ORDERS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
}


# -- functions ---------------------------------------------------------------------------------------------------------

_Function = Callable[[Sequence[Quantity]], Quantity]


def _whole_of(function: Callable[[Sequence[float]], float]) -> _Function:
    """Make a function of one list, whose value has the list's unit."""
    return lambda given: Quantity((float(function(given[0].values)),), given[0].unit, given[0].is_plain)


def _each_of(function: Callable[[float], float]) -> _Function:
    return lambda given: dataclasses.replace(given[0], values=tuple(float(function(v)) for v in given[0].values))


def _count(given: Sequence[Quantity]) -> Quantity:
    return Quantity((float(len(given[0].values)),), is_plain=True)


def _p(given: Sequence[Quantity], of: Callable[[Sequence[float], Sequence[float]], float]) -> Quantity:
    a, b = (side.values for side in given)
    if max(len(a), len(b)) > MOST_SAMPLES:
        raise ValueError(f"the limit is {MOST_SAMPLES} values per side")
    return Quantity((of(a, b),), is_plain=True)


def _last_level(given: Sequence[Quantity]) -> Quantity:
    """Keep the last level of a series, at which it stayed: what is left without the start (`statistics/levels.py`)."""
    series = given[0]
    last = settled(find_levels(np.array(series.values), shortest=SHORTEST_LEVEL))
    if last is None:
        raise ValueError("the series reached no lasting level")
    kept = slice(last.begin, last.end)
    return dataclasses.replace(series, values=series.values[kept], rows=series.rows[kept], marks=series.marks[kept])


FUNCTIONS: dict[str, tuple[int | None, _Function]] = {
    "mean": (1, _whole_of(fmean)),
    "sum": (1, _whole_of(math.fsum)),
    "min": (1, _whole_of(min)),
    "max": (1, _whole_of(max)),
    "median": (1, _whole_of(median)),
    "geomean": (1, _whole_of(geometric_mean)),
    "first": (1, _whole_of(lambda values: values[0])),
    "last": (1, _whole_of(lambda values: values[-1])),
    "count": (1, _count),
    "abs": (1, _each_of(abs)),
    "ceil": (1, _each_of(math.ceil)),
    "floor": (1, _each_of(math.floor)),
    "log10": (1, _each_of(math.log10)),
    "settled": (1, _last_level),
    "p": (2, lambda given: _p(given, rank_sum.p_value)),
    "p_normal": (2, lambda given: _p(given, rank_sum.p_normal)),
}
"""Number of arguments, and what computes it."""
