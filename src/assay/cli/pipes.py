"""Output into a pipe whose reader leaves: `assay show | head` is no error, and `assay quick | head` still measures."""

import io
import os
import sys
from typing import TextIO


class _Outliving(io.TextIOWrapper):
    """Text into a descriptor; when nobody reads it any more, the rest goes nowhere."""

    def write(self, text: str) -> int:
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


NARROWEST_COLUMNS = 20


def widen_terminal() -> None:
    """Have text laid out for some columns where the terminal, or $COLUMNS, says that there are next to none.

    Some programs make terminals of no columns at all; the terminal, if there is one, breaks the lines.
    """
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and len(told) < 6:
        columns = int(told)
    else:
        os.environ.pop("COLUMNS", None)
        columns = next((there for stream in (0, 1, 2) if (there := _columns(stream))), NARROWEST_COLUMNS)
    if columns < NARROWEST_COLUMNS:
        os.environ["COLUMNS"] = str(NARROWEST_COLUMNS)


def _columns(stream: int) -> int:
    try:
        return os.get_terminal_size(stream).columns
    except OSError:
        return 0


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
    # In the C locale Python lets through what cannot be written only where it is no text to begin with.
    errors = "backslashreplace" if stream.errors in {"strict", "surrogateescape"} else stream.errors
    encoding, is_lined, is_direct = stream.encoding, stream.line_buffering, stream.write_through
    return _Outliving(
        stream.detach(), encoding=encoding, errors=errors, line_buffering=is_lined, write_through=is_direct
    )
