"""One operation of one job in one phase: what the Plan asked of it, where its data lies, and what was recorded of it."""

import dataclasses
import functools

from assay import events
from assay.analysis import device
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import READS, Operation, direct_wanted
from assay.analysis.rows import Rows, Span
from assay.plan import Job
from assay.plan.durability import WRITES
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
        return tuple(_file_system(self.run, target) for target in self.targets)

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
        """Whether the page cache was passed by; a phase that was cut does not say, then what the Plan asked for."""
        return not self.touches_memory and (self.facts.direct if self.facts else direct_wanted(self.job))

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

    def app_bytes(self, span: Span) -> int | None:
        """Return what the recorded operations that share its devices moved in its direction.

        None where these are not known, or where one of them has data on others too: its part in it cannot be told.
        """
        mine, total = self.devices, 0
        if self.operation.direction is None or mine is None:
            return None
        for job, operation in self.record.moving(self.operation.direction):
            theirs = frozenset(_devices_of(self.run, _targets_of(self.run, job, operation)) or ())
            if theirs.isdisjoint(mine):
                continue
            if theirs != frozenset(mine):
                return None
            total += self.record.rows(job.name, operation.name).total("bytes", span)
        return total

    @property
    def devices_of_all(self) -> tuple[str, ...] | None:
        """Names of the devices of everything that the phase works on; None: some are not known."""
        targets = dict.fromkeys(
            self.run.plan.file_set(name).target for job in self.record.phase.jobs for name in job_sets(job)
        )
        return _devices_of(self.run, tuple(targets))

    @property
    def is_plain_direct(self) -> bool:
        """Whether its writes go by the page cache, and change no more than the data of files that are there."""
        kinds = {op.op for op in job_ops(self.job)}
        return self.is_direct and not (self.job.open.sync or self.job.open.dsync) and kinds <= {*READS, *WRITES}

    def devices_of_phase(self, direction: str) -> tuple[str, ...] | None:
        """Names of the devices of all operations of the phase that move data in a direction; None: some are not known."""
        moving = self.record.moving(direction)
        targets = dict.fromkeys(name for job, op in moving for name in _targets_of(self.run, job, op))
        return _devices_of(self.run, tuple(targets))


def _targets_of(run: RunRecord, job: Job, operation: Operation) -> tuple[str, ...]:
    sets = operation.sets or job_sets(job)
    return tuple(dict.fromkeys(run.plan.file_set(name).target for name in sets))


def _file_system(run: RunRecord, target: str) -> str | None:
    place = ""
    while run.target_fact(target, f"{place}upper.fs.type") is not None:
        place += "upper."
    kind = run.target_fact(target, f"{place}fs.type")
    return kind if isinstance(kind, str) else None


def _devices_of(run: RunRecord, targets: tuple[str, ...]) -> tuple[str, ...] | None:
    """Devices of all targets that are not memory; None where a target has none that is known."""
    found: dict[str, None] = {}
    for target in targets:
        if _file_system(run, target) in MEMORY_FILE_SYSTEMS:
            continue
        names = device.devices_of(run, target)
        if not names:
            return None
        found |= dict.fromkeys(names)
    return tuple(found) or None
