"""What one client may report in a run: a client that breaks a rule is lost with all its events, and the others go on.

Each client's words are held against the rules twice: while they come, because the leader acts on them, and once more as the
whole stream that goes into the run, because it is read by everything afterwards. What is true of a client's storage nobody
here is stricter, but what a run of this Plan, which began when it did, cannot have measured.
"""

from collections.abc import Callable
from typing import Final

import msgspec
import polars as pl

from assay import events
from assay.bundle.contents import BUCKETS, check_events, check_rows
from assay.bundle.tables import CLIENT, HISTOGRAMS, INTERVALS, WORKERS, Stream
from assay.cluster.value_limits import MOST, check_values
from assay.plan import Plan
from assay.units import MIB, format_bytes

SLACK_NS: Final = 10_000_000_000
"""A client's time may be so far beyond what the leader's clock allows: words take a while, and clocks drift."""
MOST_WARNINGS: Final = 1000
"""And `WARNINGS_A_PHASE` for each phase. An engine reports a thing once a phase, or once."""
WARNINGS_A_PHASE: Final = 20
MOST_OTHERS: Final = 20_000
OTHERS_A_PHASE: Final = 1000
"""The same of steps, sets and what is in caches."""
MOST_TEXT_BYTES: Final = 4 * MIB
"""Of all warnings and errors of a client."""
MOST_OPS_PER_S: Final = 10**10
MOST_BYTES_PER_S: Final = 10**14
"""What no machine does: ten operations a nanosecond, and 100 TB a second."""
_FIRST_BYTES: Final = 64 * MIB
_WORKER_BYTES: Final = 4096
"""Of one worker in one interval, with its laps: about a tenth of it is usual."""
_NS_PER_S: Final = 1e9


class RuleBrokenError(ValueError):
    """A client reported what no engine of this run can have reported; the text has the details."""


class ClientRules:
    """The rules of one client, and its events so far."""

    def __init__(self, plan: Plan, now_ns: Callable[[], int]) -> None:
        """Start for a client with this Plan.

        Args:
            plan: Its own part of the run's.
            now_ns: Time since the run began, by the leader's clock.
        """
        self._phases = len(plan.phases)
        self._jobs = tuple(frozenset(job.name for job in phase.jobs) for phase in plan.phases)
        self._now_ns = now_ns
        self.hello: events.Hello | None = None
        self.finished: dict[int, events.PhaseFinished] = {}
        self._last: dict[type, int] = {}
        self.is_over = False
        """Whether its last line has come."""
        self._warnings = self._text_bytes = self._others = 0

    def take(self, event: events.Event) -> None:
        """Hold the next event against the rules; raises RuleBrokenError."""
        if self.is_over:
            raise RuleBrokenError("it went on after its end")
        is_hello = isinstance(event, events.Hello)
        if self.hello is None and not is_hello:
            raise RuleBrokenError("it did not begin with its hello")
        if self.hello is not None and is_hello:
            raise RuleBrokenError("it sent a second hello: two streams are in one")
        try:
            check_events((event,), self._phases)
        except ValueError as error:
            raise RuleBrokenError(str(error)) from error
        match event:
            case events.Interval():
                self._check_interval(event)
            case events.Laps():
                _check_laps(event)
            case _:
                _check_values(event)
                self._check_order(event)
                self._count(event)
        if not isinstance(event, events.Hello):
            self._check_time(event.t_ns)

    def _check_time(self, t_ns: float) -> None:
        now_ns = self._now_ns()
        if t_ns > now_ns + SLACK_NS:
            raise RuleBrokenError(
                f"it spoke of {t_ns / _NS_PER_S:.1f} s after its beginning, {now_ns / _NS_PER_S:.1f} s after that of the run"
            )

    def _check_order(self, event: events.Event) -> None:
        match event:
            case events.Hello():
                if event.schema != events.SCHEMA:
                    raise RuleBrokenError(f"its stream is of {event.schema[:100]}")
                self.hello = event
            case events.Ready() | events.Started() | events.PhaseFinished():
                if event.phase_index <= self._last.get(type(event), -1):
                    raise RuleBrokenError(f"phase {event.phase_index + 1} came a second time, or out of order")
                self._last[type(event)] = event.phase_index
                if isinstance(event, events.PhaseFinished):
                    self.finished[event.phase_index] = event
            case events.Finished():
                self.is_over = True
            case _:
                pass

    def _count(self, event: events.Event) -> None:
        """Limit the number of events that are no interval."""
        if isinstance(event, events.Progress | events.Paused):
            return
        if not isinstance(event, events.Warning | events.Error):
            self._others += 1
            if (most := MOST_OTHERS + OTHERS_A_PHASE * self._phases) < self._others:
                raise RuleBrokenError(f"it sent more than {most} events that are no interval")
            return
        self._warnings += 1
        self._text_bytes += len(event.text)
        if (most := MOST_WARNINGS + WARNINGS_A_PHASE * self._phases) < self._warnings:
            raise RuleBrokenError(f"it gave more than {most} warnings")
        if self._text_bytes > MOST_TEXT_BYTES:
            raise RuleBrokenError(f"its warnings have more than {format_bytes(MOST_TEXT_BYTES)}")

    def _check_interval(self, event: events.Interval) -> None:
        jobs = self._jobs[event.phase_index]
        if not 0 <= event.dt_ns <= event.t_ns + SLACK_NS:
            raise RuleBrokenError(f"an interval has {event.dt_ns} ns")
        for one in event.operations:
            if one.job not in jobs:
                raise RuleBrokenError(
                    f"an interval is of the job {one.job[:100]!r}, which its Plan does not have there"
                )
            _check_counts(one.ops, one.bytes, one.errors)
            _check_rate(one.ops, one.bytes, event.dt_ns / _NS_PER_S)
            for buckets in (one.latency, one.response):
                if buckets is not None:
                    _check_buckets(buckets)
            if sum(one.latency.count) != one.ops:
                raise RuleBrokenError(f"{one.ops} operations have {sum(one.latency.count)} latencies")
        for worker in event.workers:
            _check_values(worker)

    def check_whole(self, stream: Stream, *, is_complete: bool, relayed: "ClientRules | None" = None) -> None:
        """Hold a whole stream against the rules, and against what came while the run went on.

        Args:
            stream: As it will be in the run.
            is_complete: Whether its engine is reported to have ended without an error.
            relayed: The rules by which this client's words were held meanwhile.

        Raises:
            RuleBrokenError: it cannot be of this client and this run.
        """
        for event in stream.events:
            self.take(event)
        if self.hello is None and any(table.height for table in stream.tables.values()):
            raise RuleBrokenError("it did not begin with its hello")
        if relayed is not None:
            self._check_same(relayed)
        if is_complete and (stream.cut_bytes or not self.is_over):
            raise RuleBrokenError("its stream ends in the middle, though its engine ended")
        self._check_tables(stream)

    def _check_same(self, relayed: "ClientRules") -> None:
        if relayed.hello is not None and self.hello != relayed.hello:
            raise RuleBrokenError("its stream is that of another run: its hello is not the one that it gave")
        if any(self.finished.get(index) != one for index, one in relayed.finished.items()):
            raise RuleBrokenError("its stream has another end of a phase than the one that it reported during the run")

    def _check_tables(self, stream: Stream) -> None:
        try:
            for name, table in stream.tables.items():
                check_rows(table.select(pl.lit("").alias(CLIENT), pl.all()), name, self._phases)
        except ValueError as error:
            raise RuleBrokenError(f"in its {name}: {error}") from error
        intervals = stream.tables[INTERVALS]
        for table in (intervals, stream.tables[WORKERS]):
            if table.height:
                self._check_time(float(table["t_s"].max() or 0) * _NS_PER_S)  # type: ignore[arg-type]
        for index, jobs in enumerate(self._jobs):
            named = set(intervals.filter(pl.col("phase_index") == index)["job"].unique())
            if unknown := sorted(named - jobs):
                raise RuleBrokenError(
                    f"an interval is of the job {unknown[0][:100]!r}, which its Plan does not have there"
                )
        self._check_sums(intervals, stream.tables[HISTOGRAMS])

    def _check_sums(self, intervals: pl.DataFrame, histograms: pl.DataFrame) -> None:
        """Look at times, rates, and whether each operation has its latency."""
        for column, most in (("ops", MOST_OPS_PER_S), ("bytes", MOST_BYTES_PER_S)):
            if intervals.filter(pl.col(column) > most * (1 + pl.col("dt_s"))).height:
                raise RuleBrokenError(f"an interval has more {column} than any machine can do")
        if intervals.filter(pl.col("dt_s") > pl.col("t_s") + SLACK_NS / _NS_PER_S).height:
            raise RuleBrokenError("an interval is longer than the run")
        times = intervals.group_by("phase_index", "job", "operation", maintain_order=True).agg(
            (pl.col("t_s").diff() <= 0).any().alias("back")
        )
        if times["back"].any():
            raise RuleBrokenError("its intervals go back in time")
        key = ["phase_index", "job", "operation"]
        ops = intervals.group_by(key).agg(pl.col("ops").sum())
        n = histograms.filter(pl.col("series") == "latency").group_by(key).agg(pl.col("n").sum())
        both = ops.join(n, on=key, how="full", coalesce=True).fill_null(0)
        if both.filter(pl.col("ops") != pl.col("n")).height:
            raise RuleBrokenError("its operations and latencies differ in number")


def _check_rate(ops: int, size_bytes: int, dt_s: float) -> None:
    for count, most, what in ((ops, MOST_OPS_PER_S, "operations"), (size_bytes, MOST_BYTES_PER_S, "bytes")):
        if count > most * (1 + dt_s):
            raise RuleBrokenError(f"{count} {what} in {dt_s:.3g} s are more than any machine can do")


def _check_counts(*counts: int) -> None:
    if not all(0 <= count < MOST for count in counts):
        raise RuleBrokenError(f"it counted {min(counts)} to {max(counts)}")


def _check_buckets(buckets: events.Buckets) -> None:
    _check_counts(buckets.max_ns, buckets.sum_ns, *buckets.count)
    index = buckets.index
    if len(index) != len(buckets.count) or (index and not 0 <= min(index) <= max(index) < BUCKETS):
        raise RuleBrokenError("a histogram has buckets that do not exist, or without a count")
    if len(set(index)) != len(index):
        raise RuleBrokenError("a histogram has one bucket twice")


def _check_laps(laps: events.Laps) -> None:
    """Look at the many numbers of laps as the few that they lie between."""
    latencies = [one for one in laps.latency_ns if one is not None]
    for numbers in (laps.number, laps.end_ns, latencies):
        if numbers and not 0 <= min(numbers) <= max(numbers) < MOST:
            raise RuleBrokenError(f"a lap has {min(numbers)} to {max(numbers)}")
    if not len(laps.number) == len(laps.end_ns) == len(laps.latency_ns):
        raise RuleBrokenError("laps differ in the numbers of their columns")
    _check_values(msgspec.structs.replace(laps, number=(), end_ns=(), latency_ns=()))


def _check_values(values: events.StreamPart) -> None:
    try:
        check_values(values)
    except ValueError as error:
        raise RuleBrokenError(str(error)) from error


def most_bytes(plan: Plan, seconds: float) -> int:
    """Give the most that the stream of an engine with this Plan has after T: a line an interval, and a beginning."""
    workers = max(sum(job.workers for job in phase.jobs) for phase in plan.phases)
    return round(_FIRST_BYTES + seconds / plan.sample_interval_s * (MIB + _WORKER_BYTES * workers))
