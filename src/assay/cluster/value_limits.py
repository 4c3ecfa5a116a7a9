"""Check that numbers and texts from a client have a size that tables, JSON and people can take."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

MOST: Final = 1 << 62
"""Of a number: what is written as JSON and as a table has 64 bits, and sums of two have to have room."""
LONGEST_TEXT: Final = 16_384
"""A path and a sentence."""


def check_values(values: msgspec.Struct) -> None:
    """Check every number and text in a value; raises ValueError for one that is out of range."""
    for value in _values(msgspec.to_builtins(values)):
        if isinstance(value, str):
            if len(value) > LONGEST_TEXT:
                raise ValueError(f"a text has {len(value)} characters")
        elif not -MOST < value < MOST:
            raise ValueError("a number is too large")


def _values(data: Any) -> Iterator[int | float | str]:
    match data:
        case dict():
            for name, value in data.items():
                yield from (name, *_values(value))
        case list() | tuple():
            for value in data:
                yield from _values(value)
        case int() | float() | str():
            yield data
