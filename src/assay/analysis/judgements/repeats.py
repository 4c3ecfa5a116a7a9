"""Report what only the repeats of a result together show."""

from collections.abc import Iterable, Sequence

from assay.analysis import findings
from assay.analysis.record import RunRecord
from assay.analysis.repeats import DIFFER, FEW, summaries
from assay.analysis.repeats_by_label import half_share
from assay.analysis.rounds import rounds_of
from assay.results import Finding, Result, Summary
from assay.units import format_percent


def judge(run: RunRecord, measured: Sequence[Result]) -> Iterable[Finding]:
    """Judge the repeats of each result."""
    for summary in summaries(measured, rounds_of(run, measured)):
        name = (
            f"'{summary.title}'" if summary.operation == summary.phase else f"'{summary.title}' ({summary.operation})"
        )
        yield from _of_all(name, summary)
        for remark in summary.remarks:
            if remark.kind == "stands_out":
                text = f"Repeat {remark.repeat + 1} of {name} stands out: {remark.text}. It counts."
                cure = "Check its findings and its timeline. If it is the first, run once before and use the next."
                yield findings.note("repeats-differ", text, cure)


def _of_all(name: str, summary: Summary) -> Iterable[Finding]:
    reasons = {reason.id: reason.text for reason in summary.trust.reasons}
    if DIFFER in reasons and summary.drift is None:
        text = f"The repeats of {name} measured {' and '.join(summary.measures)}, so they have no common rate."
        cure = "Start each repeat in the same state: cache = cold or warm, direct I/O, a flush in the timed part."
        yield findings.warning("repeats-differ", text, cure)
    if DIFFER in reasons and summary.drift is not None:
        rose = "rises" if summary.drift > 0 else "falls"
        by = format_percent(abs(summary.drift))
        text = f"{name}: the rate {rose} by {by} % over the repeats. Their interval holds for no later repeat."
        cure = (
            "Find what changes: a device that slows or warms up, space that is used up, other programs. Precondition, or"
            " pause between repeats."
        )
        yield findings.weak("repeats-differ", text, cure, brief=reasons[DIFFER], effect=abs(summary.drift))
    half, counted = half_share(summary.iops), len(summary.counted)
    if FEW in reasons and half is not None:
        text = f"The rate of {name} is known to ± {format_percent(half)} % over {counted} repeats, more than a tenth."
        cure = "Repeat more often, or find what makes the repeats differ."
        yield findings.weak("few-repeats", text, cure, brief=reasons[FEW], effect=half)
    if FEW in reasons and half is None:
        are = "are" if counted > 1 else "is"
        text = (
            f"Of {len(summary.repeats)} repeats of {name} only {counted} {are} usable: there is no confidence interval."
        )
        cure = "Remove what makes the others unusable (their findings name it) and run again, or repeat more often."
        yield findings.weak("few-repeats", text, cure, brief=reasons[FEW])
