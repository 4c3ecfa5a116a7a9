"""From what was recorded to the result document: one `Result` per phase, job and operation.

    iops = ops / seconds        throughput = bytes / seconds        mean latency = sum of latencies / ops

all over the window that `analysis/window.py` finds: total work by total time, never a mean of rates. Counts, bytes and
latencies are those of the window; errors are those of the whole phase, because an error outside the window is an error.
The largest latency is exact where it fell into the window and else known to its histogram bucket (0.05 %).
"""

import math

from assay import results
from assay.analysis import budget, findings, thresholds
from assay.analysis.case import Case
from assay.analysis.ceilings import ceilings_of
from assay.analysis.efficiency import efficiency
from assay.analysis.imported import imported_document
from assay.analysis.judgements import OF_RESULT, OF_RESULTS, OF_RUN
from assay.analysis.labels import label_of, with_distinct_labels
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.marked import marks_of_run
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import WHOLE_LOOP, Operation
from assay.analysis.repeats import summaries
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.schedule import schedule_of
from assay.analysis.solo import solo_shares
from assay.analysis.steadiness import job_steadiness
from assay.analysis.subject import Subject
from assay.analysis.window import find_window
from assay.errors import MEASURED, NOT_TRUSTED
from assay.plan import Job
from assay.plan.walk import job_ops, job_sets
from assay.results import Document, EarlierLevel, Estimate, Finding, Limiter, Result, Steady
from assay.verdicts import ServedBy, TrustLevel

_SEVERAL = 2


def document(run: RunRecord) -> Document:
    """Compute the result document of a run, sealed or not."""
    if run.original is not None:
        return imported_document(run, run.original)
    measured = with_distinct_labels(result for record in run.phases for result in _phase_results(run, record))
    of_all = [found for of_results in OF_RESULTS for found in of_results(run, measured)]
    of_run = findings.ranked([*of_all, *(found for judge in OF_RUN for found in judge(run))], run.plan.accept)
    info = run.info
    return Document(
        schema=results.SCHEMA,
        run=results.Run(
            id=run.run_id,
            name=run.remarks.name,
            tags=run.remarks.tags,
            note=run.remarks.note,
            bundle=str(run.path),
            sealed=run.is_sealed,
            command=info.command,
            started_utc=info.started_utc,
            seconds=info.seconds if info.seconds is not None else _seconds_recorded(run),
            exit_code=_exit_code(run, measured, of_run),
            repeats=max((phase.repeat for phase in run.plan.phases), default=0) + 1,
        ),
        ceilings=ceilings_of(run),
        results=measured,
        findings=of_run,
        marks=marks_of_run(run, measured),
        solo_shares=solo_shares(run, measured),
        summaries=summaries(measured),
    )


def _exit_code(run: RunRecord, measured: tuple[Result, ...], of_run: tuple[Finding, ...]) -> int:
    """Say how a run ended: `errors.EXIT_CODES` is the rule."""
    ended_by = run.info.exit_code
    # Older versions recorded 0 and 1 too, which are for the findings to say.
    if ended_by is not None and ended_by > NOT_TRUSTED:
        return ended_by
    everything = [*of_run, *(finding for result in measured for finding in result.findings)]
    is_unusable = any(finding.severity == findings.INVALID for finding in everything)
    return NOT_TRUSTED if is_unusable or any(result.errors for result in measured) else MEASURED


def _seconds_recorded(run: RunRecord) -> float:
    """Time from hello to the last sign of life, for a run that did not live to record it."""
    stamps = [getattr(event, "t_ns", 0) for event in run.events]
    stamps += [record.whole.end_ns for record in run.phases]
    return max(stamps, default=0) / NS_PER_S


def _phase_results(run: RunRecord, record: PhaseRecord) -> list[Result]:
    window = find_window(record, run.plan.sample_interval_s)
    measured = []
    for job in record.phase.jobs:
        steadiness = job_steadiness(record, job, window)
        uses = budget.worker_use(record, job.name, steadiness.window)
        operations = _operations(record, job)
        whole = record.counted_once(job.name)
        for operation in operations:
            is_whole = operation.name == WHOLE_LOOP or len(whole) <= 1
            measured.append(_result(Case(Subject(run, record, job, operation), steadiness, uses, is_whole)))
    return measured


def _operations(record: PhaseRecord, job: Job) -> list[Operation]:
    """Give what a job has a result for: all that it does together where that is several things, then each."""
    planned = record.operations[job.name]
    expected = [name for name in planned if not job.timed or name in job.timed]
    names = dict.fromkeys([*expected, *record.recorded(job.name)])
    each = [planned.get(name, Operation(name=name, ops=(), sets=job_sets(job), is_group=False)) for name in names]
    if len(record.counted_once(job.name)) < _SEVERAL:
        return each
    return [Operation(name=WHOLE_LOOP, ops=tuple(job_ops(job)), sets=job_sets(job), is_group=True), *each]


def _result(case: Case) -> Result:
    """Write one result down, with what every judgement says of it."""
    found = findings.ranked((finding for judge in OF_RESULT for finding in judge(case)), case.run.plan.accept)
    trust = findings.trust(found)
    phase, span = case.record.phase, case.window.span
    rated = case.ops > 0 and case.seconds > 0
    uses = case.uses if case.is_whole else ()
    return Result(
        label=label_of(phase, case.job.name, case.operation.name),
        phase=phase.name,
        title=phase.title,
        job=case.job.name,
        operation=case.operation.name,
        target=", ".join(case.subject.targets),
        targets=case.subject.targets,
        client=None,
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
        measures=case.measures if rated else ServedBy.UNKNOWN,
        latency_ns=case.latency_ns,
        latency_intervals_ns=case.latencies.intervals(),
        response_ns=case.response_ns,
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
        limiter=_limiter(case.limiter),
        findings=found,
        trust=trust,
        trusted=trust.level is TrustLevel.YES,
    )


def _since_start(case: Case, span: Span) -> tuple[float, float]:
    start_ns = case.record.start_ns
    return ((span.begin_ns - start_ns) / NS_PER_S, (span.end_ns - start_ns) / NS_PER_S)


def _interval(case: Case) -> Estimate | None:
    """Give the interval of an operation's rate: as wide, for its size, as that of its job's.

    What the window leaves open and what differs between runs are independent, so their squares add.
    """
    rate = case.steadiness.rate
    if rate is None or rate.mean <= 0:
        return None
    iops, within = case.ops / case.seconds, rate.half_width / rate.mean
    is_of_host = bool(case.unflushed_caches) and case.subject.is_on_a_host
    half = math.hypot(within, thresholds.RUN_TO_RUN_HOST if is_of_host else thresholds.RUN_TO_RUN)
    low, high = max(0.0, iops * (1 - half)), iops * (1 + half)
    return Estimate(low=low, high=high, within_share=within, effective=rate.effective)


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
