"""Try every case with all its parameters, again and again, and write the table: `make lab`, as root.

`ASSAY_LAB` is how often; 0: once, with the first parameters of each. Words are parts of the causes to be tried. The page is
written only when all cases were tried with all parameters.
"""

import os
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from e2e.planted.carrying_out import carry_out
from e2e.planted.case import Outcome, Trial
from e2e.planted.confusion import PAGE, in_words, not_tried, table, with_table
from e2e.planted.table import CASES
from testbed.killed import clear_dead_devices, unwind_when_ended
from testbed.leaks import SESSION_VARIABLE, left_over


def main(words: list[str]) -> int:
    """Try them; return an exit code: 1 when a verdict was wrong."""
    unwind_when_ended()
    clear_dead_devices()
    os.environ[SESSION_VARIABLE] = session = uuid.uuid4().hex
    trials: list[Trial] = []
    repeats = int(os.environ.get("ASSAY_LAB", "1"))
    most = None if repeats else 1
    asked_for = [case for case in CASES if not words or any(word in case.cause for word in words)]
    all_of_them = [(case, parameters) for case in asked_for for parameters in case.parameters[:most]]
    with tempfile.TemporaryDirectory(prefix="assay-lab-") as name:
        os.environ |= dict.fromkeys(("XDG_CACHE_HOME", "XDG_DATA_HOME"), name)
        for repeat in range(max(1, repeats)):
            for number, (case, parameters) in enumerate(all_of_them):
                begun_s = time.monotonic()
                try:
                    trial = carry_out(case, parameters, Path(name, f"{repeat}-{number}"))
                except pytest.skip.Exception as skipped:
                    sys.stdout.write(not_tried(case, parameters, str(skipped)) + "\n")
                    continue
                except RuntimeError as broken:
                    sys.stdout.write(not_tried(case, parameters, str(broken), "broken") + "\n")
                    continue
                trials.append(trial)
                sys.stdout.write(f"{in_words(trial)}\n{'':12}after {time.monotonic() - begun_s:.1f} s\n")
                sys.stdout.flush()
    if words or not repeats:
        sys.stdout.write(table(trials))
    else:
        PAGE.write_text(with_table(PAGE.read_text(), trials))
    for left in left_over(session):
        sys.stdout.write(f"left behind: {left}\n")
    return int(any(trial.outcome is Outcome.WRONG for trial in trials))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
