"""A result's numbers as the page tells them in tiles, rows and cards: the same words in all three."""

from assay.report.limited_by import limit_words
from assay.report.numbers import headline, headline_rates
from assay.results import LatencyNs, Result
from assay.units import ABSENT, format_number
from assay.verdicts import Confidence


def rate_interval(result: Result) -> tuple[float, float] | None:
    """Give the 95 % interval of the headline, in its unit; None where there is none, or where it is that of another rate."""
    interval = result.iops_interval
    value, unit = headline(result)
    iops, throughput = headline_rates(result)
    if interval is None or value is None or not iops or result.iops != iops:
        return None
    per_op = (throughput or 0.0) / iops if unit.of_bytes else 1.0
    return interval.low * per_op / unit.per_unit, interval.high * per_op / unit.per_unit


def interval_told(result: Result) -> str:
    """Say between which rates, in the unit of the headline."""
    found = rate_interval(result)
    return ABSENT if found is None else f"{format_number(found[0])} to {format_number(found[1])}"


def user_latency(result: Result) -> tuple[str, LatencyNs]:
    """Give what somebody who asks for an operation waits: the response time of an open loop, else the latency."""
    return ("response", result.response_ns) if result.response_ns else ("latency", result.latency_ns)


def limit_told(result: Result) -> str:
    """Name what limited it, with a question mark where that is less than sure."""
    words = limit_words(result)
    if not words or result.limiter is None:
        return ABSENT
    return words if result.limiter.confidence is Confidence.HIGH else f"{words}?"
