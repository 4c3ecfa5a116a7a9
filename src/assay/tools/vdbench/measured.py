"""What vdbench's lines are made of: each interval of a run, and the mean over those after its warm-up.

Times are issue to completion, as vdbench's are: an operation of a fixed rate that waits for a free thread waits outside of
them (the run's own document has the response times from the arrival on). The mean is over whole intervals that begin after
the warm-up, or without one after the first interval, as vdbench counts; of several clients over those in which all were at
work, and without rates where these are too few. CPU is of the whole machine.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence

import numpy as np

from assay.analysis.histogram import bucket_middle_ns
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.analysis.window import Window
from assay.tools.measured import Totals
from assay.tools.over_clients import window_of_all
from assay.tools.vdbench.runs import OneRun
from assay.units import MIB

_IDLE = ("idle_ns", "iowait_ns")
_KERNEL = ("system_ns", "irq_ns", "softirq_ns")
_NS_PER_MS = 1e6
_TOLERANCE = 0.5
"""Of an interval: how far the end of the run may lie before that of its last interval."""


@dataclasses.dataclass(frozen=True)
class KindSums:
    """Operations of a kind in a span."""

    totals: Totals
    seconds: float | None
    """None: there is no sum of the clients' rates."""

    @property
    def rate(self) -> float | None:
        """Operations a second."""
        return self._per_s(self.totals.ops)

    @property
    def mib_per_s(self) -> float | None:
        """MiB a second."""
        return self._per_s(self.totals.bytes / MIB)

    @property
    def in_flight(self) -> float | None:
        """Mean number of them in flight."""
        return self._per_s(self.totals.seconds) if self.seconds else None

    def _per_s(self, amount: float) -> float | None:
        if self.seconds is None:
            return None
        return amount / self.seconds if self.seconds else 0.0

    @property
    def mean_ms(self) -> float | None:
        """Mean response time; None: there was none."""
        mean_ns = self.totals.mean_ns
        return None if mean_ns is None else mean_ns / _NS_PER_MS

    @property
    def longest_ms(self) -> float | None:
        """Longest response time; None: there was none."""
        return self.totals.latency_max_ns / _NS_PER_MS if self.totals.buckets[1].sum() else None

    @property
    def deviation_ms(self) -> float | None:
        """Standard deviation of the response times; None: there was none."""
        bucket, count = self.totals.buckets
        if not count.sum():
            return None
        values = bucket_middle_ns(bucket)
        mean = float((values * count).sum() / count.sum())
        return float(np.sqrt((count * (values - mean) ** 2).sum() / count.sum())) / _NS_PER_MS


@dataclasses.dataclass(frozen=True)
class RunSpan:
    """A part of a run."""

    label: str
    record: PhaseRecord
    span: Span
    is_sum: bool
    """Whether rates of all clients can be given."""

    def of(self, operations: Iterable[tuple[str, str]]) -> KindSums:
        """Sum operations up, each given as job and name."""
        return KindSums(Totals(self.record, tuple(operations), self.span), self.span.seconds if self.is_sum else None)

    @functools.cached_property
    def cpu(self) -> tuple[float, float] | None:
        """CPU of the machine in per cent: user and system together, and system; None: it was not sampled."""
        deltas = {
            name: self.record.counters.delta(self.span, "cpu", "", name) for name in self.record.counters.names("cpu")
        }
        known = {name: value for name, value in deltas.items() if value is not None}
        whole = sum(known.values())
        if not whole:
            return None
        busy = whole - sum(known.get(name, 0.0) for name in _IDLE)
        return 100 * busy / whole, 100 * sum(known.get(name, 0.0) for name in _KERNEL) / whole


@dataclasses.dataclass(frozen=True)
class MeasuredRun:
    """A run as it was measured."""

    run: OneRun
    record: PhaseRecord
    intervals: tuple[RunSpan, ...]
    mean: RunSpan | None
    """Over the intervals that count; None: there is none."""

    @property
    def rate_per_s(self) -> float | None:
        """Arrivals a second over all jobs, as scheduled; None: as fast as it went."""
        rates = []
        for job in self.record.phase.jobs:
            facts = self.record.job_facts(job.name)
            if facts is None or facts.arrivals is None:
                return None if not self.run.of and self.run.rate == float("inf") else self.run.rate
            rates.append(facts.arrivals.rate_per_s)
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known and len(known) == len(rates) else None


def measure_runs(run: RunRecord, asked: Sequence[OneRun]) -> tuple[MeasuredRun, ...]:
    """Give the runs that began, in order, and the phases that laid out for them."""
    by_name = {each.name: each for each in asked}
    found = []
    for record in run.phases:
        of = by_name.get(record.phase.name) or by_name.get(record.phase.name.removeprefix("format_for_"))
        if of is not None:
            found.append(_measure(record, of, window_of_all(run, record)))
    return tuple(found)


def _measure(record: PhaseRecord, run: OneRun, of_all: Window | None) -> MeasuredRun:
    is_sum = of_all is None or of_all.has_sum
    shared = of_all.counted if of_all and is_sum else record.whole
    length_ns, is_layout = run.rd.interval * NS_PER_S, record.phase.name != run.name
    spans: dict[int, Span] = {}
    for part in record.grid:
        number = max(1, -(-((part.begin_ns + part.end_ns) // 2 - record.start_ns) // length_ns))
        # What was begun at the end is done a little later.
        number = number if is_layout else min(number, run.intervals)
        before = spans.get(number)
        spans[number] = Span(before.begin_ns if before else part.begin_ns, part.end_ns)
    intervals = tuple(RunSpan(str(number), record, span, is_sum) for number, span in sorted(spans.items()))
    skipped = 0 if is_layout else run.ramp_s // run.rd.interval
    whole = [
        (int(each.label), each.span)
        for each in intervals
        if int(each.label) > skipped
        and each.span.seconds >= _TOLERANCE * run.rd.interval
        and shared.begin_ns <= each.span.begin_ns
        and each.span.end_ns <= shared.end_ns
    ]
    if not whole:
        # It ended by itself, before a whole interval was over.
        whole = [(int(each.label), each.span) for each in intervals if int(each.label) > skipped] or [
            (int(each.label), each.span) for each in intervals
        ]
    mean = None
    if whole:
        span = Span(whole[0][1].begin_ns, whole[-1][1].end_ns)
        is_sum = is_sum and shared.begin_ns <= span.begin_ns and span.end_ns <= shared.end_ns
        mean = RunSpan(f"avg_{whole[0][0]}-{whole[-1][0]}", record, span, is_sum)
    return MeasuredRun(run, record, intervals, mean)
