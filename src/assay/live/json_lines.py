"""Write a JSON line for each interval of a phase while it runs, for other programs.

`docs/reference/live-json.md` describes a line. Percentiles follow the rule of all percentiles: null where too few operations
are behind them. An operation that did nothing in an interval has zeros from its first completion on.
"""

import datetime as dt
from typing import Final

import msgspec
import numpy as np

from assay import events
from assay.analysis.histogram import QUANTILES, bucket_lowest_ns, bucket_width_ns, percentiles_ns
from assay.live.line_sink import LineSink
from assay.outward import json_text
from assay.plan import Plan

SCHEMA: Final = "assay.live/1"
_PERCENTILES = (QUANTILES["p50"], QUANTILES["p99"])
_NS_PER_S = 1e9
_NS_PER_US = 1000


class LiveOperation(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation of one job did in an interval, all workers together; rates are per second of the interval."""

    job: str
    operation: str
    ops: int
    bytes: int
    errors: int
    iops: float
    bytes_per_s: float
    p50_ns: float | None = None
    p99_ns: float | None = None
    max_ns: float | None = None
    """Exact where it is the largest of the phase so far, else at most 0.1 % too much."""
    response_p50_ns: float | None = None
    """From the intended arrival, as are the other two; null for a closed loop."""
    response_p99_ns: float | None = None
    response_max_ns: float | None = None


class LiveMark(msgspec.Struct, frozen=True, kw_only=True):
    """Time of an event that a user (`user`) or the engine (`detector`) reported."""

    t_s: float
    """Since the phase of the line began; below zero: before that."""
    label: str
    source: str


class LiveInterval(msgspec.Struct, frozen=True, kw_only=True):
    """One line."""

    schema: str = SCHEMA
    time_utc: str
    """Of its end, ISO 8601."""
    load: str
    phase: str
    title: str
    repeat: int
    t_s: float
    """Its end, in seconds since the phase began."""
    dt_s: float
    operations: tuple[LiveOperation, ...]
    marks: tuple[LiveMark, ...] = ()
    """Those that came since the line before."""


class JsonLinesDisplay:
    """Writes the lines of a run."""

    def __init__(self, sink: LineSink) -> None:
        """Write into a sink, which others may write into afterwards."""
        self._sink = sink
        self._plan: Plan | None = None
        self._realtime_at_zero_ns = 0
        self._begun_ns = 0
        self._seen: dict[tuple[str, str], None] = {}
        self._marks: list[events.Mark] = []

    def begin(self, plan: Plan) -> None:
        """Take the names of phases from a Plan."""
        self._plan = plan

    def show(self, event: events.Event | None) -> None:
        """Take one event in."""
        match event:
            case events.Hello():
                self._realtime_at_zero_ns = event.clock.realtime_at_zero_ns
            case events.Started():
                self._begun_ns, self._seen = event.start_ns, {}
            case events.Interval() if event.dt_ns > 0:
                self._sink.put(_line(self._interval(event)))
                self._marks.clear()
            case events.Mark():
                self._marks.append(event)
            case _:
                self._sink.write_on()

    def end(self) -> None:
        """Hand the last lines on."""
        self._sink.finish()

    def _interval(self, event: events.Interval) -> LiveInterval:
        assert self._plan is not None  # noqa: S101 - begin() came first
        phase = self._plan.phases[event.phase_index]
        did = {(one.job, one.operation): one for one in event.operations}
        self._seen |= dict.fromkeys(did)
        since_begin_ns = event.t_ns - self._begun_ns
        # The first interval is counted from the sample before the start.
        seconds = (min(event.dt_ns, since_begin_ns) if since_begin_ns > 0 else event.dt_ns) / _NS_PER_S
        return LiveInterval(
            time_utc=_utc(self._realtime_at_zero_ns + event.t_ns),
            load=self._plan.name,
            phase=phase.name,
            title=phase.title,
            repeat=phase.repeat,
            t_s=since_begin_ns / _NS_PER_S,
            dt_s=seconds,
            operations=tuple(_operation(*names, did.get(names), seconds) for names in self._seen),
            marks=tuple(
                LiveMark(t_s=(mark.t_ns - self._begun_ns) / _NS_PER_S, label=mark.label, source=mark.source)
                for mark in self._marks
            ),
        )


def _operation(job: str, operation: str, did: events.OperationInterval | None, seconds: float) -> LiveOperation:
    if did is None:
        return LiveOperation(job=job, operation=operation, ops=0, bytes=0, errors=0, iops=0.0, bytes_per_s=0.0)
    p50, p99, largest = _latencies(did.latency)
    response = _latencies(did.response) if did.response else (None, None, None)
    return LiveOperation(
        job=job,
        operation=operation,
        ops=did.ops,
        bytes=did.bytes,
        errors=did.errors,
        iops=did.ops / seconds,
        bytes_per_s=did.bytes / seconds,
        p50_ns=p50,
        p99_ns=p99,
        max_ns=largest,
        response_p50_ns=response[0],
        response_p99_ns=response[1],
        response_max_ns=response[2],
    )


def _latencies(found: events.Buckets) -> tuple[float | None, float | None, float | None]:
    """Give p50, p99 and the largest of an interval."""
    if not found.index:
        return None, None, None
    index, count = np.array(found.index, dtype=np.int64), np.array(found.count, dtype=np.int64)
    p50, p99 = percentiles_ns(index, count, _PERCENTILES, found.max_ns)
    last = index[-1:]
    largest = int((bucket_lowest_ns(last) + bucket_width_ns(last))[0]) - 1
    return p50, p99, float(min(largest, found.max_ns))


def _utc(realtime_ns: int) -> str:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=realtime_ns // _NS_PER_US)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line(interval: LiveInterval) -> bytes:
    return f"{json_text(msgspec.json.encode(interval).decode())}\n".encode()
