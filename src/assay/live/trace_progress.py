"""Show how much of a trace is read, on standard error, if that takes long."""

import sys
import time
from types import TracebackType
from typing import Self

from assay.live.progress_line import ProgressLine
from assay.units import format_bytes, format_number, format_share

_FIRST_S = 2.0
"""Time before the first line."""
_AGAIN_LINE_S = 10.0
"""Where a line cannot be written over."""


class TraceProgress:
    """One line: `reading: 12.0M requests, 1.20 GiB, 34.0 %`. As a context manager it is taken away with the block."""

    def __init__(self, activity: str, size_bytes: int | None) -> None:
        """Begin to count the time.

        Args:
            activity: What is done.
            size_bytes: Of all traces; None where that is not known.
        """
        self._activity, self._size_bytes = activity, size_bytes
        self._line = ProgressLine(sys.stderr)
        self._due_s = time.monotonic() + _FIRST_S

    def update(self, read_bytes: int, requests: int) -> None:
        """Show what is read by now."""
        if time.monotonic() < self._due_s:
            return
        words = f"{self._activity}: {format_number(requests)} requests, {format_bytes(read_bytes)}"
        if self._size_bytes:
            words += f", {format_share(min(1.0, read_bytes / self._size_bytes))}"
        if self._line.is_terminal:
            self._line.show(words)
        else:
            self._due_s = time.monotonic() + _AGAIN_LINE_S
            sys.stderr.write(f"{words}\n")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        """Give the progress."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        self._line.clear()
