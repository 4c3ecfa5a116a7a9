"""The command line of a small classic tool: options and whole numbers, read strictly.

argparse ends the program and writes to standard error by itself; here a fault is an `InputError`, like that of any other
input.
"""

import argparse
from typing import NoReturn

from assay.errors import InputError

_LARGEST = 2**63 - 1
_MOST_DIGITS = 19


class Arguments(argparse.ArgumentParser):
    """Reads a tool's arguments; raises InputError with the tool's name, the fault and the usage."""

    def __init__(self, tool: str, usage: str) -> None:
        """A reader without arguments; `usage` is what stands after the tool's name."""
        super().__init__(prog=tool, usage=f"{tool} {usage}", add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise InputError(f"{self.prog}: {message}. Usage: assay {self.usage}")


def whole_number(text: str, name: str) -> int:
    """Read a whole number in decimal digits.

    Raises:
        InputError: Anything else, or a number below 1 or beyond 63 bits.
    """
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else -1
    if not 1 <= number <= _LARGEST:
        raise InputError(f"{name} is '{text}'; it is a whole number of 1 or more, without a unit")
    return number
