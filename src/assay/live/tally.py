"""Sum up a phase so far from the engine's intervals: rates and percentiles of one operation, for progress lines.

The figures cover the phase from its start, with the ramp, and are not assessed: results are computed from the record.
"""

from dataclasses import dataclass, field

import numpy as np

from assay import events
from assay.analysis.histogram import QUANTILES, bucket_middle_ns, quantiles_ns
from assay.analysis.work_times import workers_at_work
from assay.results import STREAMING_BYTES_PER_OP
from assay.units import format_bytes, format_ns, format_number

_NS_PER_S = 1e9


@dataclass
class _Sum:
    ops: int = 0
    bytes: int = 0
    errors: int = 0
    latency: events.Buckets = field(default_factory=lambda: events.add_buckets(()))

    def add(self, one: events.OperationInterval) -> None:
        self.ops += one.ops
        self.bytes += one.bytes
        self.errors += one.errors
        self.latency = events.add_buckets((self.latency, one.latency))


class Tally:
    """Of one phase."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self._sums: dict[tuple[str, str], _Sum] = {}
        self._ns = 0
        self._latest: events.Interval | None = None

    @property
    def has_operations(self) -> bool:
        """Whether anything was done."""
        return any(each.ops for each in self._sums.values())

    def add(self, interval: events.Interval) -> None:
        """Take an interval in."""
        self._ns += interval.dt_ns
        for one in interval.operations:
            self._sums.setdefault((one.job, one.operation), _Sum()).add(one)
        if interval.operations and interval.dt_ns > 0:
            self._latest = interval

    def end(self, finished: events.PhaseFinished) -> None:
        """The phase is over: its time is that in which its workers were at work, as in the result; ticks go on longer."""
        worked = [own for _, own in workers_at_work(finished)]
        if worked and not any(worker.abandoned for worker in finished.workers):
            self._ns = max(own.end_ns for own in worked) - min(own.begin_ns for own in worked)

    def so_far(self) -> str:
        """Write the rates since the phase began, and p50 and p99 of their latency."""
        if not self.has_operations or self._ns <= 0:
            return ""
        (job, name), most = max(self._sums.items(), key=lambda pair: (pair[1].bytes, pair[1].ops))
        parts = _rates(name if len(self._sums) > 1 else "", most.ops, most.bytes, self._ns)
        p50, p99 = self._percentiles((job, name))
        parts += [f"{label} {format_ns(value)}" for label, value in (("p50", p50), ("p99", p99)) if value is not None]
        return "  ".join(parts + self._errors())

    def rate_per_s(self) -> float | None:
        """Return the operations per second of the operation in `so_far`; None: nothing was done."""
        if not self.has_operations or self._ns <= 0:
            return None
        most = max(self._sums.values(), key=lambda each: (each.bytes, each.ops))
        return most.ops * _NS_PER_S / self._ns

    def latest(self) -> str:
        """Write the rates of the latest interval, with p50 and p99 since the phase began."""
        if self._latest is None:
            return ""
        one = max(self._latest.operations, key=lambda one: (one.bytes, one.ops))
        parts = _rates(one.operation if len(self._sums) > 1 else "", one.ops, one.bytes, self._latest.dt_ns)
        p50, p99 = self._percentiles((one.job, one.operation))
        parts += [f"{label} {format_ns(value)}" for label, value in (("p50", p50), ("p99", p99)) if value is not None]
        return "  ".join(parts + self._errors())

    def _errors(self) -> list[str]:
        errors = sum(each.errors for each in self._sums.values())
        return [f"{errors:,} errors"] if errors else []

    def _percentiles(self, operation: tuple[str, str]) -> list[float | None]:
        latency = self._sums[operation].latency
        if not latency.index:
            return [None, None]
        index, count = np.array(latency.index, dtype=np.int64), np.array(latency.count, dtype=np.int64)
        return quantiles_ns(bucket_middle_ns(index), count, (QUANTILES["p50"], QUANTILES["p99"]))


def _rates(name: str, ops: int, moved_bytes: int, ns: int) -> list[str]:
    """Write bytes a second of streams, operations a second of everything else."""
    seconds = ns / _NS_PER_S
    is_stream = ops > 0 and moved_bytes / ops >= STREAMING_BYTES_PER_OP
    unit = "IOPS" if moved_bytes else "ops/s"
    rate = f"{format_bytes(moved_bytes / seconds)}/s" if is_stream else f"{format_number(ops / seconds)} {unit}"
    return [f"{name} {rate}".lstrip()]
