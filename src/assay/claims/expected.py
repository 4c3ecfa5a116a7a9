"""The expectations that a run keeps, compared with its results."""

import glob
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from assay.analysis.document import document
from assay.analysis.record import RunRecord
from assay.claims.accepted import ClaimVerdict, of_all
from assay.claims.against_runs import OfRuns, assess_amounts
from assay.claims.assessed import AssessedSentence
from assay.claims.expected_limit import MOST, MOST_CHARACTERS, ExpectedLimit, is_meant, read_limit
from assay.compare.arms import Arm
from assay.errors import InputError
from assay.host.facts import EXPECT_FACT
from assay.results import Document, Expectation, ExpectedResult
from assay.verdicts import ExpectationVerdict

_VERDICTS: Final = {
    ClaimVerdict.SUPPORTED: ExpectationVerdict.MET,
    ClaimVerdict.CONTRADICTED: ExpectationVerdict.NOT_MET,
    ClaimVerdict.NOT_DECIDABLE: ExpectationVerdict.UNDECIDED,
}


def expected_document(run: RunRecord, progress: Callable[[int, int], None] | None = None) -> Document:
    """Compute the result document of a run with its expectations; see `analysis.document.document`."""
    return with_expectations(document(run, progress), run.facts)


def with_expectations(found: Document, facts: Mapping[str, object]) -> Document:
    """Add what the expectations among the facts of a run come to."""
    texts = facts.get(EXPECT_FACT)
    if not isinstance(texts, tuple | list):
        return found
    arm = Arm.of(found.run.id, [found])
    limits = (str(text)[:MOST_CHARACTERS] for text in texts[:MOST])
    return msgspec.structs.replace(found, expectations=tuple(_expectation(text, arm) for text in limits))


def _expectation(text: str, arm: Arm) -> Expectation:
    try:
        limit = read_limit(text)
    except InputError as error:  # a bundle that somebody else made
        return Expectation(text=text, verdict=ExpectationVerdict.UNDECIDED, reason=str(error), results=())
    assessed = _assessed(limit, arm)
    if not assessed:
        reason = f"no result of '{limit.name}' was measured" if limit.name else f"no result has a {limit.metric}"
        return Expectation(text=text, verdict=ExpectationVerdict.UNDECIDED, reason=reason, results=())
    verdict = of_all(one.verdict for one in assessed)
    telling = next(one for one in assessed if one.verdict is verdict)
    of = f" (1 of {len(assessed)} results)" if len(assessed) > 1 else ""
    return Expectation(
        text=text,
        verdict=_VERDICTS[verdict],
        reason=f"{telling.says}: {telling.reason}{of}" if of else telling.reason,
        results=tuple(map(_result, assessed)),
    )


def _assessed(limit: ExpectedLimit, arm: Arm) -> Sequence[AssessedSentence]:
    """Assess each row that an expectation is for; where none of them has the number, give one that says so."""
    rows = [
        label
        for label, (first, *_) in arm.samples().items()
        if is_meant(limit, phase=first.result.phase, job=first.result.job, operation=first.result.operation)
    ]
    assessed = [
        one
        for label in rows
        for one in assess_amounts(limit.sentence, OfRuns(glob.escape(label), limit.metric, arm.name), arm)
    ]
    with_number = [one for one in assessed if one.says]
    return with_number or assessed[:1]


def _result(one: AssessedSentence) -> ExpectedResult:
    computed = one.computed
    return ExpectedResult(
        label=one.says,
        verdict=_VERDICTS[one.verdict],
        reason=one.reason,
        value=computed.values[0] if computed else None,
        interval=computed.interval if computed else None,
        unit=computed.unit if computed else "",
    )
