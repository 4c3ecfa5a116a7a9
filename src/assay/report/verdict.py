"""May a result's number be used? One answer for words, tables and figures."""

from assay.results import Result
from assay.verdicts import TrustLevel

_WORDS = {TrustLevel.YES: "trusted", TrustLevel.WEAK: "weak", TrustLevel.NO: "not to be trusted"}


def stands(result: Result) -> bool:
    """Whether a number may be shown as one: it is true, if perhaps of little."""
    return result.trust.level is not TrustLevel.NO


def trust_words(result: Result) -> str:
    """Say it: `trusted`, `weak`, or `not to be trusted`."""
    return _WORDS[result.trust.level]


def trust_reasons(result: Result) -> str:
    """Say why a number is less than trusted, in a few words; nothing where it is trusted."""
    return ", ".join(reason.text for reason in result.trust.reasons)
