"""A line of progress is one line, and what moves the cursor reaches the terminal, as nothing in its words does."""

import io
import sys

from assay.live.progress_line import ProgressLine
from bench.terminal import printed

COLUMNS = 30
SHOWN = ("round 1", "x" * 100, "記" * 100, "a\x1b[2Jb\nc")
PROGRAM = f"""
import sys
from assay.cli.pipes import outlive_readers
from assay.live.progress_line import ProgressLine
outlive_readers()
line = ProgressLine(sys.stderr)
for words in {SHOWN!r}:
    line.show(words)
line.clear()
line.clear()
"""


def test_it_is_written_over_itself_cut_at_the_last_column_and_taken_away() -> None:
    told = printed([sys.executable, "-c", PROGRAM], (COLUMNS, 24), env={"PYTHONPATH": ":".join(sys.path)}, has_all=True)

    fitting = ("round 1", "x" * (COLUMNS - 1), "記" * ((COLUMNS - 1) // 2), "a\ufffd[2Jb; c", "")
    assert told.raw == "".join(f"\r\x1b[K{words}" for words in fitting)


def test_where_there_is_no_terminal_nothing_is_written() -> None:
    out = io.StringIO()
    line = ProgressLine(out)

    line.show("round 1")
    line.clear()

    assert out.getvalue() == ""
