"""Find the load-file line that caused a Plan or engine error.

A Plan is checked as a whole where it is made, and by the engine before it touches anything: these refusals name phase,
job, file set and operation, as in `phase 'p', job 'j': queue_depth is 0`. The load file is looked through for what is named
so, and in it for a key that the text names. If nothing is found, the message has only the file's name.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from assay.errors import FrontEndError, PlanError
from assay.loads.locate import Lines, Path, locate

_NAMED = re.compile(r"(phase|job|file set|operation) '([^']*)'")
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_UNITS = re.compile(r"_(bytes|s)$")
_PROSE = {"file_set", "job", "loop", "name", "of", "op", "phase", "set", "target"}
"""Keys that are more often plain words, or a whole table."""


def placed(error: PlanError, text: str, source: str) -> FrontEndError:
    """Give a refusal of a load file's Plan its file and line.

    Args:
        error: What was message.
        text: The load file, which was read before.
        source: Its name.
    """
    document = tomllib.loads(text)
    message = str(error)
    names: dict[str, str] = {}
    for what, name in _NAMED.findall(message):
        names.setdefault(what, name)
    return FrontEndError(source, _line(document, locate(text), names, message), message)


def _line(document: dict[str, Any], lines: Lines, names: dict[str, str], message: str) -> int | None:
    place: Path | None = None
    if "file set" in names:
        place = _entry(document.get("file_set"), ("file_set",), names["file set"])
    if "phase" in names:
        place = _entry(document.get("phase"), ("phase",), names["phase"]) or place
    if "job" in names:
        place = _job(document, place, names["job"]) or place
    inside = _at(document, place or ())
    if "operation" in names:
        found = (path for path, table in _tables(inside, place or ()) if _is_operation(table, names["operation"]))
        place = next(found, place)
        inside = _at(document, place or ())
    words = [_UNITS.sub("", word) for word in _WORD.findall(_NAMED.sub("", message))]
    return lines.line_of(_key(inside, place or (), words) or place or ())


def _entry(tables: object, path: Path, name: str) -> Path | None:
    entries = tables if isinstance(tables, list) else [tables]
    for index, entry in enumerate(entries):
        if isinstance(entry, dict) and entry.get("name") == name:
            return (*path, index) if isinstance(tables, list) else path
    return None


def _job(document: dict[str, Any], phase: Path | None, name: str) -> Path | None:
    """The job of a name, or the phase's only one, which needs none; of any phase where none is named."""
    phases = document.get("phase")
    count = len(phases) if isinstance(phases, list) else 1
    for place in [phase] if phase else [("phase", index) for index in range(count)]:
        table = _at(document, place)
        jobs = table.get("job") if isinstance(table, dict) else None
        found = _entry(jobs, (*place, "job"), name)
        if found is None and isinstance(table, dict) and table.get("name") == name:
            found = (*place, "job", 0) if isinstance(jobs, list) else (*place, "job")
        if found:
            return found
    return None


def _at(document: Any, path: Path) -> Any:
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _tables(value: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    if isinstance(value, dict):
        yield path, value
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _tables(item, (*path, key))


def _is_operation(table: dict[str, Any], name: str) -> bool:
    kind = table.get("op")
    # A job of one operation has a table there.
    return isinstance(kind, str) and name in (table.get("name"), kind)


def _key(inside: Any, place: Path, words: list[str]) -> Path | None:
    """The key that the first of the words names, as far out as there is one."""
    keys = {key: (*path, key) for path, table in reversed(list(_tables(inside, place))) for key in table}
    return next((keys[word] for word in words if word in keys and word not in _PROSE), None)
