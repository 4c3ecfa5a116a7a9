"""The program's output streams: what is written to them by anyone goes out here.

They outlive a reader who leaves (`assay show | head` is no error, and `assay quick | head` still measures), and nothing in a
text is obeyed by a terminal: all that is printed but by a console (console.py) passes through `write`.
"""

import io
import os
import sys
from typing import TextIO

from assay.outward import plain


class _Outliving(io.TextIOWrapper):
    """Text into a descriptor; when nobody reads it any more, the rest goes nowhere."""

    def write(self, text: str) -> int:
        self.write_as_is(plain(text))
        return len(text)

    def write_as_is(self, text: str) -> int:
        """Write what is for the terminal to obey: colours, and where the cursor goes."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self.turn_away()
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self.turn_away()

    def turn_away(self) -> None:
        """Let the rest go nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def say(words: object, *, err: bool = False, end: str = "\n") -> None:
    """Print on standard output, or on standard error; at once."""
    # Not by typer: where the locale is ASCII it writes past these streams.
    stream: TextIO | None = sys.stderr if err else sys.stdout
    if stream is not None:  # closed from the start
        stream.write(f"{words}{end}")
        stream.flush()


def let_go() -> None:
    """Let what standard output could not take go nowhere: Python tries again at its end, and would end with 120."""
    if isinstance(sys.stdout, _Outliving):
        sys.stdout.turn_away()


def outlive_readers() -> None:
    """Let standard output and standard error outlive whoever reads them."""
    sys.stdout = _wrapped(sys.stdout)
    sys.stderr = _wrapped(sys.stderr)


def _wrapped(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):  # closed from the start, or a test's own
        return stream
    encoding, is_lined, is_direct = stream.encoding, stream.line_buffering, stream.write_through
    return _Outliving(
        stream.detach(), encoding=encoding, errors="backslashreplace", line_buffering=is_lined, write_through=is_direct
    )
