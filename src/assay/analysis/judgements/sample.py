"""Report samples that are too small for the number, or for some of its percentiles."""

from collections.abc import Iterable

from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.results import Finding
from assay.units import format_seconds


def judge(case: Case) -> Iterable[Finding]:
    """Judge the size of the sample."""
    record, job = case.record, case.job.name
    if not any(record.rows(job, name).total("ops", case.window.counted) for name in record.recorded(job)):
        text = "No operation of this job was completed in the window, so there is no number."
        return (findings.invalid("no-operations", text, "Look at the errors, or run longer."),)
    if case.ops == 0:
        return (findings.note("no-operations", "This operation was never completed in the window."),)
    found: list[Finding] = []
    if case.seconds < thresholds.SHORT_WINDOW_S or case.ops < thresholds.FEW_OPS:
        few, text = f"{case.ops} operation{'s' * (case.ops != 1)}", "The window has only"
        if case.ops >= thresholds.FEW_OPS:
            few, text = f"{format_seconds(case.seconds)} long", "The window is only"
        text = f"{text} {few}: it shows one moment, and the next may differ."
        found.append(findings.weak("small-sample", text, "Run longer.", brief=f"only {few}"))
    latency = case.latency_ns
    values = {"p50": latency.p50, "p90": latency.p90, "p99": latency.p99, "p99.9": latency.p99_9}
    withheld = [name for name, value in values.items() if value is None]
    if withheld:
        text = f"{', '.join(withheld)}: too few operations, so no value is printed."
        cure = "Run longer: a percentile q needs 10 / (1 - q) operations (p99 1000, p99.9 10000)."
        found.append(findings.note("small-sample", text, cure))
    return tuple(found)
