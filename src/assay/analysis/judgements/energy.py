"""Report where the readings of a meter do not give the energy of a result."""

from collections.abc import Iterator

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.results import Finding
from assay.units import format_percent


def judge(case: Case) -> Iterator[Finding]:
    """Report why the energy is null although a meter was read."""
    if case.run.meter is None or not case.ops:
        return
    if not case.is_whole or len(case.record.phase.jobs) > 1:
        yield findings.note(
            "energy-unknown",
            "The meter read all that ran at the time, not this operation alone: its energy is null.",
            "Give the operation a phase of its own; the row of the whole mix has its energy.",
        )
    elif case.joules is None:
        share = format_percent(thresholds.METER_GAP_SHARE)
        yield findings.note(
            "energy-unknown",
            f"The meter's readings do not cover this window, or are more than {share} % of it apart: the energy is null.",
            "Read the meter once a second or more often, from before the run until after it, or measure for longer.",
        )
