"""Make the phases of a load file that are written once for several values.

`each = { block = ["4KiB", "8KiB"], depth = [1, 32] }` in a phase makes four of it, the last name changing fastest, with
`${block}` and `${depth}` replaced. A value may be a table: `${mix.read}` is its key `read`. What else is written `${name}`
is a parameter of the load (parameters.py).
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import FrontEndError
from assay.loads.locate import Lines, Path
from assay.loads.parameters import BUILT_IN
from assay.loads.placeholders import REFERENCE, Scalar, find_references, replace_references
from assay.plan import limits

KEY = "each"
MOST_CHARACTERS = 16 << 20
"""Of all phases that one becomes, as Python would print them: a bound for memory."""


def expand(document: Mapping[str, Any], source: str, lines: Lines) -> tuple[dict[str, Any], Lines]:
    """Give the document with each such phase as often as it is meant, and where in the text its parts are.

    Raises:
        FrontEndError: `each` is not what it may be, or there would be too many phases.
    """
    phases = document.get("phase")
    tables = phases if isinstance(phases, list) else [phases]
    if not any(isinstance(phase, dict) and KEY in phase for phase in tables):
        return dict(document), lines
    declared = document.get("parameters")
    parameters = frozenset((*BUILT_IN, *(declared if isinstance(declared, dict) else ())))
    made: list[Any] = []
    origins: list[int] = []
    for index, phase in enumerate(tables):
        path: Path = ("phase", index) if isinstance(phases, list) else ("phase",)
        copies = (
            [phase]
            if not isinstance(phase, dict) or KEY not in phase
            else _copies(phase, source, lines, path, parameters)
        )
        made += copies
        origins += [index] * len(copies)
        if len(made) > limits.LISTS["phases"].most:
            raise _error(lines, source, path, f"a run has at most {limits.LISTS['phases'].most:,.0f} phases")
    is_list = isinstance(phases, list)
    return {**document, "phase": made}, lines.repeated("phase", origins, is_list=is_list)


def _copies(phase: dict[str, Any], source: str, lines: Lines, path: Path, parameters: frozenset[str]) -> list[Any]:
    table = phase[KEY]
    if not isinstance(table, dict) or not table:
        raise _error(lines, source, path, 'a table of lists is wanted, such as each = { block = ["4KiB", "8KiB"] }')
    choices = [
        [dict(_named(name, value, source, lines, path)) for value in _values(name, table, source, lines, path)]
        for name in table
    ]
    rest = {key: value for key, value in phase.items() if key != KEY}
    count = math.prod(map(len, choices))
    if count > limits.LISTS["phases"].most or count * len(repr(rest)) > MOST_CHARACTERS:
        raise _error(lines, source, path, f"{count:,} phases would be made of this one; give fewer values")
    combined = [
        {name: value for choice in some for name, value in choice.items()} for some in itertools.product(*choices)
    ]
    if taken := sorted(combined[0].keys() & parameters):
        raise _error(lines, source, path, f"{taken[0]} is a parameter of the load, too; take another name")
    used = {name for name, _ in find_references(rest)}
    unused = next((name for name in combined[0] if name not in used), None)
    if unused is not None:
        raise _error(
            lines, source, path, f"nothing in the phase uses ${{{unused}}}, so several of it would be the same"
        )
    return [replace_references(rest, values, is_last=False) for values in combined]


def _values(name: str, table: Mapping[str, Any], source: str, lines: Lines, path: Path) -> list[Any]:
    values = table[name]
    if not isinstance(values, list) or not values:
        raise _error(lines, source, path, f"{name}: a list of values is wanted")
    return values


def _named(name: str, value: Any, source: str, lines: Lines, path: Path) -> Iterator[tuple[str, Scalar]]:
    pairs = {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    for full, item in pairs.items():
        if not isinstance(item, Scalar) or (isinstance(item, str) and REFERENCE.search(item)):
            raise _error(lines, source, path, f"{full}: a text without references, a number, true or false is wanted")
        yield full, item


def _error(lines: Lines, source: str, path: Path, text: str) -> FrontEndError:
    return FrontEndError(source, lines.line_of((*path, KEY)), f"phase.{KEY}: {text}")
