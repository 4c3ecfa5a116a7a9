"""Compute the results of a run, with progress on standard error if it takes long, as with very many clients."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from assay.analysis.record import RunRecord
from assay.claims.expected import expected_document
from assay.live.progress_line import ProgressLine
from assay.results import Document

_FIRST_S = 2.0
"""Time before the first line."""
_AGAIN_S = 0.5
_AGAIN_LINE_S = 10.0
"""Where a line cannot be written over."""


class AnalysisProgress:
    """One line for all clients: `analysing clients: 120 of 1,000`."""

    def __init__(self, out: TextIO, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin to count the time."""
        self._out, self._now_s = out, now_s
        self._line = ProgressLine(out)
        self._due_s = now_s() + _FIRST_S

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` clients are analysed."""
        now_s = self._now_s()
        if now_s < self._due_s:
            return
        words = f"analysing clients: {done:,} of {total:,}"
        if self._line.is_terminal:
            self._due_s = now_s + _AGAIN_S
            self._line.show(words)
        else:
            self._due_s = now_s + _AGAIN_LINE_S
            self._out.write(f"{words}\n")
            self._out.flush()

    def end(self) -> None:
        """Take the line away."""
        self._line.clear()


def document_with_progress(run: RunRecord) -> Document:
    """Compute the result document of a run, sealed or not, with progress."""
    progress = AnalysisProgress(sys.stderr)
    try:
        return expected_document(run, progress.update)
    finally:
        progress.end()
