"""Runs whose truth is known: tables made from lists of completions, without an engine."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from assay import events, plan
from assay.bundle.tables import HISTOGRAMS, HOST, INTERVALS, OF_STREAM, WORKERS
from assay.events import Event, Hello, Moment, Outcome, PhaseFinished, StoppedBy
from assay.host.facts import FactValue
from unit.memory_run import MemoryRun, facts_of, filled_buckets, hello

NS = 1_000_000_000
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Stream:
    """What one worker completed: times relative to the phase's start."""

    done_ns: npt.NDArray[np.int64]
    latency_ns: npt.NDArray[np.int64]
    bytes_each: int = 0
    job: str = "job"
    operation: str = "read"
    worker: int = 0
    errors_at_ns: tuple[int, ...] = ()
    errno: int = 5
    late_ns: npt.NDArray[np.int64] | None = None
    """Lateness of each operation of an open loop."""

    def then(self, later: "Stream") -> "Stream":
        """Add what the same worker completed later."""
        return dataclasses.replace(
            self,
            done_ns=np.concatenate([self.done_ns, later.done_ns]),
            latency_ns=np.concatenate([self.latency_ns, later.latency_ns]),
        )


def steady_stream(
    *,
    per_s: int,
    seconds: float,
    latency_ns: int,
    begin_s: float = 0.0,
    bytes_each: int = 0,
    worker: int = 0,
    job: str = "job",
    operation: str = "read",
) -> Stream:
    """Completions at a constant rate with one latency, first issue at `begin_s`."""
    step_ns = NS // per_s
    count = round(per_s * (seconds - begin_s))
    first_ns = round(begin_s * NS) + latency_ns
    done = first_ns + np.arange(count, dtype=np.int64) * step_ns
    latency = np.full(count, latency_ns, dtype=np.int64)
    return Stream(done, latency, bytes_each, job, operation, worker)


@dataclasses.dataclass(frozen=True)
class Counters:
    """What the counters grow by in a phase, evenly in time; None: not sampled."""

    process_cpu_ns: int = 0
    observer_cpu_ns: int = 0
    process_read_bytes: int | None = 0
    process_write_bytes: int | None = 0
    fetched_from: float = 0.0
    """Share of the phase that is over before `process_read_bytes` grows."""
    devices: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """Bytes read and written by device."""
    device_ns: int = NS
    """Time in which each device had a request."""
    cpu_ns: dict[str, int] = dataclasses.field(default_factory=dict)
    on_cpu: float | None = 0.1
    run_delay: float | None = 0.0
    block_delay: float | None = 0.8
    """Shares of each worker's time."""
    energy_uj: dict[str, int] = dataclasses.field(default_factory=dict)
    """Of each zone of the processors' meters."""
    others: dict[tuple[str, str, str], tuple[float, float]] = dataclasses.field(default_factory=dict)
    """Begin and end of further counters and gauges, by source, instance and name."""
    children_cpu_ns: int = 0
    """CPU time of the programs that each worker ran."""
    idle: float | None = 0.0
    """Share of each worker's time that it rested by the load's own rules; None: an engine that did not count it."""
    io_calls: int | None = None
    """System calls of each worker that read or wrote."""
    user_cpu_ns: int | None = None
    system_cpu_ns: int | None = None
    """CPU time of each worker outside the kernel and in it."""


def read_op(name: str = "read", *, kind: plan.OpKind = plan.OpKind.READ, size_bytes: int = 4096) -> plan.Op:
    """An operation on the set `data`."""
    return plan.Op(
        op=kind,
        name=name,
        file=plan.FromSet(set="data", pick=plan.Next()),
        access=plan.Sequential(),
        size=plan.Fixed(value=float(size_bytes)),
    )


def one_job(*actions: plan.Action, name: str = "job", **settings: object) -> plan.Job:
    """A job that loops over actions."""
    return plan.Job(name=name, body=plan.Loop(actions=actions or (plan.Do(op=read_op()),)), **settings)  # type: ignore[arg-type]


DATA = plan.FileSet(name="data", target="target", path="data", files=1, size=plan.Fixed(value=1e9))


def interval_of(number: int, ops: int, *, dt_ns: int) -> events.Interval:
    """Give interval `number` of a phase that reads, the first of them without an operation."""
    empty = events.Buckets(index=(), count=(), max_ns=0, sum_ns=0)
    done = events.OperationInterval(
        job="job", operation="read", ops=ops, bytes=0, errors=0, latency=empty, response=None
    )
    return events.Interval(
        t_ns=number * dt_ns,
        dt_ns=dt_ns if number else 0,
        phase_index=0,
        operations=(done,) if number else (),
        workers=(),
        process_cpu_ns=0,
        observer_cpu_ns=0,
        process_read_bytes=0,
        process_write_bytes=0,
        host=(),
    )


def one_plan(*phases: plan.Phase, sample_interval_s: float = 1.0, data: plan.FileSet = DATA) -> plan.Plan:
    """Make a Plan over one set on one target."""
    return plan.Plan(
        name="synthetic",
        origin=plan.Origin(front_end="native", source="synthetic.toml", sha256="0"),
        seed=1,
        targets=(plan.Target(name="target", uri="file:///data"),),
        file_sets=(data,),
        phases=phases,
        sample_interval_s=sample_interval_s,
    )


BLOCK_BACKED: dict[str, FactValue] = {
    "target.target.directory": "/data",
    "target.target.fs.type": "ext4",
    "target.target.fs.is_block_backed": True,
    "target.target.device.diskstats": ("vda",),
}


class SyntheticRun(MemoryRun):
    """A run that is filled phase by phase."""

    def __init__(
        self,
        its_plan: plan.Plan,
        *,
        facts: dict[str, FactValue] | None = None,
        first: Hello | None = None,
        set_bytes: int = 1 << 30,
    ) -> None:
        begun: list[Event] = [
            first or hello(),
            events.Prepared(
                t_ns=1,
                set="data",
                path="/data/data",
                files=1,
                directories=0,
                bytes=set_bytes,
                seconds=1.0,
                reused=False,
            ),
        ]
        super().__init__(plan=its_plan, facts=facts_of(BLOCK_BACKED if facts is None else facts), lines=begun)
        self._rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in OF_STREAM}
        self._now_ns = 10 * NS

    def table(self, name: str) -> pl.DataFrame:
        """Make a table of what was added so far."""
        return pl.DataFrame(self._rows[name], schema=OF_STREAM[name], orient="row")

    def say(self, *what: Event) -> "SyntheticRun":
        """Add events."""
        self.lines.extend(what)
        return self

    def end(self, outcome: Outcome = Outcome.COMPLETE) -> "SyntheticRun":
        """Add the last line."""
        return self.say(
            events.Finished(t_ns=self._now_ns, outcome=outcome, user_cpu_ns=1, system_cpu_ns=1, peak_rss_bytes=1)
        )

    def lose_histogram_rows(self, count: int) -> None:
        """Damage the record."""
        del self._rows[HISTOGRAMS][:count]

    def phase(
        self,
        streams: Sequence[Stream],
        *,
        seconds: float,
        index: int = 0,
        counters: Counters | None = None,
        is_cut: bool = False,
        stopped_by: StoppedBy = StoppedBy.TIME,
        abandoned: int = 0,
        resident: tuple[float, float] | None = None,
        stood_still_s: tuple[float, float] = (0.0, 0.0),
        **job_facts: object,
    ) -> "SyntheticRun":
        """Add one phase of a length: all that the engine would have written about it, and nothing in a time."""
        start_ns, end_ns = self._now_ns, self._now_ns + round(seconds * NS)
        interval_ns = round(self.plan.sample_interval_s * NS)
        still_from, still_until = stood_still_s
        ticks = range(0, end_ns - start_ns, interval_ns)
        edges = [*(at for at in ticks if not still_from < at / NS < still_until), end_ns - start_ns]
        self.say(events.Started(t_ns=start_ns, phase_index=index, start_ns=start_ns))
        grown = counters or Counters()
        for key in sorted({(stream.job, stream.operation) for stream in streams}):
            self._operation(index, key, [s for s in streams if (s.job, s.operation) == key], edges, start_ns)
        for edge in edges:
            self._sample(index=index, streams=streams, at=edge, end=edges[-1], start_ns=start_ns, counters=grown)
        if resident:
            for moment, share in zip((events.Moment.BEFORE, events.Moment.AFTER), resident, strict=True):
                self._residency(index, moment, share)
        if not is_cut:
            self.say(
                self._finished(
                    index=index,
                    streams=streams,
                    start_ns=start_ns,
                    end_ns=end_ns,
                    stopped_by=stopped_by,
                    abandoned=abandoned,
                    job_facts=job_facts,
                )
            )
        self._now_ns = end_ns + NS
        return self

    def _operation(
        self, index: int, key: tuple[str, str], streams: Sequence[Stream], edges: Sequence[int], start_ns: int
    ) -> None:
        largest = 0
        for begin, end in itertools.pairwise(edges):
            inside = [(stream, (stream.done_ns > begin) & (stream.done_ns <= end)) for stream in streams]
            latency = np.concatenate([stream.latency_ns[mask] for stream, mask in inside])
            errors = sum(begin < at <= end for stream in streams for at in stream.errors_at_ns)
            if not len(latency) and not errors:
                continue
            largest = max([largest, *latency.tolist()])
            moved = sum(int(mask.sum()) * stream.bytes_each for stream, mask in inside)
            responses = [
                s.latency_ns[mask] + s.late_ns[mask] for s, mask in inside if s.late_ns is not None and mask.any()
            ]
            t_s = (start_ns + end) / NS
            row = (
                index,
                *key,
                t_s,
                (end - begin) / NS,
                len(latency),
                moved,
                errors,
                largest,
                int(latency.sum()),
                int(max(each.max() for each in responses)) if responses else None,
                int(sum(each.sum() for each in responses)) if responses else None,
            )
            self._rows[INTERVALS].append(row)
            buckets, counts = filled_buckets(latency)
            for bucket, count in zip(buckets.tolist(), counts.tolist(), strict=True):
                self._rows[HISTOGRAMS].append((index, *key, "latency", t_s, int(bucket), int(count)))

    def _sample(
        self, *, index: int, streams: Sequence[Stream], at: int, end: int, start_ns: int, counters: Counters
    ) -> None:
        t_s, share = (start_ns + at) / NS, at / end
        for job, worker in sorted({(stream.job, stream.worker) for stream in streams}):
            own = [stream for stream in streams if (stream.job, stream.worker) == (job, worker)]
            done = [int((stream.done_ns <= at).sum()) for stream in own]
            moved = sum(count * stream.bytes_each for count, stream in zip(done, own, strict=True))
            times = [
                None if s is None else round(s * at)
                for s in (counters.on_cpu, counters.run_delay, counters.block_delay)
            ]
            self._rows[WORKERS].append(
                (
                    index,
                    t_s,
                    job,
                    worker,
                    sum(done),
                    moved,
                    *times,
                    *(
                        None if total is None else total * at // end
                        for total in (counters.user_cpu_ns, counters.system_cpu_ns, counters.io_calls)
                    ),
                    counters.children_cpu_ns * at // end,
                    None if counters.idle is None else round(counters.idle * at),
                )
            )
        fetched = max(0.0, share - counters.fetched_from) / (1 - counters.fetched_from)
        for source, instance, name, total in _totals(counters):
            grown = total * (fetched if name == "process_read_bytes" else share)
            self._rows[HOST].append((index, t_s, source, instance, name, 1e6 + grown))
        for counter, (first, last) in counters.others.items():
            self._rows[HOST].append((index, t_s, *counter, first + (last - first) * share))

    def _residency(self, index: int, moment: Moment, share: float) -> None:
        self.say(
            events.Residency(
                t_ns=self._now_ns,
                phase_index=index,
                moment=moment,
                set="data",
                files_sampled=1,
                files=1,
                pages=1000,
                resident_pages=round(1000 * share),
                dirty_pages=0,
                method="cachestat",
            )
        )

    def _finished(
        self,
        *,
        index: int,
        streams: Sequence[Stream],
        start_ns: int,
        end_ns: int,
        stopped_by: StoppedBy,
        abandoned: int,
        job_facts: dict[str, object],
    ) -> PhaseFinished:
        defaults = {"backend": "psync", "direct": False, "mean_queue_depth": 1.0, "mean_reap_batch": 1.0}
        values = {**defaults, "short_transfers": 0, "punted": None, "arrivals": None, **job_facts}
        workers = []
        for job, worker in sorted({(stream.job, stream.worker) for stream in streams}):
            own = [stream for stream in streams if (stream.job, stream.worker) == (job, worker)]
            done = sum(len(stream.done_ns) for stream in own)
            failed = sum(len(stream.errors_at_ns) for stream in own)
            given_up = abandoned if worker == 0 else 0
            issued = [int(value) for s in own for value in (s.done_ns - s.latency_ns)[:1]]
            ended = [int(value) for s in own for value in s.done_ns[-1:]]
            workers.append(
                events.WorkerWindow(
                    job=job,
                    worker=worker,
                    first_op_ns=start_ns + min(issued) if issued else None,
                    last_op_ns=start_ns + max(ended) if ended else None,
                    started=done + failed + given_up,
                    completed=done,
                    failed=failed,
                    abandoned=given_up,
                    stopped_by=stopped_by,
                )
            )
        errors = [
            events.ErrorCount(job=s.job, operation=s.operation, errno=s.errno, count=len(s.errors_at_ns))
            for s in streams
            if s.errors_at_ns
        ]
        return events.PhaseFinished(
            t_ns=end_ns,
            phase_index=index,
            start_ns=start_ns,
            stopped_by=stopped_by,
            workers=tuple(workers),
            jobs=tuple(events.JobFacts(job=job, **values) for job in sorted({s.job for s in streams})),  # type: ignore[arg-type]
            errors=tuple(errors),
        )


def _totals(counters: Counters) -> Iterable[tuple[str, str, str, int]]:
    for name in ("process_cpu_ns", "observer_cpu_ns", "process_read_bytes", "process_write_bytes"):
        total = getattr(counters, name)
        if total is not None:
            yield "process", "", name, total
    for device, (read, written) in counters.devices.items():
        yield "diskstats", device, "read_bytes", read
        yield "diskstats", device, "write_bytes", written
        yield "diskstats", device, "io_ns", counters.device_ns
    for name, total in counters.cpu_ns.items():
        yield "cpu", "", name, total
    for zone, total in counters.energy_uj.items():
        yield "energy", zone, "energy_uj", total
