"""Did the meter that was read beside the run read enough of this window?"""

from collections.abc import Iterator

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.results import Finding
from assay.units import format_percent


def judge(case: Case) -> Iterator[Finding]:
    """Say where a meter's readings do not tell a result's energy."""
    if case.run.meter is None or not case.ops:
        return
    if not case.is_whole or len(case.record.phase.jobs) > 1:
        yield findings.note(
            "energy-not-its-own", "What the meter read is of all that ran at the time, not of this operation alone."
        )
    elif case.joules is None:
        share = format_percent(thresholds.METER_GAP_SHARE)
        yield findings.note(
            "energy-not-read",
            f"The meter's readings do not cover this window, or are more than {share} % of it apart.",
            "Begin reading before the run and end after it, once a second or more often; measure for longer.",
        )
