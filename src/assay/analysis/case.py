"""What a judgement may look at: all that was asked, recorded and worked out of one operation of one job in one phase."""

import dataclasses
import functools

from assay.analysis import budget, cache, device, energy, served
from assay.analysis.committed import committed_rate
from assay.analysis.hit import HitRatio
from assay.analysis.latency import OperationLatency
from assay.analysis.latency_modes import by_latency
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.limiter.evidence import gather
from assay.analysis.limiter.rules import decide
from assay.analysis.limiter.signals import Signals
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.recorded_operations import Operation
from assay.analysis.steadiness import JobSteadiness
from assay.analysis.subject import Subject
from assay.analysis.window import Window
from assay.plan import Job, Open
from assay.results import Cache, Committed, LatencyNs
from assay.verdicts import ServedBy


@dataclasses.dataclass(frozen=True)
class Case:
    """One result, before it is judged."""

    subject: Subject
    steadiness: JobSteadiness
    """Of its job."""
    uses: tuple[budget.WorkerUse, ...]
    """What each worker of the job did in the window."""
    is_whole: bool
    """Whether it is all that its job does: CPU time and time budget are of a job, and a part of it has none."""

    @property
    def window(self) -> Window:
        """Where its numbers are from."""
        return self.steadiness.window

    @property
    def run(self) -> RunRecord:
        """The run as it was read."""
        return self.subject.run

    @property
    def record(self) -> PhaseRecord:
        """What was recorded of the phase."""
        return self.subject.record

    @property
    def job(self) -> Job:
        """The job, as in the Plan."""
        return self.subject.job

    @property
    def operation(self) -> Operation:
        """The operation, as in the Plan."""
        return self.subject.operation

    @functools.cached_property
    def ops(self) -> int:
        """Operations in the window."""
        return self.subject.rows.total("ops", self.window.counted)

    @functools.cached_property
    def bytes(self) -> int:
        """Bytes that they moved."""
        return self.subject.rows.total("bytes", self.window.counted)

    @functools.cached_property
    def errors(self) -> int:
        """Operations that failed, in the whole phase."""
        return self.subject.rows.total("errors")

    @property
    def seconds(self) -> float:
        """What rates are divided by."""
        return self.window.span.seconds

    @functools.cached_property
    def latencies(self) -> OperationLatency:
        """Issue to completion."""
        return self._latencies("latency")

    @property
    def latency_ns(self) -> LatencyNs:
        """Issue to completion, in figures."""
        return self.latencies.values

    @functools.cached_property
    def responses(self) -> OperationLatency | None:
        """Intended arrival to completion; None for a closed loop."""
        return self._latencies("response") if isinstance(self.job.arrival, Open) else None

    @property
    def response_ns(self) -> LatencyNs | None:
        """The same, in figures."""
        return self.responses.values if self.responses else None

    def _latencies(self, series: str) -> OperationLatency:
        return OperationLatency(self.record, self.job.name, self.operation.name, series, self.window.counted)

    @functools.cached_property
    def cpu_ns_per_op(self) -> float | None:
        """CPU time of one operation; None where it is not known."""
        return budget.cpu_ns_per_op(self.record, self.job, self.window, self.uses) if self.is_whole else None

    @functools.cached_property
    def committed(self) -> Committed | None:
        """What storage had by the end of a flush after the phase, of changes that memory or a device's cache took."""
        if not self.operation.changes or (self.reaches_device and not self.unflushed_caches):
            return None
        return committed_rate(self.subject, self.window, moves_data=self.moves_data)

    @property
    def reaches_device(self) -> bool:
        """Whether the rate of a change is that of the device, which may have a cache of its own."""
        return cache.reaches_device(self.subject)

    @functools.cached_property
    def unflushed_caches(self) -> tuple[str, ...]:
        """Devices whose caches may lose what they took."""
        return cache.unflushed_caches(self.subject)

    @property
    def committed_share(self) -> float | None:
        """The rate up to the end of the flush by that of the window; None where none is known."""
        rate = self.ops / self.seconds if self.seconds > 0 else 0.0
        return self.committed.iops / rate if self.committed and rate else None

    @property
    def moves_data(self) -> bool:
        """Whether it reads or writes bytes."""
        return bool(self.bytes or self.operation.direction)

    @functools.cached_property
    def limiter(self) -> Conclusion | None:
        """What limited its job; None for a part of one, and where nothing was done."""
        return decide(self.signals) if self.is_whole and self.ops and self.signals else None

    @functools.cached_property
    def signals(self) -> Signals | None:
        """What was counted in its window; None where nothing was sampled."""
        return gather(self.subject, self.window, self.uses, self.latency_ns, is_absorbed=self.is_absorbed)

    @property
    def is_absorbed(self) -> bool:
        """Whether it changes something that memory takes."""
        return self.operation.changes and not self.reaches_device

    @functools.cached_property
    def measures(self) -> ServedBy:
        """What its number is a number of."""
        return served.served_by(self.subject, self.window, self.hit, self.limiter, self.uses)

    @functools.cached_property
    def hit(self) -> HitRatio:
        """Share of the bytes read that storage did not deliver; of a group that writes as well, where both pass it by."""
        if self.operation.direction != "read":
            is_direct = self.subject.is_direct and self.operation.reads_too
            return cache.hit_ratio(self.subject, self.window.counted) if is_direct else HitRatio(None, None)
        return by_latency(self.subject, cache.hit_ratio(self.subject, self.window.counted), self.latencies)

    @functools.cached_property
    def cache(self) -> Cache:
        """The page cache's part."""
        return cache.cache_of(self.subject, self.hit)

    @functools.cached_property
    def device_bytes(self) -> int | None:
        """What the targets' devices moved in the operation's direction in the window; None where it is not known."""
        direction, devices = self.operation.direction, self.subject.devices
        if direction is None or devices is None:
            return None
        return device.moved_bytes(self.record, devices, direction, self.window.counted)

    @functools.cached_property
    def joules(self) -> float | None:
        """What the machine took in the window; None where nobody measured it, or where it is not its operation's alone."""
        if not self.is_whole or len(self.record.phase.jobs) > 1 or self.run.machine is not None:
            return None
        return energy.joules(self.run, self.record.counters, self.window.span, self.window.counted)

    @functools.cached_property
    def app_bytes(self) -> int | None:
        """What all operations on these devices moved in that direction in the window; None where unknown."""
        return self.subject.app_bytes(self.window.counted)
