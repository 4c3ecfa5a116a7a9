"""A result's numbers as the page tells them in tiles, rows and cards: the same words in all three."""

from assay.report.limited_by import limit_words
from assay.results import LatencyNs, Result
from assay.units import ABSENT
from assay.verdicts import Confidence


def user_latency(result: Result) -> tuple[str, LatencyNs]:
    """Give what somebody who asks for an operation waits: the response time of an open loop, else the latency."""
    return ("response", result.response_ns) if result.response_ns else ("latency", result.latency_ns)


def limit_told(result: Result) -> str:
    """Name what limited it, with a question mark where that is less than sure."""
    words = limit_words(result)
    if not words or result.limiter is None:
        return ABSENT
    return words if result.limiter.confidence is Confidence.HIGH else f"{words}?"
