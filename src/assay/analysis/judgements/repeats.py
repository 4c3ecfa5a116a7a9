"""What do the repeats of a result say that none of them says alone?"""

from collections.abc import Iterable, Sequence

from assay.analysis import findings
from assay.analysis.record import RunRecord
from assay.analysis.repeats import DIFFER, DRIFT, FEW, WIDE, summaries
from assay.analysis.repeats_by_label import half_share
from assay.results import Finding, Result, Summary
from assay.units import format_percent


def judge(_run: RunRecord, measured: Sequence[Result]) -> Iterable[Finding]:
    """Judge the repeats of each result."""
    for summary in summaries(measured):
        name = (
            f"'{summary.title}'" if summary.operation == summary.phase else f"'{summary.title}' ({summary.operation})"
        )
        yield from _of_all(name, summary)
        for remark in summary.remarks:
            if remark.kind == "stands_out":
                text = f"Repeat {remark.repeat + 1} of {name} stands out: {remark.text}. It counts."
                cure = (
                    "Look at its findings and its timeline. Where it is the first, run once before and take the next."
                )
                yield findings.note("repeat-stands-out", text, cure)


def _of_all(name: str, summary: Summary) -> Iterable[Finding]:
    reasons = {reason.id: reason.text for reason in summary.trust.reasons}
    if DIFFER in reasons:
        text = f"The repeats of {name} are of {' and '.join(summary.measures)}: no number is typical of them all."
        cure = "Bring each repeat about in the same state: cache = cold or warm, direct I/O, a flush in the time."
        yield findings.warning("repeats-differ", text, cure)
    if summary.drift is not None and DRIFT in reasons:
        rose = "rises" if summary.drift > 0 else "falls"
        by = format_percent(abs(summary.drift))
        text = f"{name}: the rate {rose} by {by} % over the repeats: their interval holds for no later one."
        cure = (
            "Look for what changes: a device that tires or warms up, space that is used up, a neighbour. Precondition, or"
            " pause between repeats."
        )
        yield findings.weak("repeats-drift", text, cure, brief=reasons[DRIFT], effect=abs(summary.drift))
    half = half_share(summary.iops)
    if WIDE in reasons and half is not None:
        text = (
            f"The rate of {name} is known to within {format_percent(half)} % only, over {len(summary.counted)} repeats."
        )
        cure = "Repeat more often, or find out what makes the repeats differ."
        yield findings.weak("repeats-wide", text, cure, brief=reasons[WIDE], effect=half)
    if FEW in reasons:
        counted = len(summary.counted)
        counts = "count" if counted > 1 else "counts"
        text = f"Of {len(summary.repeats)} repeats of {name} only {counted} {counts}: there is no interval."
        cure = "Remove what spoils the others (their findings say what), and run again, or repeat more often."
        yield findings.weak("few-repeats", text, cure, brief=reasons[FEW])
