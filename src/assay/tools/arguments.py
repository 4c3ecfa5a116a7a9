"""The command line of a small classic tool: options and whole numbers, read strictly.

argparse ends the program and writes to standard error by itself; here a fault is an `InputError`, like that of any other
input.
"""

import argparse
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from assay.errors import InputError
from assay.input_text import check_count

_LARGEST = 1 << 62
_MOST_DIGITS = 19
_SHOWN_CHARACTERS = 40
_MOST_SMALL: Final = 100
"""Most words a tool accepts: argparse takes seconds for thousands."""


class Arguments(argparse.ArgumentParser):
    """Reads a tool's arguments; raises InputError with the tool's name, the fault and the usage."""

    def __init__(self, tool: str, usage: str) -> None:
        """Make a reader without arguments; `usage` follows the tool's name."""
        super().__init__(prog=tool, usage=f"{tool} {usage}", add_help=False, allow_abbrev=False)

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Give the values by name; raises InputError."""
        check_count(words, self.prog, _MOST_SMALL)
        return vars(self.parse_args(list(words)))

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise InputError(f"{self.prog}: {message}. Usage: assay {self.usage}")


def digits(text: str) -> int | None:
    """Read decimal digits; None: it is something else, or more of them than any number here has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def cut(text: str) -> str:
    """Shorten a word so that a message of one line can hold it."""
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"


def whole_number(text: str, name: str, *, most: float = _LARGEST) -> int:
    """Read a whole number in decimal digits.

    Raises:
        InputError: Anything else, or a number below 1 or above `most`.
    """
    number = digits(text)
    if number is None or number < 1:
        raise InputError(f"{name} is '{cut(text)}'; it must be a whole number of 1 or more, without a unit")
    if number > most:
        raise InputError(f"{name} is {number}; the limit is {most:.0f}")
    return number
