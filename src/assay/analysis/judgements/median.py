"""Does the median stand for the operations?

Where operations come from several places, such as a cache and what is behind it, no operation need take as long as the
median. The modes of the latencies (`statistics/modes.py`) are named with their shares where a tenth of the operations are
not of the largest one. Where the 95 % interval of the median reaches over a factor of two, the median is no level at all; of
one mode in a rate that drifts or shifts, that finding has it already.
"""

from collections.abc import Iterator, Sequence

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.analysis.latency_modes import modes_in_words
from assay.analysis.statistics.modes import Mode, find_modes
from assay.results import Finding
from assay.units import format_ns
from assay.verdicts import SteadyVerdict

_SAID_ALREADY = "latency"
"""The method of a hit ratio whose finding names the modes."""
_MOVES = frozenset({SteadyVerdict.DRIFTING, SteadyVerdict.LATE_SHIFT})
"""Why a median of one mode is wide, and a finding of its own."""


def judge(case: Case) -> Iterator[Finding]:
    """Hold the median against its interval and the modes."""
    latencies, name = (case.responses, "Response times") if case.responses else (case.latencies, "Latencies")
    if latencies.values.p50 is None:
        return
    intervals = latencies.intervals()
    modes = find_modes(*latencies.buckets())
    several = f"{name} have {len(modes)} modes ({modes_in_words(modes)})"
    interval = intervals.p50 if intervals else None
    if interval is not None and interval[1] > thresholds.MEDIAN_SPAN * interval[0]:
        between = f"between {format_ns(interval[0])} and {format_ns(interval[1])}"
        if len(modes) == 1 and case.steadiness.found.verdict in _MOVES:
            return
        if len(modes) > 1:
            text, cure = f"{several}; the median is {between} (95 %).", "Use the modes, the mean and p99, and not p50."
        else:
            text, cure = f"The median is {between} (95 %).", "Run longer, or use the mean."
        brief = f"p50 {between}"
        yield findings.weak("wide-median", text, cure, brief=brief, effect=1 - interval[0] / interval[1])
    elif _are_apart(modes) and case.hit.method != _SAID_ALREADY:
        yield findings.note("latency-modes", f"{several}: p50 is of one of them.", "Use the modes, and not p50 alone.")


def _are_apart(modes: Sequence[Mode]) -> bool:
    return max((mode.share for mode in modes), default=1.0) <= 1 - thresholds.MODES_MATTER
