"""Works the results of a run out, and tells on standard error how far that is, where it takes long: of very many clients."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from assay.analysis.record import RunRecord
from assay.claims.expected import expected_document
from assay.live.progress_line import ProgressLine
from assay.results import Document

_FIRST_S = 2.0
"""What is done before says nothing."""
_AGAIN_S = 0.5
_AGAIN_LINE_S = 10.0
"""Where a line cannot be written over."""


class JudgingTold:
    """One line for all clients: `judging clients: 120 of 1,000`."""

    def __init__(self, out: TextIO, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin to count the time."""
        self._out, self._now_s = out, now_s
        self._line = ProgressLine(out)
        self._due_s = now_s() + _FIRST_S

    def tell(self, done: int, total: int) -> None:
        """So many of the clients have been judged."""
        now_s = self._now_s()
        if now_s < self._due_s:
            return
        words = f"judging clients: {done:,} of {total:,}"
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


def document_told(run: RunRecord) -> Document:
    """Compute the result document of a run, sealed or not, and tell how far that is."""
    told = JudgingTold(sys.stderr)
    try:
        return expected_document(run, told.tell)
    finally:
        told.end()
