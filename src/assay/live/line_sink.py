"""Write lines for another program: to a file, a FIFO, a descriptor, or standard output.

Whoever reads them is never worth more than the run: a reader that does not read on is not waited for, one that leaves is
done without, and a full disk is reported once. Lines are handed on whole or not at all; those that nobody took in time
are counted.
"""

import errno
import functools
import os
import select
import stat
import sys
import time
from pathlib import Path
from typing import Final

from assay.errors import InputError, RunError
from assay.outputs import refuse_foreign, way_to

STANDARD_OUTPUT: Final = "-"
_STANDARD_OUTPUT: Final = 1
_PIECE: Final = 4096
"""Bytes that a pipe with any room takes at once (PIPE_BUF)."""
_MOST_WAITING_BYTES: Final = 1 << 20
_PATIENCE_S: Final = 2.0
"""For a reader at the end of a run."""
_LINKED = ("/dev/", "/proc/")
"""Where links are the system's own, such as /dev/fd/3."""
_READER_LEFT = frozenset({errno.EPIPE, errno.EIO, errno.ECONNRESET})


class LineSink:
    """Takes lines, and hands on as many as fit without waiting."""

    def __init__(self, descriptor: int, name: str) -> None:
        """Hand lines on to an open descriptor; `name` is for messages."""
        self._descriptor = descriptor
        self._name = name
        self._waiting = bytearray()
        self._left_out = 0
        self._is_open = True

    def put(self, line: bytes) -> None:
        """Take a line, which ends with its line end."""
        if len(self._waiting) + len(line) > _MOST_WAITING_BYTES:
            self._left_out += 1
        elif self._is_open:
            self._waiting += line
        self.write_on()

    def write_on(self, patience_s: float = 0.0) -> None:
        """Hand on what waits, as far as it fits."""
        until = time.monotonic() + patience_s
        while self._is_open and self._waiting and self._has_room(max(0.0, until - time.monotonic())):
            try:
                written = os.write(self._descriptor, self._waiting[:_PIECE])
            except BlockingIOError:
                return
            except OSError as error:
                self._give_up(error)
                return
            del self._waiting[:written]

    def finish(self) -> None:
        """Write the waiting lines, with some patience, and report how many were dropped."""
        self.write_on(_PATIENCE_S)
        if self._left_out or (self._is_open and self._waiting):
            lines = self._left_out + self._waiting.count(b"\n")
            sys.stderr.write(
                f"--live-json {self._name}: {lines} lines were left out, because nobody took them in time\n"
            )
            self._left_out = 0

    def _has_room(self, patience_s: float) -> bool:
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        return bool(room.poll(patience_s * 1000))

    def _give_up(self, error: OSError) -> None:
        self._is_open = False
        self._waiting.clear()
        if error.errno not in _READER_LEFT:
            sys.stderr.write(f"--live-json {self._name}: no line is written any more: {error.strerror}\n")


@functools.cache
def line_sink(path: str) -> LineSink:
    """Open what a user names, once for all runs of a command; a file that is there is emptied, a FIFO waits for its reader.

    Args:
        path: `-` for standard output.

    Raises:
        InputError: it is a directory, a link or a file of somebody else's, or its folder is not there.
        RunError: it cannot be opened.
    """
    if path == STANDARD_OUTPUT:
        return LineSink(os.dup(_STANDARD_OUTPUT), "standard output")
    try:
        return LineSink(_opened(path), path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise InputError(
            f"--live-json {path}: {error.strerror}; name a file in a folder that is there, or -"
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(f"--live-json {path}: is a link, which is not followed; name the file itself") from error
        raise RunError(f"--live-json {path}: cannot be opened: {error.strerror}. Nothing was measured") from error


def _opened(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOCTTY | os.O_CLOEXEC
    if os.path.abspath(path).startswith(_LINKED):  # noqa: PTH100 - of text
        return os.open(path, flags | os.O_TRUNC, 0o666)
    place = Path(path)
    with way_to(place.parent) as folder:
        descriptor = os.open(folder / place.name, flags | os.O_NOFOLLOW, 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        try:
            refuse_foreign(os.fstat(descriptor), place)
            os.ftruncate(descriptor, 0)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor
