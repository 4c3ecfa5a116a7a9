"""Name what limited a result, as all tables and texts do."""

from assay.results import Result
from assay.verdicts import Bottleneck, Confidence

_NOT_FOUND = (Bottleneck.NOT_OBSERVABLE, Bottleneck.UNKNOWN)


def limit_words(result: Result) -> str:
    """Name what limited a result; empty if that was not found."""
    found = result.limiter
    return "" if found is None or found.verdict in _NOT_FOUND else found.verdict.words


def marked_limit(result: Result, absent: str) -> str:
    """Name what limited a result, with a question mark unless the confidence is high.

    Args:
        result: Of a phase and job.
        absent: Text to print if no limiter was found.
    """
    words = limit_words(result)
    if not words or result.limiter is None:
        return absent
    return words if result.limiter.confidence is Confidence.HIGH else f"{words}?"
