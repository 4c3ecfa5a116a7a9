"""Report what holds for the run as a whole."""

from collections.abc import Iterable, Sequence

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.finding_pages import current_id
from assay.analysis.judgements.engine_warnings import from_engine
from assay.analysis.judgements.errors import errno_name
from assay.analysis.record import RunRecord
from assay.plan import CacheCondition
from assay.results import Finding, Result
from assay.units import format_names
from assay.verdicts import ServedBy

_LONGEST_SOURCE = 200
_MEMORY = frozenset({ServedBy.PAGE_CACHE, ServedBy.WRITE_BACK})


def engine_errors(run: RunRecord) -> Iterable[Finding]:
    """Name what ended the engine."""
    cure = "Remove the cause and run again."
    return [findings.invalid("engine-error", _error_text(event), cure) for event in run.all(events.Error)]


def engine_warnings(run: RunRecord) -> Iterable[Finding]:
    """Pass on the engine's warnings that belong to no phase."""
    return [from_engine(event) for event in run.all(events.Warning) if event.phase_index is None]


def untranslated(run: RunRecord) -> Iterable[Finding]:
    """Name what the front end left out."""
    return [
        findings.warning(
            "load-changed", f"'{item.what}' of {_source(run)} was left out: {item.why}", "", brief="untranslated"
        )
        for item in run.plan.untranslated
    ]


def _source(run: RunRecord) -> str:
    """The source of the Plan, where it is one line: a script is named by its kind."""
    source = run.plan.origin.source
    return (
        source if len(source) <= _LONGEST_SOURCE and "\n" not in source else f"this {run.plan.origin.front_end} script"
    )


def accepted_in_vain(run: RunRecord, measured: Sequence[Result]) -> Iterable[Finding]:
    """Report ids that the load accepts and the run does not have: they may be misspelt."""
    found = {finding.id for result in measured for finding in result.findings}
    vain = [id_ for id_ in run.plan.accept if current_id(id_) not in found]
    if not vain:
        return []
    text = f"The load accepts {', '.join(vain)}, which this run does not have."
    return [findings.note("accepted-in-vain", text, "Correct the id, or remove it from the load.")]


def from_memory(_run: RunRecord, measured: Sequence[Result]) -> Iterable[Finding]:
    """Report once that memory served a whole run; where a warm cache was asked for, it is as it was to be."""
    data = [result for result in measured if result.throughput_bytes_per_s is not None]
    in_memory = [result for result in data if result.measures in _MEMORY]
    if not data or len(in_memory) < thresholds.NEARLY_ALL * len(data):
        return []
    all_of = "All" if len(in_memory) == len(data) else f"{len(in_memory)} of {len(data)}"
    text = (
        f"{all_of} data rates in this run are of this machine's memory: the page cache delivered the reads and took the"
        " writes. They are not of the storage."
    )
    if all(result.cache.condition == CacheCondition.WARM.value for result in in_memory):
        return [findings.note("from-memory", text)]
    cure = "Use direct I/O, a set of twice the RAM, or a cold cache for reads and a flush in the time for writes."
    return [findings.weak("from-memory", text, cure, brief="memory, not storage")]


def reason(run: RunRecord) -> Iterable[Finding]:
    """Report what ended the run early, where the engine did not report it itself."""
    text = run.facts.get("run.error")
    if not isinstance(text, str) or any(event.text in text for event in run.all(events.Error)):
        return []
    return [findings.warning("ended-early", text, "Run again for the rest.")]


def _error_text(event: events.Error) -> str:
    kind = f" ({errno_name(event.errno)})" if event.errno is not None else ""
    return event.text + kind


def ending(run: RunRecord) -> Iterable[Finding]:
    """Report when phases of the Plan have no result."""
    finished = {record.index for record in run.phases if record.finished is not None}
    done = finished | run.left_out
    missing = [phase.title for index, phase in enumerate(run.plan.phases) if index not in done]
    end = run.first(events.Finished)
    if end is None:
        count = f"{len(missing)} of {len(run.plan.phases)} phases are not complete"
        text = f"The engine's stream has no end: it was killed, or still runs. {count}."
        return [findings.invalid("unfinished", text, "What was measured before is kept; run again for the rest.")]
    if missing:
        names = format_names([*dict.fromkeys(missing)])
        text = f"{len(missing)} of {len(run.plan.phases)} phases are not complete: {names}."
        return [findings.warning("unfinished", text, "Run again for the rest.")]
    return []


def missing_counters(run: RunRecord) -> Iterable[Finding]:
    """Report which times of the workers the kernel did not count."""
    if not run.phases:
        return []
    workers = [record.workers for record in run.phases if record.workers]
    if not workers or any(rows.unknown("on_cpu_ns") for rows in workers):
        text = (
            "Time budgets are null: the kernel does not count how long threads ran and waited for a CPU (no schedstat)."
        )
        return [findings.note("counters-unavailable", text, "Use a kernel with CONFIG_SCHED_INFO.")]
    lacking = [record for record in run.phases if record.workers.unknown("block_delay_ns")]
    if not lacking:
        return []
    if all(rows.unknown("block_delay_ns") == len(rows) for rows in workers):
        text = "The kernel did not count waits for block devices. They are part of the other waits in time budgets."
        cure = "Run as root, or set sysctl kernel.task_delayacct=1 before the run."
    else:
        titles = ", ".join(record.phase.title for record in lacking)
        text = (
            "The kernel counted more waiting for block devices than there was time, so it was left out: it is part of the"
            f" other waits in {titles}."
        )
        cure = "Run again; with no more workers than CPUs it is rarer."
    return [findings.note("counters-unavailable", text, cure)]
