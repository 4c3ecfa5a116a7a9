"""What was measured in a phase, written down: one `Result` for each operation of a job.

    iops = ops / seconds        throughput = bytes / seconds        mean latency = sum of latencies / ops

all over the window that `analysis/window.py` finds: total work by total time, never a mean of rates. Counts, bytes and
latencies are those of the window; errors are those of the whole phase, because an error outside the window is an error.
The largest latency is exact where it fell into the window and else known to its histogram bucket (0.05 %).
"""

import dataclasses
from collections.abc import Iterable, Iterator

from assay.analysis import budget, findings
from assay.analysis.case import Case
from assay.analysis.efficiency import efficiency
from assay.analysis.judgements import OF_MACHINE, OF_RESULT
from assay.analysis.labels import label_of
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.placement import placement_of
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import WHOLE_LOOP, Operation
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.schedule import schedule_of
from assay.analysis.steadiness import job_steadiness
from assay.analysis.subject import Subject
from assay.analysis.window import find_window
from assay.plan import Job
from assay.plan.walk import job_ops, job_sets
from assay.results import EarlierLevel, Estimate, Finding, Limiter, Result, Steady
from assay.verdicts import ServedBy, TrustLevel

_SEVERAL = 2


@dataclasses.dataclass(frozen=True)
class Judged:
    """A result, and what of its findings its machine alone tells."""

    result: Result
    of_machine: tuple[Finding, ...]


def phase_cases(run: RunRecord, record: PhaseRecord) -> Iterator[Case]:
    """Give what there is to judge of a phase: each operation of each job."""
    window = find_window(record, run.plan.sample_interval_s)
    for job in record.phase.jobs:
        # What a round counts is the mean of all its time; whether it is steady is found over the rounds.
        steadiness = job_steadiness(record, job, window, is_narrowed=record.phase.name not in run.round_phases)
        uses = budget.worker_use(record, job.name, steadiness.window)
        operations = _operations(record, job)
        whole = record.counted_once(job.name)
        for operation in operations:
            is_whole = operation.name == WHOLE_LOOP or len(whole) <= 1
            yield Case(Subject(run, record, job, operation), steadiness, uses, is_whole)


def judged_alone(case: Case, client: str | None = None) -> Judged:
    """Write the result of one machine down, with what every judgement says of it.

    Args:
        case: What was recorded.
        client: Its name in a set; None: there was only one.
    """
    found: list[Finding] = []
    of_machine: list[Finding] = []
    for judge in OF_RESULT:
        own = tuple(judge(case))
        found += own
        if judge in OF_MACHINE:
            of_machine += own
    accept = case.run.plan.accept
    measured = result_of(case, found, limiter=case.limiter, measures=case.measures, client=client)
    return Judged(measured, findings.ranked(of_machine, accept))


def _operations(record: PhaseRecord, job: Job) -> list[Operation]:
    """Give what a job has a result for: all that it does together where that is several things, then each."""
    planned = record.operations[job.name]
    expected = [name for name in planned if not job.timed or name in job.timed]
    names = dict.fromkeys([*expected, *record.recorded(job.name)])
    each = [planned.get(name, Operation(name=name, ops=(), sets=job_sets(job), is_group=False)) for name in names]
    if len(record.counted_once(job.name)) < _SEVERAL:
        return each
    return [Operation(name=WHOLE_LOOP, ops=tuple(job_ops(job)), sets=job_sets(job), is_group=True), *each]


def result_of(
    case: Case,
    found: Iterable[Finding],
    *,
    limiter: Conclusion | None,
    measures: ServedBy,
    client: str | None = None,
    has_rate: bool = True,
) -> Result:
    """Write one result down, with its findings; `has_rate` is false of a sum of what was not done together."""
    found = findings.ranked(found, case.run.plan.accept)
    trust = findings.trust(found)
    phase, span = case.record.phase, case.window.span
    rated = has_rate and case.ops > 0 and case.seconds > 0
    uses = case.uses if case.is_whole else ()
    return Result(
        label=label_of(phase, case.job.name, case.operation.name, client),
        phase=phase.name,
        title=phase.title,
        job=case.job.name,
        operation=case.operation.name,
        target=", ".join(case.subject.targets),
        targets=case.subject.targets,
        client=client,
        repeat=phase.repeat,
        workers=case.job.workers,
        queue_depth=case.job.queue_depth,
        ops=case.ops,
        bytes=case.bytes,
        errors=case.errors,
        seconds=case.seconds,
        window_s=_since_start(case, span),
        iops=case.ops / case.seconds if rated else None,
        iops_interval=_interval(case) if rated else None,
        throughput_bytes_per_s=case.bytes / case.seconds if rated and case.moves_data else None,
        committed=case.committed if rated else None,
        measures=measures if rated else ServedBy.UNKNOWN,
        latency_ns=case.latency_ns,
        latency_intervals_ns=case.latencies.intervals,
        response_ns=case.response_ns,
        response_intervals_ns=case.responses.intervals if case.responses else None,
        schedule=schedule_of(case.subject),
        cpu_ns_per_op=case.cpu_ns_per_op,
        time_budget=budget.time_budget(uses),
        efficiency=efficiency(
            ops=case.ops,
            moved_bytes=case.bytes,
            cpu_ns_per_op=case.cpu_ns_per_op,
            uses=uses,
            device_bytes=case.device_bytes,
            app_bytes=case.app_bytes,
            joules=case.joules,
        ),
        cache=case.cache,
        device_bytes=case.device_bytes,
        steady=_steady(case),
        limiter=_limiter(limiter),
        placement=placement_of(case, limiter, measures, trust) if rated else None,
        findings=found,
        trust=trust,
        trusted=trust.level is TrustLevel.YES,
    )


def _since_start(case: Case, span: Span) -> tuple[float, float]:
    start_ns = case.record.start_ns
    return ((span.begin_ns - start_ns) / NS_PER_S, (span.end_ns - start_ns) / NS_PER_S)


def _interval(case: Case) -> Estimate | None:
    """Give the interval of an operation's rate: as wide, for its size, as that of its job's."""
    rate = case.steadiness.rate
    if rate is None or rate.mean <= 0:
        return None
    iops, half = case.ops / case.seconds, rate.half_width / rate.mean
    low, high = max(0.0, iops * (1 - half)), iops * (1 + half)
    return Estimate(low=low, high=high, half_share=half, effective=rate.effective)


def _steady(case: Case) -> Steady:
    found, series = case.steadiness.found, case.steadiness.series
    window_s = None
    if found.last is not None and len(series):
        window_s = _since_start(case, series.span(found.last.begin, found.last.end))
    period_s = None
    if found.period is not None and len(series):
        period_s = found.period * series.span(0, len(series)).seconds / len(series)
    return Steady(
        verdict=found.verdict,
        window_s=window_s,
        intervals=len(series),
        before=tuple(
            EarlierLevel(
                window_s=_since_start(case, series.span(level.begin, level.end)), ratio=level.mean / found.last.mean
            )
            for level in found.before
            if found.last is not None and found.last.mean > 0
        ),
        trend=found.trend,
        period_s=period_s,
    )


def _limiter(found: Conclusion | None) -> Limiter | None:
    if found is None:
        return None
    return Limiter(
        verdict=found.limit,
        confidence=found.confidence,
        evidence=found.evidence,
        headroom=found.headroom,
        remedy=found.remedy,
    )
