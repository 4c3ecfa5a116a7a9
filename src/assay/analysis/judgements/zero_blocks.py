"""Report reads of a device of which a part holds nothing but zeros.

An SSD or a thin volume answers reads of blocks that were never written, or were discarded, with zeros and without its
storage: such a device is faster than one that is in use. The engine looks at blocks at random places of a set on a block
device that this run did not write (`engine/src/places/sampled_zeros.rs`). What the run itself has written over the set since
then can have filled at most as many of them; that share is taken off. The same holds for blocks that the step `discard`,
or operations of the load (`discard`, `write_zeroes`, `punch_hole`), left without content.

Limits: whether a block of zeros was written is not known, nor what a load reads that goes over a part of the set.
"""

from collections.abc import Iterable

from assay import events
from assay.analysis import device, findings, thresholds
from assay.analysis.case import Case
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.statistics.binomial import binomial_interval
from assay.plan.distributions import Distribution, Fixed, Tabular
from assay.plan.op_rules import EMPTIES
from assay.plan.walk import job_sets, touched_sets
from assay.results import Finding
from assay.verdicts import ServedBy


def judge(case: Case) -> Iterable[Finding]:
    """Judge what the sets hold that an operation reads."""
    is_cached = case.measures is ServedBy.PAGE_CACHE and not case.subject.is_direct
    if case.operation.direction != "read" or not case.ops or is_cached:
        return
    for name in case.operation.sets or job_sets(case.job):
        if (emptied := _last_discard(case, name)) is not None:
            yield from _of_discarded(case, name, emptied)
            continue
        if found := _of_emptied(case, name):
            yield found
            continue
        before = [
            each for each in case.run.all(events.Prepared) if each.set == name and each.t_ns <= case.record.start_ns
        ]
        if before and before[-1].sampled_blocks:
            yield from _of_set(case, before[-1])


def _last_discard(case: Case, name: str) -> events.StepDone | None:
    """Find the last discard of a set before the phase that was done, if the set was not laid out since."""
    steps = case.run.all(events.StepDone)
    mine = [each for each in steps if each.subject == name and each.achieved and each.t_ns <= case.record.start_ns]
    last = next((each for each in reversed(mine) if each.step in {"discard", "prepare"}), None)
    return last if last is not None and last.step == "discard" else None


def _of_discarded(case: Case, name: str, emptied: events.StepDone) -> Iterable[Finding]:
    empty = 1 - _written_bytes(case, name, emptied.t_ns) / max(1, case.run.set_bytes(name) or 1)
    if empty <= thresholds.SMALL_SHARE:
        return
    text = (
        f"'{name}' was discarded, and {100 * empty:.0f} % of it or more was not written since. An SSD answers reads of these"
        " blocks without its storage: a device in use may be slower."
    )
    yield findings.weak("zero-blocks", text, "Write the device after the discard.", brief="discarded", effect=empty)


def _of_emptied(case: Case, name: str) -> Finding | None:
    """Judge what operations of the load took from a set on a device since it was laid out."""
    set_bytes = case.run.set_bytes(name)
    laid_out = [each.t_ns for each in case.run.all(events.Prepared) if each.set == name and not each.reused]
    if not set_bytes or not case.run.plan.is_on_device(name):
        return None
    since_ns = max((t_ns for t_ns in laid_out if t_ns <= case.record.start_ns), default=0)
    emptied = {
        record.start_ns: taken
        for record in case.run.phases
        if since_ns <= record.start_ns <= case.record.start_ns and (taken := emptied_bytes(record, name))
    }
    if not emptied:
        return None
    share = min(1.0, sum(emptied.values()) / set_bytes)
    if share - _written_bytes(case, name, min(emptied)) / set_bytes <= thresholds.SMALL_SHARE:
        return None
    text = (
        f"The load discarded or zeroed up to {100 * share:.0f} % of '{name}', and did not write as much since. An SSD"
        " answers reads of these blocks without its storage: a device in use may be slower."
    )
    cure = "Read before the load discards, or write the device in between."
    return findings.weak("zero-blocks", text, cure, brief="discarded or zeroed", effect=share)


def emptied_bytes(record: PhaseRecord, name: str) -> float:
    """Return the bytes of a set that operations of a phase left without content, at most: ranges may overlap."""
    return sum(
        record.rows(job.name, operation.name).total("ops") * sum(_longest(op.size) for op in taking)
        for job in record.phase.jobs
        for operation in record.operations[job.name].values()
        if not operation.is_group
        and (taking := [op for op in operation.ops if op.op in EMPTIES and name in touched_sets(job, [op])])
    )


def _longest(size: Distribution) -> float:
    """Return the largest value of a size that a device takes: a fixed one, or a row of some."""
    match size:
        case Fixed(value=value):
            return value
        case Tabular(rows=rows):
            return max(most for _, _, most in rows)
        case _:
            return 0.0


def _of_set(case: Case, prepared: events.Prepared) -> Iterable[Finding]:
    found, drawn = prepared.zero_blocks, prepared.sampled_blocks
    low, high = binomial_interval(found, drawn)
    if low - _written_bytes(case, prepared.set, prepared.t_ns) / max(1, prepared.bytes) <= thresholds.SMALL_SHARE:
        return
    target = case.run.plan.file_set(prepared.set).target
    names = ", ".join(device.devices_of(case.run, target) or (target,))
    text = (
        f"{100 * found / drawn:.0f} % of {drawn} sampled blocks of {names} hold only zeros ({100 * low:.0f} to"
        f" {100 * high:.0f} % of all). An SSD or thin volume answers reads of unwritten blocks without its storage: a device"
        " in use may be slower."
    )
    cure = "Measure a device whose blocks are written; or allow with --destroy-data that the load writes it first."
    yield findings.weak("zero-blocks", text, cure, brief="blocks of zeros", effect=found / drawn)


def _written_bytes(case: Case, name: str, since_ns: int) -> int:
    """Return what the run wrote to a set from a time on, up to the end of the phase."""
    key = ("written since", name, since_ns)
    return case.run.once(key, lambda: _written_by_phase(case.run, name, since_ns)).get(case.record.index, 0)


def _written_by_phase(run: RunRecord, name: str, since_ns: int) -> dict[int, int]:
    """Return the same up to the end of each phase, by index."""
    written, found = 0, {}
    for record in run.phases:
        if record.start_ns >= since_ns:
            written += sum(
                record.rows(job.name, operation.name).total("bytes")
                for job, operation in record.moving("write")
                if name in (operation.sets or job_sets(job))
            )
        found[record.index] = written
    return found
