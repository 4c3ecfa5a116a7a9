"""Can the number be trusted? What moved it, apart from the window and the cache.

Findings of one result come from the client (CPU contention, the clock), from what the engine really did (fallbacks,
short transfers, errors), and from the size of the sample. Findings of the run as a whole are in `run_findings`.

CPU contention is METHOD 4.2 G0: a worker that was runnable but waited for a CPU for more than 10 % of its time, or a
hypervisor that took more than 5 %, measured the neighbours. Workers that keep 90 % of all CPUs busy crowd out
themselves: that is oversubscription, not contamination.
"""

import errno

import polars as pl

from assay import events, plan
from assay.analysis import findings, thresholds
from assay.analysis.budget import WorkerUse, cpus_in_use, cpus_in_use_by_others, greatest_run_delay, steal_share
from assay.analysis.corruption import BLOCK_WARNING, read_findings, verify_findings
from assay.analysis.operations import Operation
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.window import Window
from assay.plan.walk import job_ops, touched_sets
from assay.results import Finding, LatencyNs

_CACHE_STEPS = frozenset({"evict", "drop_caches", "warm", "remount"})
"""Steps whose effect is verified by counters afterwards: one that failed is not by itself a fault of the number."""

_RELEASE = "release"


def client_findings(
    run: RunRecord, record: PhaseRecord, window: Window, uses: tuple[WorkerUse, ...], latency: LatencyNs
) -> tuple[Finding, ...]:
    """Judge the machine that the load ran on."""
    found: list[Finding] = []
    hello = run.first(events.Hello)
    delay = greatest_run_delay(uses)
    if delay is not None and delay[1] > thresholds.RUN_DELAY_SHARE:
        busy = cpus_in_use(record, window)
        others = cpus_in_use_by_others(record, window)
        found.append(_run_delay(delay, busy, others, hello.machine.cpus if hello else None))
    steal = steal_share(record, window)
    if steal is not None and steal > thresholds.STEAL_SHARE:
        text = f"The hypervisor gave {100 * steal:.0f} % of this machine's CPU time to others."
        found.append(findings.warning("cpu-contention", text, "Run on a quieter host, or repeat and compare."))
    if hello and latency.p50:
        timer = 2 * hello.clock.read_cost_ns / latency.p50
        if timer > thresholds.TIMER_SHARE:
            text = f"Reading the clock twice is {100 * timer:.1f} % of the median latency."
            found.append(findings.note("timer-share", text, "Use larger operations where that matters."))
    if hello and hello.engine.profile != _RELEASE:
        text = f"The engine is a {hello.engine.profile} build; its own code takes a large part of every operation."
        found.append(findings.warning("engine-profile", text, "Install the engine built with --release."))
    return tuple(found)


def _run_delay(delay: tuple[int, float], busy: float | None, others: float | None, cpus: int | None) -> Finding:
    worker, share = delay
    text = f"Worker {worker} was ready to run but waited for a CPU for {100 * share:.0f} % of its time"
    if busy is not None and cpus and busy >= thresholds.OWN_CPU_SHARE * cpus:
        text += f"; the load itself kept {busy:.1f} of {cpus} CPUs busy."
        return findings.note("cpu-oversubscribed", text, "Use fewer workers to see the storage instead of the CPUs.")
    used = "" if busy is None or not cpus else f"; the load itself used {busy:.1f} of {cpus} CPUs"
    used += f", all else on the machine {others:.1f}" if used and others is not None else ""
    cure = "Stop other programs if there are any, or use no more workers than there are CPUs, then run again."
    return findings.warning("cpu-contention", f"{text}{used}.", cure)


def execution_findings(record: PhaseRecord, job: plan.Job, operation: str) -> tuple[Finding, ...]:
    """Judge what the engine really did against what the Plan asked for."""
    found = [_from_engine(event) for event in record.warnings if event.id != BLOCK_WARNING]
    found += [_step(event) for event in record.steps if not event.achieved]
    found += _errors(record, job.name, operation)
    found += read_findings(record, job.name, operation)
    found += _end(record, job)
    found += _uneven(record, job)
    facts = record.job_facts(job.name)
    if facts is None:
        return tuple(found)
    if facts.short_transfers:
        text = f"{facts.short_transfers} operations moved fewer bytes than asked for."
        cure = "Look for a full file system, or a set smaller than the region that is read."
        found.append(findings.warning("short-transfers", text, cure))
    if facts.arrivals is not None:
        found += _arrivals(facts.arrivals)
    said = {event.id for event in record.warnings}
    if facts.backend != _backend(job) and "io-uring-fallback" not in said:
        text = f"The Plan asks for {_backend(job)}; {facts.backend} was used."
        cure = "Allow io_uring on this machine (kernel.io_uring_disabled = 0), or compare like with like."
        found.append(findings.note("backend-fallback", text, cure))
    if job.open.direct is not plan.Direct.OFF and not facts.direct and "direct-refused" not in said:
        text = "The Plan asks for O_DIRECT; the file system refused it and the page cache was used."
        cure = "Use a file system that supports O_DIRECT, or a set of more than twice the RAM."
        found.append(findings.warning("direct-refused", text, cure))
    return tuple(found)


def _arrivals(arrivals: events.Arrivals) -> list[Finding]:
    """Say whether an open loop kept its schedule (METHOD 2.5: below 99 % of the target the rate was not held)."""
    scheduled, missed, unissued = arrivals.scheduled, arrivals.missed, arrivals.unissued
    if not scheduled:
        return []
    achieved = (scheduled - unissued) / scheduled
    if achieved < thresholds.ACHIEVED_SHARE:
        text = f"{unissued} of {scheduled} scheduled arrivals had not been issued when the phase ended: "
        text += f"{100 * achieved:.1f} % of the asked rate was achieved. Those left over are in no percentile, and the "
        text += "response time grows with the length of the run."
        return [findings.warning("overloaded", text, "Ask for a lower rate, or allow more operations in flight.")]
    if missed or unissued:
        text = f"{missed} of {scheduled} arrivals were issued after the next one was due already"
        text += f", {unissued} were due and not issued at the end." if unissued else "."
        text += " Response times count from when they were due."
        return [findings.note("missed-slots", text, "")]
    return []


def _backend(job: plan.Job) -> str:
    return str(job.backend.__struct_config__.tag)


def _from_engine(event: events.Warning) -> Finding:
    return Finding(id=event.id, severity=event.severity.value, text=event.text, cure=event.cure)


def _step(event: events.StepDone) -> Finding:
    subject = f" of '{event.subject}'" if event.subject else ""
    text = f"Step {event.step}{subject} was not possible: {event.detail}"
    severity = findings.NOTE if event.step in _CACHE_STEPS else findings.WARNING
    return Finding(id="step-not-done", severity=severity, text=text, cure="")


def _errors(record: PhaseRecord, job: str, operation: str) -> list[Finding]:
    rows = record.intervals.filter(job=job, operation=operation)
    total = int(rows["errors"].sum())
    if not total:
        return []
    counts = record.finished.errors if record.finished else ()
    kinds = [
        f"{_error_word(count.errno)} {count.count} times"
        for count in counts
        if (count.job, count.operation) == (job, operation)
    ]
    text = f"{total} of {total + int(rows['ops'].sum())} operations ended with an error"
    text += f" ({', '.join(kinds)})." if kinds else "."
    return [findings.warning("errors", text + " They are in no rate and no latency.", "Remove their cause, run again.")]


def _error_word(number: int) -> str:
    if number >= events.PROGRAM_STATUS:
        return f"exit status {number - events.PROGRAM_STATUS}"
    return _errno_name(number)


def _errno_name(number: int) -> str:
    """The name of an error number in the manual pages and in strace; Python knows the second names of two."""
    second_names = {errno.EDEADLK: "EDEADLK", errno.EOPNOTSUPP: "EOPNOTSUPP"}
    return second_names.get(number) or errno.errorcode.get(number, f"errno {number}")


def _end(record: PhaseRecord, job: plan.Job) -> list[Finding]:
    """Say so when a phase did not end by the rule that the Plan gave it."""
    if record.finished is None:
        return []
    stopped = record.finished.stopped_by
    if stopped is events.StoppedBy.CONTROL:
        return [findings.warning("stopped-early", "The phase was stopped from outside.", "Run it again to the end.")]
    if stopped is events.StoppedBy.ERROR:
        return [findings.warning("stopped-by-error", "An error ended the phase early.", "Remove its cause, run again.")]
    has_time = record.phase.stop.seconds is not None or job.stop.seconds is not None
    if stopped is events.StoppedBy.EXHAUSTED and has_time:
        text = "Nothing was left to do before the phase's time was over."
        return [findings.note("exhausted", text, "Use a larger set to fill the time.")]
    return []


def _uneven(record: PhaseRecord, job: plan.Job) -> list[Finding]:
    """Say so when the first worker that was done stopped others far behind it."""
    is_stonewalled = plan.StopOf.FIRST in {record.phase.stop.of, job.stop.of}
    if not is_stonewalled or job.workers == 1 or record.finished is None:
        return []
    ends = record.workers.filter(job=job.name).group_by("worker").agg(pl.col("bytes").max(), pl.col("ops").max())
    done = ends["bytes"].to_list() if ends["bytes"].sum() else ends["ops"].to_list()
    if not done or min(done) >= thresholds.EVEN_SHARE * max(done):
        return []
    share = 100 * min(done) / max(done)
    text = f"When the first worker was done and stopped the others, the slowest had done {share:.0f} % of its work."
    cure = "Give each worker more to do, so that start and end weigh less, or let all of them finish."
    return [findings.invalid("uneven-workers", text, cure)]


def sample_findings(ops: int, seconds: float, job_ops: int, latency: LatencyNs) -> tuple[Finding, ...]:
    """Judge the size of the sample."""
    if job_ops == 0:
        text = "No operation of this job was completed in the window."
        return (findings.invalid("no-operations", text, "Look at the errors, or run longer."),)
    if ops == 0:
        return (findings.note("no-operations", "This operation was never completed in the window."),)
    found: list[Finding] = []
    if seconds < thresholds.SHORT_WINDOW_S or ops < thresholds.FEW_OPS:
        text = f"Shorter than {thresholds.SHORT_WINDOW_S:g} s, or fewer than {thresholds.FEW_OPS} operations."
        found.append(findings.note("small-sample", text, "Run longer for a number that repeats."))
    values = {"p50": latency.p50, "p90": latency.p90, "p99": latency.p99, "p99.9": latency.p99_9}
    withheld = [name for name, value in values.items() if value is None]
    if withheld:
        text = f"{', '.join(withheld)}: too few operations."
        cure = "A percentile q needs 10 / (1 - q) operations (p99 1000, p99.9 10000): run longer."
        found.append(findings.note("percentiles-withheld", text, cure))
    return tuple(found)


def data_findings(
    run: RunRecord, record: PhaseRecord, operation: Operation, *, is_buffered: bool
) -> tuple[Finding, ...]:
    """Judge the data that was worked on."""
    found: list[Finding] = []
    hello = run.first(events.Hello)
    size_bytes = sum(run.set_bytes(name) or 0 for name in operation.sets)
    if operation.direction == "read" and is_buffered and hello and size_bytes:
        times = size_bytes / hello.machine.ram_bytes
        if times < thresholds.SET_TO_RAM:
            text = f"The data set is {times:.2g} times this machine's RAM, so buffered reads can come from memory."
            found.append(
                findings.note("small-set", text, "The hit ratio says whether they did; a set of 2x RAM rules it out.")
            )
    for file_set in (run.plan.file_set(name) for name in operation.sets):
        found += _content(run, record, file_set, operation)
    return tuple(found)


def _was_written(run: RunRecord, record: PhaseRecord, name: str) -> bool:
    """Whether a phase before this one wrote to a set."""
    jobs = (job for phase in run.plan.phases[: record.index] for job in phase.jobs)
    return any(op.op is plan.OpKind.WRITE and name in touched_sets(job, (op,)) for job in jobs for op in job_ops(job))


def _content(run: RunRecord, record: PhaseRecord, file_set: plan.FileSet, operation: Operation) -> list[Finding]:
    is_unwritten = file_set.allocate is not plan.Allocate.WRITE and operation.direction == "read"
    if is_unwritten and not _was_written(run, record, file_set.name):
        text = f"Set '{file_set.name}' was allocated but never written: the file system answers such reads itself."
        return [findings.warning("unwritten-blocks", text, "Lay the set out with allocate = write.")]
    content = file_set.content
    if operation.direction and (content.compress_ratio > 1 or content.dedupe_ratio > 1):
        text = (
            f"Set '{file_set.name}' compresses {content.compress_ratio:g} : 1 and deduplicates"
            f" {content.dedupe_ratio:g} : 1; storage that does either moves fewer bytes."
        )
        return [findings.note("reducible-content", text)]
    return []


def run_findings(run: RunRecord) -> tuple[Finding, ...]:
    """Judge the run as a whole."""
    found = [
        findings.invalid("engine-error", _error_text(event), "Remove the cause and run again.")
        for event in run.all(events.Error)
    ]
    found += _reason(run)
    found += verify_findings(run)
    found += _ending(run)
    found += [_from_engine(event) for event in run.all(events.Warning) if event.phase_index is None]
    found += [
        findings.warning("untranslated", f"'{item.what}' of {run.plan.origin.source} was left out: {item.why}", "")
        for item in run.plan.untranslated
    ]
    found += _missing_counters(run)
    text = "Steady state and limiter are not judged by this version; their fields are null."
    cure = "Look at the timeline for drift; intervals, counters and time budgets are in the bundle."
    found.append(findings.note("not-judged", text, cure))
    return tuple(found)


def _reason(run: RunRecord) -> list[Finding]:
    """Say what ended the run early, where the engine did not say it itself."""
    text = run.facts.get("run.error")
    if not isinstance(text, str) or any(event.text in text for event in run.all(events.Error)):
        return []
    return [findings.warning("run-ended-early", text, "Run again for the rest.")]


def _error_text(event: events.Error) -> str:
    kind = f" ({_errno_name(event.errno)})" if event.errno is not None else ""
    return event.text + kind


def _ending(run: RunRecord) -> list[Finding]:
    """Say so when phases of the Plan have no result."""
    finished = {record.index for record in run.phases if record.finished is not None}
    missing = [phase.title for index, phase in enumerate(run.plan.phases) if index not in finished]
    end = run.first(events.Finished)
    if end is None:
        count = f"{len(missing)} of {len(run.plan.phases)} phases are not complete"
        text = f"The engine's stream has no end: it was killed, or still runs. {count}."
        return [findings.invalid("unfinished", text, "What was measured before is kept; run again for the rest.")]
    if missing:
        text = f"{len(missing)} of {len(run.plan.phases)} phases are not complete: {', '.join(missing)}."
        return [findings.warning("unfinished", text, "Run again for the rest.")]
    return []


def _missing_counters(run: RunRecord) -> list[Finding]:
    if not run.phases:
        return []
    workers = [record.workers for record in run.phases if not record.workers.is_empty()]
    if not workers or any(table["on_cpu_ns"].null_count() for table in workers):
        text = "The kernel did not say how long threads ran and waited for a CPU (no schedstat): time budgets are null."
        return [findings.note("time-budget-unavailable", text, "Use a kernel with CONFIG_SCHED_INFO.")]
    lacking = [record for record in run.phases if record.workers["block_delay_ns"].null_count()]
    if not lacking:
        return []
    if all(table["block_delay_ns"].null_count() == table.height for table in workers):
        text = "Time spent waiting for block devices was not counted; it is part of the other waits."
        cure = "Run as root, or set sysctl kernel.task_delayacct=1 before the run."
    else:
        titles = ", ".join(record.phase.title for record in lacking)
        text = (
            "The kernel gave a thread more waiting for block devices than there was time, so that time was dropped: "
            f"it is part of the other waits in {titles}."
        )
        cure = "Run again; with no more workers than CPUs it is rarer."
    return [findings.note("block-delay-unavailable", text, cure)]
