"""A planted cause for each limiter and each ceiling of trust: Assay names it, and reports nothing false with confidence.

`make lab` plants all causes with all parameters.
"""

import sys
from pathlib import Path

import pytest

from e2e.command import need_command
from e2e.planted.carrying_out import carry_out
from e2e.planted.case import Case, Outcome
from e2e.planted.confusion import in_words
from e2e.planted.table import CASES
from suite.outcomes import Disturbed

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]

ATTEMPTS = 3
"""A verdict may be unsure: of so many tries one has to name the cause, and none may say anything false."""


@pytest.mark.parametrize("case", [case for case in CASES if case.is_in_suite], ids=lambda case: case.cause)
def test_a_planted_cause_is_named_and_nothing_false_is_said(case: Case, tmp_path: Path) -> None:
    need_command()
    for attempt in range(ATTEMPTS):
        trial = carry_out(case, case.parameters[0], tmp_path / str(attempt))
        sys.stdout.write(in_words(trial) + "\n")
        if trial.outcome is not Outcome.UNSURE:
            break

    if trial.outcome is Outcome.NOT_PLANTED:
        raise Disturbed(in_words(trial))
    assert trial.outcome is Outcome.RIGHT, in_words(trial)
