"""Read a number that a program printed, with a point or a comma before its decimals."""

import re
from typing import Final

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:[.,][0-9]{0,40})?|[.,][0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?")
_MOST_CHARACTERS: Final = 96


def parse_number(text: str) -> float:
    """Read a number: no program that is read here puts commas between thousands.

    Raises:
        ValueError: It is none.
    """
    if len(text) > _MOST_CHARACTERS or _NUMBER.fullmatch(text) is None:
        raise ValueError(f"'{text[:40]}' is no number")
    return float(text.replace(",", "."))
