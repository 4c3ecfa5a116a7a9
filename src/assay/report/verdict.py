"""Decide whether a result may be used: one answer for words, tables and figures."""

from collections.abc import Mapping

from assay.analysis.set_views import sums_of
from assay.results import Document, Result
from assay.verdicts import TrustLevel

_WORDS = {TrustLevel.YES: "trusted", TrustLevel.WEAK: "weak", TrustLevel.NO: "not trusted"}

Doubts = Mapping[tuple[str, str], bool]
"""Results that are not fully trusted, by phase and operation: whether the result is usable."""


def doubts_of(document: Document) -> Doubts:
    """Give what a tool's own figures have to mark."""
    return {
        (result.phase, result.operation): is_usable(result)
        for result in sums_of(document).results
        if not result.trusted
    }


def is_usable(result: Result) -> bool:
    """Whether a result may be used: trusted or weak."""
    return result.trust.level is not TrustLevel.NO


def trust_words(result: Result) -> str:
    """Name the trust level: `trusted`, `weak`, or `not trusted`."""
    return _WORDS[result.trust.level]


def trust_reasons(result: Result) -> str:
    """List why a result is not fully trusted, in a few words; empty if it is."""
    return ", ".join(reason.text for reason in result.trust.reasons)
