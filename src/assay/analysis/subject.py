"""One operation of one job in one phase: what the Plan asked of it, where its data lies, and what was recorded of it."""

import dataclasses
import functools

from assay import events
from assay.analysis import device
from assay.analysis.layers import queue_facts
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import Operation, direct_wanted
from assay.analysis.rows import Rows, Span
from assay.analysis.shared_machine import on_machine
from assay.plan import Job
from assay.plan.durability import can_flush, is_synchronous
from assay.plan.op_rules import CHANGES, MOVES_DATA
from assay.plan.walk import job_ops, job_sets

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})


@dataclasses.dataclass(frozen=True)
class Subject:
    """What a result is about."""

    run: RunRecord
    record: PhaseRecord
    job: Job
    operation: Operation

    @functools.cached_property
    def rows(self) -> Rows:
        """What it did, interval by interval."""
        return self.record.rows(self.job.name, self.operation.name)

    @property
    def facts(self) -> events.JobFacts | None:
        """What really happened below its job; None when the phase was cut."""
        return self.record.job_facts(self.job.name)

    # -- where its data lies -------------------------------------------------------------------------------------------

    @functools.cached_property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets that hold its file sets."""
        return _targets_of(self.run, self.job, self.operation)

    @functools.cached_property
    def file_systems(self) -> tuple[str | None, ...]:
        """Type of the file system that keeps each target's data: for an overlay, the one of its upper directory."""
        return tuple(file_system_of(self.run, target) for target in self.targets)

    @property
    def is_on_device(self) -> bool:
        """Whether all that it works on are block devices without a file system."""
        sets = self.operation.sets or job_sets(self.job)
        return bool(sets) and all(self.run.plan.is_on_device(name) for name in sets)

    @property
    def file_systems_of_all(self) -> tuple[str | None, ...]:
        """The same for everything that the phase works on."""
        return tuple(file_system_of(self.run, target) for target in self.targets_of_all)

    @property
    def file_system(self) -> str:
        """Name the types in words."""
        named = dict.fromkeys(kind or "file system of unknown type" for kind in self.file_systems)
        return ", ".join(named) or "file system of unknown type"

    @property
    def single_files(self) -> frozenset[str]:
        """Names of the file sets of one file."""
        return frozenset(file_set.name for file_set in self.run.plan.file_sets if file_set.files == 1)

    @property
    def is_memory(self) -> bool:
        """Whether all its data is kept in memory."""
        return bool(self.file_systems) and all(kind in MEMORY_FILE_SYSTEMS for kind in self.file_systems)

    @property
    def touches_memory(self) -> bool:
        """Whether some of its data is kept in memory."""
        return any(kind in MEMORY_FILE_SYSTEMS for kind in self.file_systems)

    @property
    def is_direct(self) -> bool:
        """Whether the page cache was passed by; for a phase that was cut, whether the Plan asked for it."""
        return not self.touches_memory and _is_direct(self.record, self.job)

    @property
    def is_on_a_host(self) -> bool:
        """Whether this is a virtual machine, whose host's memory may be behind its devices."""
        return self.run.facts.get("host.virtualisation.is_virtual") is True

    @functools.cached_property
    def devices(self) -> tuple[str, ...] | None:
        """Names of the block devices that hold all its data; None where those of a target are not known."""
        return _devices_of(self.run, self.targets)

    # -- what was moved ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def read_bytes(self) -> int:
        """What all recorded reads of the phase moved, over the whole phase."""
        return self.record.moved_bytes("read", self.record.whole)

    def read_bytes_on_machine(self, span: Span) -> float | None:
        """Return what all recorded reads of the phase moved in a span, of all clients on its machine."""

        def read(_: RunRecord, record: PhaseRecord, own_span: Span) -> float:
            return float(record.moved_bytes("read", own_span))

        return on_machine(self.run, self.record, span, "read", read)

    def app_bytes(self, span: Span) -> int | None:
        """Return what the recorded operations that share its devices moved in its direction.

        Those of all clients on its machine. None where these are not known, or where one of them has data on others too: its
        part in it is unknown.
        """
        direction, devices = self.operation.direction, self.devices
        total = None if direction is None else self._total_on(devices, direction, "bytes", span)
        return None if total is None else int(total)

    def total_on_devices(self, direction: str, column: str, span: Span) -> float | None:
        """Return the `ops` or `bytes` that the recorded operations of a direction did on the devices of the phase."""
        return self._total_on(self.devices_of_all, direction, column, span)

    def _total_on(self, devices: tuple[str, ...] | None, direction: str, column: str, span: Span) -> float | None:
        mine = frozenset(devices or ())

        def done(run: RunRecord, record: PhaseRecord, own_span: Span) -> float | None:
            return _total_on(run, record, mine, (direction, column), own_span)

        return on_machine(self.run, self.record, span, (column, direction, mine), done) if mine else None

    def bytes_in_flight(self, span: Span) -> float:
        """Return how many bytes the jobs of the phase keep in flight at most, of all clients of its machine."""

        def asked(run: RunRecord, record: PhaseRecord, _: Span) -> float:
            return float(sum(_bytes_in_flight(run, record, job) for job in record.phase.jobs))

        return on_machine(self.run, self.record, span, "in flight", asked) or 0.0

    def fetched_bytes(self, span: Span) -> float | None:
        """Return what the kernel fetched in a span for all clients of its machine that use devices of its phase."""
        mine = frozenset(self.devices_of_all or ())

        def fetched(run: RunRecord, record: PhaseRecord, own_span: Span) -> float | None:
            is_elsewhere = bool(mine) and mine.isdisjoint(_devices_of_phase(run, record) or mine)
            return 0.0 if is_elsewhere else record.process_delta(own_span, "process_read_bytes")

        return on_machine(self.run, self.record, span, ("fetched", mine), fetched)

    def ops_on_devices(self, span: Span) -> float | None:
        """Return how many operations of its kind its devices served in a span, of all clients of its machine."""
        mine, job, name = frozenset(self.devices or ()), self.job.name, self.operation.name

        def done(run: RunRecord, record: PhaseRecord, own_span: Span) -> float:
            is_elsewhere = bool(mine) and mine.isdisjoint(_devices_of(run, self.targets) or mine)
            return 0.0 if is_elsewhere else float(record.rows(job, name).total("ops", own_span))

        return on_machine(self.run, self.record, span, ("ops", job, name, mine), done)

    @property
    def devices_of_all(self) -> tuple[str, ...] | None:
        """Names of the devices of everything that the phase works on; None: some are not known."""
        return _devices_of_phase(self.run, self.record)

    @property
    def targets_of_all(self) -> tuple[str, ...]:
        """Names of the targets of everything that the phase works on."""
        return _targets_of_phase(self.run, self.record)

    @property
    def waits_for_flushes(self) -> bool:
        """Whether its job can have a device flush its cache."""
        return _can_flush(self.record, self.job)

    @property
    def can_flush(self) -> bool:
        """Whether a job of its phase can."""
        return any(_can_flush(self.record, job) for job in self.record.phase.jobs)

    @property
    def is_plain_direct(self) -> bool:
        """Whether its writes go by the page cache, and change no more than the data of files that are there."""
        return not self.touches_memory and _is_plain_direct(self.record, self.job)

    @property
    def all_plain_direct(self) -> bool:
        """Whether this holds for all writes of its phase."""
        writing = (job for job in self.record.phase.jobs if not CHANGES.isdisjoint(op.op for op in job_ops(job)))
        return all(_is_plain_direct(self.record, job) for job in writing)

    def devices_of_phase(self, direction: str) -> tuple[str, ...] | None:
        """Names of the devices of all operations of the phase that move data in a direction; None: some are not known."""
        moving = self.record.moving(direction)
        targets = dict.fromkeys(name for job, op in moving for name in _targets_of(self.run, job, op))
        return _devices_of(self.run, tuple(targets))


def _devices_of_phase(run: RunRecord, record: PhaseRecord) -> tuple[str, ...] | None:
    return _devices_of(run, _targets_of_phase(run, record))


def _targets_of_phase(run: RunRecord, record: PhaseRecord) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.plan.file_set(name).target for job in record.phase.jobs for name in job_sets(job)))


def _is_direct(record: PhaseRecord, job: Job) -> bool:
    facts = record.job_facts(job.name)
    return facts.direct if facts else direct_wanted(job)


def _is_plain_direct(record: PhaseRecord, job: Job) -> bool:
    ops = tuple(job_ops(job))
    moves_data_alone = all(op.op in MOVES_DATA and not is_synchronous(job, op) for op in ops)
    return _is_direct(record, job) and moves_data_alone


def _can_flush(record: PhaseRecord, job: Job) -> bool:
    return can_flush(job, is_direct=_is_direct(record, job))


def _bytes_in_flight(run: RunRecord, record: PhaseRecord, job: Job) -> float:
    """Give what one job has under way at once: of reads through the page cache, read-ahead has two windows of a file."""
    sizes = [0.0]
    for name in record.counted_once(job.name):
        rows = record.rows(job.name, name)
        sizes.append(rows.total("bytes") / max(1, rows.total("ops")))
    ahead = 0
    if not _is_direct(record, job):
        targets = tuple(dict.fromkeys(run.plan.file_set(name).target for name in job_sets(job)))
        ahead = 2 * max(queue_facts(run, targets, "read_ahead_bytes"), default=0)
    return job.workers * job.queue_depth * (max(sizes) + ahead)


def _total_on(
    run: RunRecord, record: PhaseRecord, devices: frozenset[str], what: tuple[str, str], span: Span
) -> int | None:
    """Give what the operations of a phase did on devices, by direction and column; None where one has data on others too."""
    direction, column = what
    total = 0
    for job, operation in record.moving(direction):
        theirs = frozenset(_devices_of(run, _targets_of(run, job, operation)) or ())
        if theirs.isdisjoint(devices):
            continue
        if theirs != devices:
            return None
        total += record.rows(job.name, operation.name).total(column, span)
    return total


def _targets_of(run: RunRecord, job: Job, operation: Operation) -> tuple[str, ...]:
    sets = operation.sets or job_sets(job)
    return tuple(dict.fromkeys(run.plan.file_set(name).target for name in sets))


def file_system_of(run: RunRecord, target: str) -> str | None:
    """Give the type of the file system that keeps a target's data, of an overlay's upper directory; None: unknown."""
    place = ""
    while run.target_fact(target, f"{place}upper.fs.type") is not None:
        place += "upper."
    kind = run.target_fact(target, f"{place}fs.type")
    return kind if isinstance(kind, str) else None


def _devices_of(run: RunRecord, targets: tuple[str, ...]) -> tuple[str, ...] | None:
    """Devices of all targets that are not memory; None where a target has none that is known."""
    found: dict[str, None] = {}
    for target in targets:
        if file_system_of(run, target) in MEMORY_FILE_SYSTEMS:
            continue
        names = device.devices_of(run, target)
        if not names:
            return None
        found |= dict.fromkeys(names)
    return tuple(found) or None
