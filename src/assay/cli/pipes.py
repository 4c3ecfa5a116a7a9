"""Write to standard output and standard error.

`write` escapes terminal control characters in all text that no console (console.py) prints. The reader of a stream may
close it or stop reading, the terminal may disappear, or the disk may be full. `assay show | head` is no error, and
`assay quick | head` still measures. A message on standard error that cannot be written is dropped: the run continues. So is
an answer on standard output without a reader; an answer that a full disk refuses is an error, which is reported.
"""

import contextlib
import errno
import io
import os
import select
import sys
from typing import TextIO

from assay.outward import plain
from assay.running.stopping import is_asked

_READER_LEFT = frozenset({errno.EPIPE, errno.EIO})
"""A pipe without a reader, a terminal that was hung up."""
_ANSWER, _MESSAGES = 1, 2
_PIECE = 1000
"""Characters that a pipe with any room takes at once: 4 KiB."""
_PATIENCE_MS = 250


class _Outliving(io.TextIOWrapper):
    """Text into a descriptor; what it does not take goes nowhere where that is no error."""

    must_arrive = True
    """Whether errors other than a reader that left are raised."""

    def write(self, text: str) -> int:
        if text == "":
            return 0
        self.write_as_is(plain(text))
        return len(text)

    def write_as_is(self, text: str) -> int:
        """Write what is for the terminal to obey: colours, and where the cursor goes."""
        try:
            if self.must_arrive:
                return super().write(text)
            for start in range(0, len(text), _PIECE):
                if not self._has_room():
                    self.turn_away()
                super().write(text[start : start + _PIECE])
                super().flush()
        except OSError as error:
            self._bear(error)
        return len(text)

    def _has_room(self) -> bool:
        """Wait for a reader that does not read on; no longer than `_PATIENCE_MS` once the user wants an end."""
        room = select.poll()
        room.register(self.fileno(), select.POLLOUT)
        while not room.poll(_PATIENCE_MS):
            if is_asked():
                return bool(room.poll(_PATIENCE_MS))
        return True

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._bear(error)

    def _bear(self, error: OSError) -> None:
        self.turn_away()
        if self.must_arrive and error.errno not in _READER_LEFT:
            raise OSError(error.errno, error.strerror, "standard output") from None

    def turn_away(self) -> None:
        """Let the rest go nowhere."""
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


NARROWEST_COLUMNS = 20


def widen_terminal() -> None:
    """Assume a usable width if the terminal, or $COLUMNS, reports next to no columns.

    Some programs create terminals with 0 columns; a terminal, if there is one, breaks the lines.
    """
    text = os.environ.get("COLUMNS", "")
    if text.isascii() and text.isdigit() and len(text) < 6:
        columns = int(text)
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


def echo(words: object, *, err: bool = False, end: str = "\n") -> None:
    """Print on standard output, or on standard error; at once."""
    # Not by typer: where the locale is ASCII it writes past these streams.
    stream: TextIO | None = sys.stderr if err else sys.stdout
    if stream is not None:  # closed from the start
        stream.write(f"{words}{end}")
        stream.flush()


def outlive_readers() -> None:
    """Keep standard output and standard error usable after their reader left, or if they were closed."""
    for descriptor in (0, _ANSWER, _MESSAGES):
        _hold(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - to the end
    sys.stdout = _wrapped(sys.stdout, _ANSWER)
    sys.stderr = _wrapped(sys.stderr, _MESSAGES)


def _hold(descriptor: int) -> None:
    """Open a descriptor that the caller left closed: else the next file would get it, and messages be written there."""
    try:
        os.fstat(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.open(os.devnull, os.O_RDWR)


def _wrapped(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is None:
        stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - to the end
    if not isinstance(stream, io.TextIOWrapper):  # a test's own
        return stream
    # In the C locale Python lets through what cannot be written only where it is no text to begin with.
    encoding, is_lined, is_direct = stream.encoding, stream.line_buffering, stream.write_through
    outliving = _Outliving(
        stream.detach(), encoding=encoding, errors="backslashreplace", line_buffering=is_lined, write_through=is_direct
    )
    outliving.must_arrive = descriptor == _ANSWER
    return outliving
