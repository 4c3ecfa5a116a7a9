"""Read a file that another process writes, line by line."""

import os
from pathlib import Path
from typing import BinaryIO

from assay.errors import naming

READ_BYTES = 4 << 20
"""Most that is read at a time."""


class GrowingFile:
    """Reads whole lines of a file that grows."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        """Take a file at its start, which the caller closes. `path` is for messages."""
        self._stream = stream
        self._path = path
        self._partial = b""
        self._offset = 0

    def are_over(self) -> bool:
        """Whether everything that the file holds by now has been read."""
        with naming(self._path):
            return self._stream.tell() >= os.fstat(self._stream.fileno()).st_size

    def are_lost(self) -> bool:
        """Whether its name leads to it no more (removed, moved, unmounted): nobody will find what is written there."""
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._stream.fileno()))
        except FileNotFoundError:
            return True
        except OSError:  # who may not look, or gets no answer, does not know
            return False

    def read(self) -> list[tuple[int, bytes]]:
        """Whole lines that are new, each with its offset in the file; not all at once where there are many.

        Without a bound, what writes faster than it is read would fill memory and disk before anybody looked at it.
        """
        with naming(self._path):
            *lines, self._partial = (self._partial + self._stream.read(READ_BYTES)).split(b"\n")
        placed = []
        for line in lines:
            placed.append((self._offset, line))
            self._offset += len(line) + 1
        return placed
