"""Read a JSON document of a program that may have been ended in the middle of it."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from assay.errors import InputError

MOST_DOCUMENT: Final = 256 << 20
"""Characters: what is parsed takes several times as much memory."""
_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]')
_CLOSERS: Final = {"{": "}", "[": "]"}


def text_of(lines: Iterable[str], source: str) -> str:
    """Put the lines of a document together; raises InputError where it is too long."""
    parts: list[str] = []
    characters = 0
    for line in lines:
        characters += len(line) + 1
        if characters > MOST_DOCUMENT:
            raise InputError(
                f"{source}: a document of more than {MOST_DOCUMENT >> 20} MiB; cut it to the time that matters"
            )
        parts.append(line)
    return "\n".join(parts)


def parse_json(text: str, note: Callable[[str], None]) -> tuple[Any, bool]:
    """Read a document; one without an end is read as far as its last whole part, and then the second value is True.

    Raises:
        ValueError: It is none.
    """
    try:
        return json.loads(text), False
    except json.JSONDecodeError as error:
        mended = _mended(text)
        if mended is None:
            raise
        try:
            document = json.loads(mended)
        except json.JSONDecodeError:
            raise error from None
    note("the file is cut off: it is read as far as its last whole part")
    return document, True


def _mended(text: str) -> str | None:
    """Cut a text behind the last object or list that is whole, and close what is open there."""
    is_open: list[str] = []
    end, closers = 0, ""
    pending = False
    for sign in _SIGNS.finditer(text):
        found = sign[0]
        if found in _CLOSERS:
            if pending:
                closers, pending = "".join(reversed(is_open)), False
            is_open.append(_CLOSERS[found])
        elif found in {"}", "]"}:
            if not is_open or is_open.pop() != found:
                return None
            end, pending = sign.end(), True
    if pending:
        closers = "".join(reversed(is_open))
    return text[:end] + closers if end and closers else None
