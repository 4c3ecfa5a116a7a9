from assay.verdicts import ComparisonVerdict as Verdict
from e2e.planted.case import Outcome
from e2e.planted_differences import PLANTS

BY_NAME = {plant.name: plant for plant in PLANTS}


def outcomes(name: str) -> dict[str, set[str]]:
    """Verdicts by what they are worth for a plant."""
    found: dict[str, set[str]] = {outcome: set() for outcome in (Outcome.RIGHT, Outcome.WRONG, Outcome.UNSURE)}
    for verdict in Verdict:
        found[BY_NAME[name].assess(verdict)].add(verdict)
    return found


def test_a_tenth_less_is_worse_and_nothing_else() -> None:
    found = outcomes("10 % lower")

    assert found["right"] == {"worse"}
    assert found["wrong"] == {"better", "equivalent", "different_small"}


def test_a_difference_as_large_as_what_matters_is_neither_better_nor_equivalent() -> None:
    found = outcomes("3 % lower")

    assert found["wrong"] == {"better", "equivalent"}
    assert found["unsure"] == {"indicative", "not_comparable"}


def test_equal_sides_are_equivalent() -> None:
    found = outcomes("equal")

    assert found["right"] == {"equivalent"}
    assert found["wrong"] == {"better", "worse"}


def test_a_neighbour_makes_no_side_better_or_worse() -> None:
    found = outcomes("equal, with a neighbour")

    assert found["wrong"] == {"better", "worse"}
    assert found["unsure"] == set()
