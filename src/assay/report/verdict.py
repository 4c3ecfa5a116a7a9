"""May a result's number be used? One answer for words, tables and figures."""

from collections.abc import Mapping

from assay.analysis.set_views import sums_of
from assay.results import Document, Result
from assay.verdicts import TrustLevel

_WORDS = {TrustLevel.YES: "trusted", TrustLevel.WEAK: "weak", TrustLevel.NO: "not to be trusted"}

Doubts = Mapping[tuple[str, str], bool]
"""Results that are less than trusted, by phase and operation: whether the number stands all the same."""


def doubts_of(document: Document) -> Doubts:
    """Give what a tool's own figures have to mark."""
    return {
        (result.phase, result.operation): is_usable(result)
        for result in sums_of(document).results
        if not result.trusted
    }


def is_usable(result: Result) -> bool:
    """Whether a number may be shown as one: it is true, if perhaps of little."""
    return result.trust.level is not TrustLevel.NO


def trust_words(result: Result) -> str:
    """Say it: `trusted`, `weak`, or `not to be trusted`."""
    return _WORDS[result.trust.level]


def trust_reasons(result: Result) -> str:
    """Say why a number is less than trusted, in a few words; nothing where it is trusted."""
    return ", ".join(reason.text for reason in result.trust.reasons)
