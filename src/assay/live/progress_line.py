"""Show progress on one line of a terminal, which is rewritten in place."""

import contextlib
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
        # A terminal that was never given a size has none: 0.
        with contextlib.suppress(OSError):
            if columns := os.get_terminal_size(self._out.fileno()).columns:
                return columns
        return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        # What moves the cursor goes past the filter of the program's own streams (cli/pipes.py).
        getattr(self._out, "write_as_is", self._out.write)(text)
        self._out.flush()


class StatusLines:
    """Lines that stay, and below them a progress line."""

    def __init__(self, out: TextIO) -> None:
        """Write nothing yet."""
        self._out, self._line, self._last = out, ProgressLine(out), ""

    def write_line(self, text: str) -> None:
        """Write a line that stays."""
        self._line.clear()
        self._out.write(f"{text}\n")
        self._out.flush()

    def progress(self, text: str) -> None:
        """Show progress: on a terminal in place of the last text, else on a line if it changed."""
        if self._line.is_terminal:
            self._line.show(text)
        elif text != self._last:
            self.write_line(text)
        self._last = text

    def close(self) -> None:
        """Take the last line away."""
        self._line.clear()


def _cut(text: str, columns: int) -> str:
    """Give as much of a text as fits into `columns` columns."""
    used = 0
    for place, letter in enumerate(text):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > columns:
            return text[:place]
    return text
