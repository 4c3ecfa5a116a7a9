"""From what was recorded to the result document: one `Result` per phase, job and operation.

    iops = ops / seconds        throughput = bytes / seconds        mean latency = sum of latencies / ops

all over the window that `analysis/window.py` finds: total work by total time, never a mean of rates. Counts, bytes and
latencies are those of the window; errors are those of the whole phase, because an error outside the window is an error.
The largest latency is exact where it fell into the window and else known to its histogram bucket (0.05 %).
"""

from assay import results
from assay.analysis import budget, findings
from assay.analysis.case import Case
from assay.analysis.judgements import OF_RESULT, OF_RUN
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import Operation
from assay.analysis.rows import NS_PER_S
from assay.analysis.subject import Subject
from assay.analysis.window import find_window
from assay.errors import MEASURED, NOT_TRUSTED
from assay.plan.walk import job_sets
from assay.results import Document, Finding, Result


def document(run: RunRecord) -> Document:
    """Compute the result document of a run, sealed or not."""
    measured = tuple(result for record in run.phases for result in _phase_results(run, record))
    of_run = findings.distinct(found for judge in OF_RUN for found in judge(run))
    info = run.info
    return Document(
        schema=results.SCHEMA,
        run=results.Run(
            id=run.run_id,
            bundle=str(run.path),
            sealed=run.is_sealed,
            command=info.command,
            started_utc=info.started_utc,
            seconds=info.seconds if info.seconds is not None else _seconds_recorded(run),
            exit_code=_exit_code(run, measured, of_run),
            repeats=max((phase.repeat for phase in run.plan.phases), default=0) + 1,
        ),
        results=measured,
        findings=of_run,
    )


def _exit_code(run: RunRecord, measured: tuple[Result, ...], of_run: tuple[Finding, ...]) -> int:
    """Say how a run ended: `errors.EXIT_CODES` is the rule."""
    ended_by = run.info.exit_code
    # Older versions recorded 0 and 1 too, which are for the findings to say.
    if ended_by is not None and ended_by > NOT_TRUSTED:
        return ended_by
    everything = [*of_run, *(finding for result in measured for finding in result.findings)]
    is_unusable = any(finding.severity == findings.INVALID for finding in everything)
    return NOT_TRUSTED if is_unusable or any(result.errors > 0 for result in measured) else MEASURED


def _seconds_recorded(run: RunRecord) -> float:
    """Time from hello to the last sign of life, for a run that did not live to record it."""
    stamps = [getattr(event, "t_ns", 0) for event in run.events]
    stamps += [record.whole.end_ns for record in run.phases]
    return max(stamps, default=0) / NS_PER_S


def _phase_results(run: RunRecord, record: PhaseRecord) -> list[Result]:
    window = find_window(record, run.plan.sample_interval_s)
    measured = []
    for job in record.phase.jobs:
        planned = record.operations[job.name]
        uses = budget.worker_use(record, job.name, window)
        expected = [name for name in planned if not job.timed or name in job.timed]
        for name in dict.fromkeys([*expected, *record.recorded(job.name)]):
            operation = planned.get(name, Operation(name=name, ops=(), sets=job_sets(job), is_group=False))
            measured.append(_result(Case(Subject(run, record, job, operation), window, uses)))
    return measured


def _result(case: Case) -> Result:
    """Write one result down, with what every judgement says of it."""
    found = findings.distinct(finding for judge in OF_RESULT for finding in judge(case))
    phase, span = case.record.phase, case.window.span
    rated = case.ops > 0 and case.seconds > 0
    moves_data = case.bytes or case.operation.direction
    return Result(
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
        window_s=((span.begin_ns - case.record.start_ns) / NS_PER_S, (span.end_ns - case.record.start_ns) / NS_PER_S),
        iops=case.ops / case.seconds if rated else None,
        throughput_bytes_per_s=case.bytes / case.seconds if rated and moves_data else None,
        latency_ns=case.latency_ns,
        response_ns=case.response_ns,
        cpu_ns_per_op=case.cpu_ns_per_op,
        time_budget=budget.time_budget(case.uses),
        cache=case.cache,
        device_bytes=case.device_bytes,
        steady=None,
        limiter=None,
        findings=found,
        trusted=findings.is_trusted(found),
    )
