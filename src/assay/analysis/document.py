"""From what was recorded to the result document: one `Result` per phase, job and operation.

    iops = ops / seconds        throughput = bytes / seconds        mean latency = sum of latencies / ops

all over the window that `analysis/window.py` finds: total work by total time, never a mean of rates. Counts, bytes and
latencies are those of the window; errors are those of the whole phase, because an error outside the window is an error.
The largest latency is exact where it fell into the window and else known to its histogram bucket (0.05 %).
"""

import dataclasses

import numpy as np
import polars as pl

from assay import results
from assay.analysis import budget, cache, device, findings, histogram, trust
from assay.analysis.conservation import conservation
from assay.analysis.crosscheck import cross_check
from assay.analysis.operations import Operation, operations_of
from assay.analysis.record import NS_PER_S, PhaseRecord, RunRecord, Span
from assay.analysis.window import Window, find_window
from assay.errors import MEASURED, NOT_TRUSTED
from assay.plan import Job, Open
from assay.plan.walk import job_sets
from assay.results import Document, Finding, LatencyNs, Result

_NO_LATENCY = LatencyNs(mean=None, p50=None, p90=None, p99=None, p99_9=None, max=None)


def document(run: RunRecord) -> Document:
    """Compute the result document of a run, sealed or not."""
    measured = tuple(result for record in run.phases for result in _phase_results(run, record))
    of_run = findings.distinct(trust.run_findings(run))
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
        planned = operations_of(job)
        recorded = record.intervals.filter(job=job.name)["operation"].unique(maintain_order=True).to_list()
        expected = [name for name in planned if not job.timed or name in job.timed]
        for name in dict.fromkeys([*expected, *recorded]):
            operation = planned.get(name, Operation(name=name, ops=(), sets=job_sets(job), is_group=False))
            measured.append(_Measurement(run, record, window, job, operation).result())
    return measured


@dataclasses.dataclass(frozen=True)
class _Measurement:
    """One operation of one job in one phase, on its way to a result."""

    run: RunRecord
    record: PhaseRecord
    window: Window
    job: Job
    operation: Operation

    def result(self) -> Result:
        rows = self._rows(self.record.intervals)
        inside = _within(rows, self.window.counted)
        ops, moved = int(inside["ops"].sum()), int(inside["bytes"].sum())
        seconds = self.window.span.seconds
        rated = ops > 0 and seconds > 0
        latency = self._latency("latency")
        uses = budget.worker_use(self.record, self.job.name, self.window)
        cpu_ns = budget.cpu_ns_per_op(self.record, self.job, self.window, uses)
        cached, cache_findings, device_bytes = self._cache()
        found = findings.distinct(
            [
                *conservation(self.record, self.job, self.operation.name),
                *self.window.findings,
                *cache_findings,
                *trust.client_findings(self.run, self.record, self.window, uses, latency),
                *trust.execution_findings(self.record, self.job, self.operation.name),
                *budget.cpu_findings(cpu_ns, ops),
                *trust.sample_findings(ops, seconds, max(ops, sum(use.ops for use in uses)), latency),
                *trust.data_findings(self.run, self.record, self.operation, is_buffered=cached.condition != "direct"),
            ]
        )
        return Result(
            phase=self.record.phase.name,
            title=self.record.phase.title,
            job=self.job.name,
            operation=self.operation.name,
            target=self._target(),
            repeat=self.record.phase.repeat,
            workers=self.job.workers,
            queue_depth=self.job.queue_depth,
            ops=ops,
            bytes=moved,
            errors=int(rows["errors"].sum()),
            seconds=seconds,
            window_s=(self._since_start_s(self.window.span.begin_ns), self._since_start_s(self.window.span.end_ns)),
            iops=ops / seconds if rated else None,
            throughput_bytes_per_s=moved / seconds if rated and (moved or self.operation.direction) else None,
            latency_ns=latency,
            response_ns=self._latency("response") if isinstance(self.job.arrival, Open) else None,
            cpu_ns_per_op=cpu_ns,
            time_budget=budget.time_budget(uses),
            cache=cached,
            device_bytes=device_bytes,
            steady=None,
            limiter=None,
            findings=found,
            trusted=findings.is_trusted(found),
        )

    def _rows(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.filter(job=self.job.name, operation=self.operation.name)

    def _since_start_s(self, t_ns: int) -> float:
        return (t_ns - self.record.start_ns) / NS_PER_S

    def _target(self) -> str:
        sets = self.operation.sets or job_sets(self.job)
        return ", ".join(dict.fromkeys(self.run.plan.file_set(name).target for name in sets))

    def _latency(self, series: str) -> LatencyNs:
        rows = self._rows(self.record.intervals)
        inside = _within(rows, self.window.counted)
        buckets = _within(self._rows(self.record.histograms).filter(series=series), self.window.counted)
        merged = buckets.group_by("bucket").agg(pl.col("n").sum()).sort("bucket")
        index = merged["bucket"].to_numpy().astype(np.int64)
        count = merged["n"].to_numpy().astype(np.int64)
        samples = int(count.sum())
        if samples == 0:
            return _NO_LATENCY
        max_ns = _largest_ns(rows, f"{series}_max_ns", self.window.counted, index)
        percentiles = {
            name: histogram.percentile_ns(index, count, quantile, max_ns)
            for name, quantile in histogram.QUANTILES.items()
        }
        return LatencyNs(mean=float(inside[f"{series}_sum_ns"].sum()) / samples, max=max_ns, **percentiles)

    def _cache(self) -> tuple[results.Cache, tuple[Finding, ...], int | None]:
        direction = self.operation.direction
        subject = cache.Subject(
            run=self.run,
            record=self.record,
            job=self.job,
            operation=self.operation,
            target=self._target(),
            read_bytes=_moved(self.record, "read", self.record.whole),
        )
        if direction is None:
            return *cache.cache_of(subject, None, 0), None
        devices = device.devices_of(self.run, subject.target)
        device_bytes = device.moved_bytes(self.record, devices, direction, self.window.counted)
        app_bytes = _moved(self.record, direction, self.window.counted)
        judged, found = cache.cache_of(subject, device_bytes, app_bytes)
        mismatch = cross_check(subject, judged, device_bytes, app_bytes)
        return judged, (*found, *mismatch), device_bytes


def _within(rows: pl.DataFrame, span: Span) -> pl.DataFrame:
    return rows.filter(pl.col("t_ns") > span.begin_ns, pl.col("t_ns") <= span.end_ns)


def _largest_ns(rows: pl.DataFrame, column: str, span: Span, index: histogram.IntArray) -> float:
    """Return the largest value inside a span, from maxima that run since the phase began.

    If the maximum grew inside the span, that is its largest value. If not, the largest value is in the highest bucket.
    """
    at_end = rows.filter(pl.col("t_ns") <= span.end_ns)[column].max()
    at_begin = rows.filter(pl.col("t_ns") <= span.begin_ns)[column].max()
    last = float(at_end) if isinstance(at_end, int | float) else float("inf")
    if at_begin is None or at_end != at_begin:
        return last
    return min(last, float(histogram.bucket_middle_ns(index[-1:])[0]))


def _moved(record: PhaseRecord, direction: str, span: Span) -> int:
    """Return the bytes that all recorded operations of a phase moved in a direction, groups not on top of members."""
    total = 0
    for job in record.phase.jobs:
        rows = _within(record.intervals.filter(job=job.name), span)
        by_name = dict(rows.group_by("operation").agg(pl.col("bytes").sum()).iter_rows())
        for operation in operations_of(job).values():
            is_recorded_below = operation.is_group and any(op.name in by_name for op in operation.members)
            if operation.direction == direction and operation.name in by_name and not is_recorded_below:
                total += int(by_name[operation.name])
    return total
