"""The latency that heads a result: of one whose limit is the time that each operation takes (METHOD 1.5).

At depth 1 the rate of such a result follows from the time of each operation: the latency is what was measured. Of
streams people ask for the bytes a second all the same.
"""

from assay.report.numbers import is_stream
from assay.results import Finding, Result
from assay.units import format_ns
from assay.verdicts import Bottleneck

_MODES, _WIDE = "latency-modes", "wide-interval"
"""Findings with which the median is of one of several modes, or not known well: then it heads nothing."""


def has_latency_headline(result: Result) -> bool:
    """Whether the median latency heads a result, and the rate is beside it."""
    known = result.latency_intervals_ns
    return (
        not is_stream(result)
        and result.limiter is not None
        and result.limiter.verdict is Bottleneck.OPERATION_LATENCY
        and result.queue_depth == 1
        and known is not None
        and known.p50 is not None
        and not any(map(_leaves_median_open, result.findings))
    )


def _leaves_median_open(finding: Finding) -> bool:
    return finding.id == _MODES or (finding.id == _WIDE and finding.brief.startswith("p50 "))


def median_words(result: Result) -> str:
    """Print the median latency: `p50 43.0 µs`."""
    return f"p50 {format_ns(result.latency_ns.p50)}"


def median_interval_words(result: Result) -> str:
    """Print the ends of the 95 % interval of the median: `42.9 to 43.1 µs`; nothing where it is not known."""
    ends = result.latency_intervals_ns.p50 if result.latency_intervals_ns else None
    if ends is None:
        return ""
    low, high = (format_ns(end) for end in ends)
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low} to {high}"
