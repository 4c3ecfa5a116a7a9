"""A line of progress is one line, and what moves the cursor reaches the terminal, as nothing in its words does."""

import io
import sys

from assay.live.progress_line import ProgressLine, StatusLines
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


JOINING = """
import sys
from assay.cli.pipes import outlive_readers
from assay.live.progress_line import StatusLines
outlive_readers()
lines = StatusLines(sys.stderr)
lines.write_line("waiting")
for text in ("1 of 2", "1 of 2", "2 of 2"):
    lines.progress(text)
lines.write_line("all there")
lines.close()
"""


def test_progress_below_lines_that_stay_is_one_line_on_a_terminal_and_a_line_where_it_is_new_elsewhere() -> None:
    told = printed([sys.executable, "-c", JOINING], (COLUMNS, 24), env={"PYTHONPATH": ":".join(sys.path)}, has_all=True)
    elsewhere = io.StringIO()
    lines = StatusLines(elsewhere)
    for text in ("1 of 2", "1 of 2", "2 of 2"):
        lines.progress(text)

    shown = "".join(f"\r\x1b[K{words}" for words in ("1 of 2", "1 of 2", "2 of 2", ""))
    assert told.raw.replace("\r\n", "\n") == f"waiting\n{shown}all there\n"
    assert elsewhere.getvalue() == "1 of 2\n2 of 2\n"
