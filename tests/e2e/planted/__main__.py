"""Try every case with all its parameters, again and again, and write the table: `make lab`, as root.

`ASSAY_LAB` is how often. Words are parts of the causes to be tried; the page is written only when all of them were.
"""

import os
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from e2e.planted.carrying_out import carry_out
from e2e.planted.case import Outcome, Trial
from e2e.planted.confusion import PAGE, in_words, not_tried, table, with_table
from e2e.planted.table import CASES
from testbed.leaks import SESSION_VARIABLE, left_over


def main(words: list[str]) -> int:
    """Try them; return an exit code: 1 when a verdict was wrong."""
    os.environ[SESSION_VARIABLE] = session = uuid.uuid4().hex
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="assay-lab-") as name:
        os.environ |= {variable: name for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME")}
        for repeat in range(int(os.environ.get("ASSAY_LAB", "1"))):
            for number, (case, parameters) in enumerate((case, each) for case in CASES for each in case.parameters):
                if words and not any(word in case.cause for word in words):
                    continue
                try:
                    trial = carry_out(case, parameters, Path(name, f"{repeat}-{number}"))
                except pytest.skip.Exception as skipped:
                    sys.stdout.write(not_tried(case, parameters, str(skipped)) + "\n")
                    continue
                trials.append(trial)
                sys.stdout.write(in_words(trial) + "\n")
                sys.stdout.flush()
    if words:
        sys.stdout.write(table(trials))
    else:
        PAGE.write_text(with_table(PAGE.read_text(), trials))
    for left in left_over(session):
        sys.stdout.write(f"left behind: {left}\n")
    return int(any(trial.outcome is Outcome.WRONG for trial in trials))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
