"""Does Assay say what limits a number, and never with confidence what is not so? Each planted cause once."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from e2e.command import need_command
from e2e.planted.carrying_out import carry_out
from e2e.planted.case import Case, Outcome
from e2e.planted.confusion import in_words
from e2e.planted.table import CASES

pytestmark = pytest.mark.testbed

RIGHT_SHARE = 0.95
"""Of the cases that were tried: the least that has to be right."""


@pytest.fixture(scope="module")
def outcomes() -> Counter[Outcome]:
    """How the cases came out, so far."""
    need_command()
    return Counter()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cause)
def test_of_a_planted_cause_nothing_false_is_said_with_confidence(
    case: Case, outcomes: Counter[Outcome], tmp_path: Path
) -> None:
    trial = carry_out(case, case.parameters[0], tmp_path)

    sys.stdout.write(in_words(trial) + "\n")
    outcomes[trial.outcome] += 1
    assert trial.outcome is not Outcome.NOT_PLANTED, in_words(trial)
    assert trial.outcome is not Outcome.WRONG, in_words(trial)


def test_planted_causes_are_named(outcomes: Counter[Outcome]) -> None:
    tried = outcomes.total()
    if not tried:
        pytest.skip("no cause was planted")

    assert outcomes[Outcome.RIGHT] >= RIGHT_SHARE * tried, dict(outcomes)
