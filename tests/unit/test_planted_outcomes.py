"""Is a verdict about a planted cause called right, unsure or wrong as it should be?"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.planted.case import Case, Expected, Outcome, Said, Scene, judged
from e2e.planted.confusion import BEGIN, END, PAGE, with_table
from e2e.planted.table import CASES

SLOW = Expected(
    limiter=frozenset({"operation_latency"}), measures=frozenset({"storage"}), evidence="the device", is_healthy=True
)
LIES = Expected(found=frozenset({"foreign-io"}), found_from="warning", trust=frozenset({"weak", "no"}))


def said(
    limiter: str = "operation_latency",
    confidence: str = "high",
    *,
    measures: str = "storage",
    trust: str = "yes",
    reasons: tuple[str, ...] = (),
    **findings: str,
) -> Said:
    """What a row might say."""
    row: dict[str, Any] = {
        "limiter": {"verdict": limiter, "confidence": confidence, "evidence": ["90 % of the latency is the device"]},
        "measures": measures,
        "trust": {"level": trust, "reasons": [{"id": name, "text": ""} for name in reasons]},
        "trusted": trust == "yes",
        "steady": None,
        "findings": [
            {"id": name.replace("_", "-"), "severity": severity, "text": f"a {severity}"}
            for name, severity in findings.items()
        ],
    }
    return Said(row)


@contextmanager
def nothing(_folder: Path) -> Iterator[Scene]:
    """No plant."""
    yield Scene(directory=_folder, load="")


def outcome(expected: Expected, row: Said, **scene: Any) -> Outcome:
    """What a row is worth."""
    case = Case(cause="planted", plant=nothing, parameters=({},), expected=expected)
    return judged(case, {}, Scene(directory=Path(), load="", **scene), row).outcome


@pytest.mark.parametrize(
    ("expected", "row", "worth"),
    [
        (SLOW, said(), Outcome.RIGHT),
        (SLOW, said(foreign_io="note"), Outcome.RIGHT),
        (SLOW, said(trust="weak", reasons=("small-sample",), small_sample="weak"), Outcome.RIGHT),
        (SLOW, said(trust="weak", reasons=("not-steady",)), Outcome.UNSURE),
        (SLOW, said(foreign_io="warning"), Outcome.UNSURE),
        (SLOW, said("unknown", "low"), Outcome.UNSURE),
        (SLOW, said("client_cpu_all", "medium"), Outcome.UNSURE),
        (SLOW, said("client_cpu_all"), Outcome.WRONG),
        (SLOW, said(measures="unknown"), Outcome.UNSURE),
        (SLOW, said(measures="page_cache"), Outcome.WRONG),
        (SLOW, said(measures="page_cache", trust="weak"), Outcome.UNSURE),
        (LIES, said(trust="no", foreign_io="warning"), Outcome.RIGHT),
        (LIES, said(trust="no", foreign_io="note"), Outcome.UNSURE),
        (LIES, said(trust="no"), Outcome.UNSURE),
        (LIES, said(foreign_io="warning"), Outcome.WRONG),
        (Expected(found=LIES.found, found_text="a note"), said(foreign_io="note"), Outcome.RIGHT),
        (Expected(found=LIES.found, found_text="a note"), said(foreign_io="weak"), Outcome.UNSURE),
    ],
)
def test_a_verdict_is_worth_what_the_plant_makes_of_it(expected: Expected, row: Said, worth: Outcome) -> None:
    assert outcome(expected, row) is worth


def test_a_trusted_number_that_is_not_so_is_wrong_and_a_plant_that_did_not_take_is_no_trial() -> None:
    assert outcome(SLOW, said(), is_true=lambda _said: False) is Outcome.WRONG
    assert outcome(SLOW, said(trust="weak", reasons=("small-sample",)), is_true=lambda _said: False) is Outcome.RIGHT
    assert outcome(SLOW, said(), names_it=lambda _said: False) is Outcome.UNSURE
    assert outcome(SLOW, said(), took=lambda _said: False) is Outcome.NOT_PLANTED


def test_every_case_has_two_parameters_and_a_name_of_its_own() -> None:
    assert len({case.cause for case in CASES}) == len(CASES) >= 32
    assert all(len(case.parameters) >= 2 for case in CASES)


def test_the_page_has_a_place_for_the_table() -> None:
    page = PAGE.read_text()

    assert page.count(BEGIN) == page.count(END) == 1
    assert with_table(with_table(page, ()), ()) == with_table(page, ())
