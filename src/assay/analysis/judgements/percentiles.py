"""Are p50 and p99 known, and does the median stand for the operations?

A percentile whose 95 % interval spans more than a factor of 1.5, or reaches beyond the largest value, is not known well. The
median of operations that come from several places, such as a cache and what is behind it, may be between them: no operation
need take that long. So the modes of the latencies (`statistics/modes.py`) are named with their shares where the median is
not known, or where a tenth of the operations are not of the largest mode. What changed in the window is the reason why a
percentile is not known, and another finding.
"""

from collections.abc import Iterator, Sequence

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.latency import OperationLatency
from assay.analysis.latency_modes import modes_in_words
from assay.analysis.statistics.modes import Mode, find_modes
from assay.results import Finding
from assay.units import format_ns
from assay.verdicts import SteadyVerdict

_SAID_ALREADY = "latency"
"""The method of a hit ratio whose finding names the modes."""
_MOVES = frozenset({SteadyVerdict.DRIFTING, SteadyVerdict.LATE_SHIFT})


def judge(case: Case) -> Iterator[Finding]:
    """Judge p50 and p99, of the response times of an open loop."""
    latencies, name = (case.responses, "Response times") if case.responses else (case.latencies, "Latencies")
    modes = find_modes(*latencies.buckets())
    several = f"{name} have {len(modes)} modes ({modes_in_words(modes)})"
    wide = None if _has_moved(case) else _first_wide(latencies)
    if wide is not None:
        percentile, where, effect = wide
        text, cure = f"{percentile} is {where} (95 %).", "Run longer, or use the mean."
        if percentile == "p50" and len(modes) > 1:
            text, cure = f"{several}; {text}", "Use the modes, the mean and p99, and not p50."
        yield findings.weak("wide-interval", text, cure, brief=f"{percentile} {where}", effect=effect)
    elif latencies.values.p50 is not None and _are_apart(modes) and case.hit.method != _SAID_ALREADY:
        yield findings.note("latency-modes", f"{several}: p50 is of one of them.", "Use the modes, and not p50 alone.")


def _has_moved(case: Case) -> bool:
    """Whether rate or latency were at several levels in the window: another finding reports that."""
    found, series = case.steadiness.found, case.steadiness.series
    if found.verdict in _MOVES or case.steadiness.latency:
        return True
    return found.last is not None and case.window.counted.begin_ns < int(series.edges_ns[found.last.begin])


def _first_wide(latencies: OperationLatency) -> tuple[str, str, float | None] | None:
    """Give the first percentile that is not known well, between which values it is, and by how much of its upper end."""
    intervals = latencies.intervals
    for name in ("p50", "p99"):
        value_ns = getattr(latencies.values, name)
        if value_ns is None:
            continue
        ends = getattr(intervals, name) if intervals else None
        if ends is None:
            return name, "not bounded above", None
        low_ns, high_ns = ends
        if high_ns > thresholds.TAIL_LEVEL * low_ns:
            return name, f"between {format_ns(low_ns)} and {format_ns(high_ns)}", 1 - low_ns / high_ns
    return None


def _are_apart(modes: Sequence[Mode]) -> bool:
    return max((mode.share for mode in modes), default=1.0) <= 1 - thresholds.NOTABLE_SHARE
