"""One line on a terminal that says what goes on, and is written anew in its place."""

import os
import shutil
import unicodedata
from typing import TextIO

from assay.outward import one_line

_ANEW = "\r\033[K"


class ProgressLine:
    """The line; where its stream is no terminal, nothing is written."""

    def __init__(self, out: TextIO) -> None:
        """Write nothing yet."""
        self._out = out
        self.is_terminal = out.isatty()
        self._is_shown = False

    def show(self, words: str) -> None:
        """Write the line, cut where the terminal would break it."""
        if self.is_terminal:
            self._write(_ANEW + _cut(one_line(words), self._columns() - 1))
            self._is_shown = True

    def clear(self) -> None:
        """Take the line away, before other text is written."""
        if self._is_shown:
            self._write(_ANEW)
            self._is_shown = False

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._out.fileno()).columns
        except OSError:
            return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        # What moves the cursor goes past the filter of the program's own streams (cli/pipes.py).
        getattr(self._out, "write_as_is", self._out.write)(text)
        self._out.flush()


def _cut(text: str, columns: int) -> str:
    """Give as much of a text as fits into so many columns."""
    used = 0
    for place, letter in enumerate(text):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > columns:
            return text[:place]
    return text
