"""Check whether a phase ended as the Plan asks for, and its workers together."""

from collections.abc import Iterable

from assay import events, plan
from assay.analysis import findings, thresholds
from assay.analysis.case import Case
from assay.plan.walk import job_actions, job_ops
from assay.results import Finding


def judge(case: Case) -> Iterable[Finding]:
    """Judge what ended the phase, and how evenly."""
    return (*of_rule(case), *_uneven(case))


def of_rule(case: Case) -> list[Finding]:
    """Report when a phase did not end by the rule that the Plan gave it."""
    record, job = case.record, case.job
    if record.finished is None:
        return []
    stopped = record.finished.stopped_by
    if stopped is events.StoppedBy.CONTROL:
        text = "The phase was stopped from outside. Its results cover a shorter time than planned."
        return [findings.warning("ended-early", text, "Run it again to the end.", brief="stopped early")]
    if stopped is events.StoppedBy.ERROR:
        text = "An error ended the phase early. Its results cover the time before the error."
        cure = "Remove the cause of the error. Then run again."
        return [findings.warning("ended-early", text, cure, brief="stopped by an error")]
    has_time = record.phase.stop.seconds is not None or job.stop.seconds is not None
    if stopped is events.StoppedBy.EXHAUSTED and has_time:
        text = "All work was done before the phase's time was over. Its results cover a shorter time than planned."
        return [findings.note("ended-early", text, "Use a larger file set to fill the time.")]
    return []


def _uneven(case: Case) -> list[Finding]:
    """Report when the first worker that was done stopped others far behind it."""
    record, job = case.record, case.job
    if job.workers == 1 or record.finished is None:
        return []
    is_stonewalled = plan.StopOf.FIRST in {record.phase.stop.of, job.stop.of}
    if not is_stonewalled or record.finished.stopped_by is events.StoppedBy.TIME or _shares_its_work(job):
        return _unfair(case)
    ends = record.workers_at(job.name).values()
    counted = "bytes" if any(row["bytes"] for row in ends) else "ops"
    done = [row[counted] for row in ends]
    if not done or min(done) >= thresholds.NEARLY_ALL * max(done):
        return []
    share = 100 * min(done) / max(done)
    text = (
        f"When the first worker was done and stopped the others, the slowest had done {share:.0f} % of its work. The load"
        " is not the one that its settings describe."
    )
    cure = "Give each worker more to do, so that start and end weigh less, or let all of them finish."
    return [findings.invalid("uneven-workers", text, cure)]


def _shares_its_work(job: plan.Job) -> bool:
    """Whether workers take what there is to do from a common stock, so that all are at work until the first finds none."""
    files = (op.file for op in job_ops(job))
    takes_names = any(
        isinstance(file, plan.FromSet) and isinstance(file.pick, plan.New | plan.Existing) for file in files
    )
    return takes_names or any(isinstance(action, plan.FinishOn) and action.together for action in job_actions(job))


def _unfair(case: Case) -> list[Finding]:
    """Report when workers that ran for the same time did not get the same share (Jain's index).

    Source: Jain, Chiu and Hawe, "A Quantitative Measure of Fairness" (DEC-TR-301, 1984): (sum x)^2 / (n sum x^2).
    """
    done = [use.ops for use in case.uses]
    total, squares = sum(done), sum(ops * ops for ops in done)
    if len(done) < case.job.workers or total < thresholds.FEW_OPS * len(done):
        return []
    if total * total >= thresholds.FAIR_INDEX * len(done) * squares:
        return []
    share = min(done) / max(done)
    text = (
        f"In the same time the slowest of {len(done)} workers did {100 * share:.0f} % of what the fastest did. The sum is"
        " valid, but a worker is not its share of it."
    )
    return [
        findings.note("uneven-workers", text, "Look for what only some of them use, such as one slow disk of several.")
    ]
