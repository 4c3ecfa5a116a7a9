"""Sealed runs of a size that no test can wait for, made from closed forms instead of by an engine.

Each operation completes as many in each interval: two neighbouring buckets together always hold `2 * OPS`, divided between
them by chance, so that the tables compress no better than an engine's. The rate is exact, and percentiles and the mean are
known to two buckets, 0.2 %: `Big.iops`, `Big.percentile_ns` and `Big.mean_ns` are worked out without a table.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from assay import events, plan
from assay.analysis.arrays import FloatArray, IntArray
from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet, Member, OnLost, PhaseStart, Role, Share
from assay.bundle.tables import HISTOGRAMS, HOST, INTERVALS, OF_STREAM, WORKERS, Stream
from assay.clocks import ClockReading
from assay.host.facts import Fact, FactValue

NS = 1_000_000_000
OPS = 7
"""In each bucket of an interval, on average."""
BYTES = 4096
FIRST_BUCKET = 7 * 1024
LEADER_NS = 5_000 * NS
FIRST_PHASE_NS = 10 * NS
"""On the clock of an engine; the leader's is `LEADER_NS` before it."""
_COUNTERS = (
    ("process", "", "process_cpu_ns", 0.01),
    ("process", "", "observer_cpu_ns", 0.001),
    ("process", "", "process_read_bytes", 0.0),
    ("process", "", "process_write_bytes", 0.0),
    ("diskstats", "vda", "io_ns", 0.9),
    ("diskstats", "vda", "read_bytes", 0.0),
    ("diskstats", "vda", "write_bytes", 0.0),
    ("cpu", "", "busy_ns", 0.1),
)
"""Source, instance, name, and growth in nanoseconds a nanosecond; what the load reads is added to the device's bytes."""


@dataclass(frozen=True)
class Big:
    """How large a run is."""

    seconds: int
    """Of each phase, in intervals of a second."""
    phases: int = 1
    jobs: int = 1
    """Of each phase, with one worker and one operation each."""
    buckets: int = 2
    """Filled in each interval of each operation; an even number."""
    clients: int = 1
    is_even: bool = False
    """Whether all buckets hold the same, without chance."""

    @property
    def iops(self) -> int:
        """Of each operation of each client."""
        return OPS * self.buckets

    @property
    def histogram_rows(self) -> int:
        """Rows of its largest table."""
        return self.clients * self.phases * self.jobs * self.seconds * self.buckets

    def percentile_ns(self, share: float) -> float:
        """Give the middle of the bucket that holds the value of rank `share`: all buckets hold as many."""
        rank = int(np.ceil(share * self.buckets))
        return _middle_ns(FIRST_BUCKET + max(1, rank) - 1)

    @property
    def max_ns(self) -> int:
        """Of every interval."""
        return int(_middle_ns(FIRST_BUCKET + self.buckets - 1))

    @property
    def mean_ns(self) -> float:
        """Of all operations."""
        return float(self._middles_ns.mean())

    @functools.cached_property
    def _middles_ns(self) -> FloatArray:
        return np.array([_middle_ns(bucket) for bucket in range(FIRST_BUCKET, FIRST_BUCKET + self.buckets)])

    @functools.cached_property
    def _counts(self) -> IntArray:
        """Operations in each bucket of each interval of each operation of a client."""
        intervals = self.phases * self.seconds * self.jobs
        if self.is_even:
            return np.full((intervals, self.buckets), OPS, dtype=np.int64)
        first = np.random.default_rng(1).integers(1, 2 * OPS, (intervals, self.buckets // 2), dtype=np.int64)
        return np.stack([first, 2 * OPS - first], axis=-1).reshape(intervals, self.buckets)

    def begin_ns(self, phase: int) -> int:
        """When a phase begins."""
        return FIRST_PHASE_NS + phase * (self.seconds + 1) * NS

    def asked(self) -> plan.Plan:
        """Give what was asked for."""
        read = plan.Op(
            op=plan.OpKind.READ,
            name="read",
            file=plan.FromSet(set="data", pick=plan.Next()),
            access=plan.RandomAccess(),
            size=plan.Fixed(value=float(BYTES)),
        )
        body = plan.Loop(actions=(plan.Do(op=read),))
        return plan.Plan(
            name="big",
            origin=plan.Origin(front_end="native", source="big.toml", sha256="0" * 64),
            seed=1,
            targets=(plan.Target(name="target", uri="file:///data"),),
            file_sets=(
                plan.FileSet(name="data", target="target", path="data", files=1, size=plan.Fixed(value=float(1 << 40))),
            ),
            phases=tuple(
                plan.Phase(
                    name=f"phase{number}",
                    title=f"Phase {number}",
                    jobs=tuple(
                        plan.Job(name=name, body=body, open=plan.OpenFlags(direct=plan.Direct.ON))
                        for name in self._names
                    ),
                    stop=plan.Stop(seconds=float(self.seconds)),
                )
                for number in range(self.phases)
            ),
            sample_interval_s=1.0,
        )

    @property
    def _names(self) -> list[str]:
        return [f"job{number:02}" for number in range(self.jobs)]

    # -- what one engine wrote -----------------------------------------------------------------------------------------

    def happened(self, monotonic_at_zero_ns: int = 0) -> Iterator[events.Event]:
        """Give all events but the intervals."""
        yield _hello(monotonic_at_zero_ns)
        yield events.Prepared(
            t_ns=1, set="data", path="/data/data", files=1, directories=0, bytes=1 << 40, seconds=1.0, reused=False
        )
        for phase in range(self.phases):
            start_ns = self.begin_ns(phase)
            yield events.Started(t_ns=start_ns, phase_index=phase, start_ns=start_ns)
            yield self._finished(phase, start_ns)
        yield events.Finished(
            t_ns=self.begin_ns(self.phases),
            outcome=events.Outcome.COMPLETE,
            user_cpu_ns=1,
            system_cpu_ns=1,
            peak_rss_bytes=1,
        )

    def _finished(self, phase: int, start_ns: int) -> events.PhaseFinished:
        end_ns, done = start_ns + self.seconds * NS, self.iops * self.seconds
        return events.PhaseFinished(
            t_ns=end_ns,
            phase_index=phase,
            start_ns=start_ns,
            stopped_by=events.StoppedBy.TIME,
            workers=tuple(
                events.WorkerWindow(
                    job=name,
                    worker=0,
                    first_op_ns=start_ns,
                    last_op_ns=end_ns,
                    started=done,
                    completed=done,
                    failed=0,
                    abandoned=0,
                    stopped_by=events.StoppedBy.TIME,
                )
                for name in self._names
            ),
            jobs=tuple(
                events.JobFacts(
                    job=name,
                    backend="psync",
                    direct=True,
                    mean_queue_depth=1.0,
                    mean_reap_batch=1.0,
                    short_transfers=0,
                    punted=None,
                    arrivals=None,
                )
                for name in self._names
            ),
            errors=(),
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Give the tables of one client."""
        ticks = pl.DataFrame({"phase_index": range(self.phases)}, schema={"phase_index": pl.Int32}).join(
            pl.DataFrame({"tick": range(self.seconds + 1)}), how="cross"
        )
        at_s = FIRST_PHASE_NS / NS + pl.col("phase_index").cast(pl.Int64) * (self.seconds + 1) + pl.col("tick")
        ticks = ticks.with_columns(t_s=at_s.cast(pl.Float64))
        jobs = ticks.join(pl.DataFrame({"job": self._names}), how="cross")
        done = jobs.filter(pl.col("tick") > 0).with_columns(operation=pl.lit("read"))
        return {
            INTERVALS: _as(INTERVALS, self._intervals(done)),
            HISTOGRAMS: _as(HISTOGRAMS, self._histograms(done)),
            WORKERS: _as(WORKERS, self._workers(jobs)),
            HOST: _as(HOST, self._host(ticks)),
        }

    def _intervals(self, done: pl.DataFrame) -> pl.DataFrame:
        return done.with_columns(
            dt_s=pl.lit(1.0),
            ops=pl.lit(self.iops),
            bytes=pl.lit(self.iops * BYTES),
            errors=pl.lit(0),
            latency_max_ns=pl.lit(self.max_ns),
            latency_sum_ns=np.round(self._counts @ self._middles_ns),
            response_max_ns=pl.lit(None),
            response_sum_ns=pl.lit(None),
        )

    def _histograms(self, done: pl.DataFrame) -> pl.DataFrame:
        filled = pl.DataFrame({"bucket": np.arange(FIRST_BUCKET, FIRST_BUCKET + self.buckets, dtype=np.uint32)})
        return done.join(filled, how="cross").with_columns(series=pl.lit("latency"), n=self._counts.ravel())

    def _workers(self, jobs: pl.DataFrame) -> pl.DataFrame:
        passed_ns = pl.col("tick") * NS
        return jobs.with_columns(
            worker=pl.lit(0),
            ops=pl.col("tick") * self.iops,
            bytes=pl.col("tick") * self.iops * BYTES,
            on_cpu_ns=passed_ns // 10,
            run_delay_ns=pl.lit(0),
            block_delay_ns=passed_ns * 8 // 10,
            user_cpu_ns=passed_ns // 20,
            system_cpu_ns=passed_ns // 20,
            io_calls=pl.col("tick") * self.iops,
            children_cpu_ns=pl.lit(0),
            idle_ns=pl.lit(0),
        )

    def _host(self, ticks: pl.DataFrame) -> pl.DataFrame:
        counters = pl.DataFrame(_COUNTERS, schema=["source", "instance", "name", "growth"], orient="row")
        moved = float(self.iops * BYTES * self.jobs)
        is_read = pl.col("name").is_in(["read_bytes", "process_read_bytes"])
        grown = pl.when(is_read).then(moved).otherwise(pl.col("growth") * NS)
        return ticks.join(counters, how="cross").with_columns(value=1e6 + pl.col("tick") * grown)

    # -- what the leader kept ------------------------------------------------------------------------------------------

    def write(self, runs: Path) -> RunBundle:
        """Make the sealed run."""
        bundle = RunBundle.create(runs, "big", plan=self.asked(), argv=["assay", "run", "big.toml", "/data"])
        tables = self.tables()
        if self.clients == 1:
            bundle.record_facts(_facts())
            bundle.events_path.write_bytes(b"")
            bundle.take_stream("0", Stream(hello=_hello(0), events=tuple(self.happened()), tables=tables, cut_bytes=0))
        else:
            bundle.keep_client_set(self._client_set())
            first = LEADER_NS
            for name in self._client_names:
                bundle.stream_path(name).write_bytes(b"")
                own = tuple(self.happened(first))
                bundle.take_stream(name, Stream(hello=_hello(first), events=own, tables=tables, cut_bytes=0))
        bundle.seal()
        return bundle

    @property
    def _client_names(self) -> list[str]:
        return [f"c{number:04}" for number in range(self.clients)]

    def _client_set(self) -> ClientSet:
        readings = tuple(
            ClockReading(at_ns=LEADER_NS + at_s * NS, offset_ns=0, bound_ns=100_000, exchanges=16) for at_s in (0, 1000)
        )
        return ClientSet(
            share=Share.OWN,
            on_lost=OnLost.CONTINUE,
            members=tuple(
                Member(
                    name=name,
                    role=Role.LOAD,
                    hostname=name,
                    address=f"{name}.example",
                    facts=_facts(),
                    clock=readings,
                    lost=None,
                )
                for name in self._client_names
            ),
            starts=tuple(
                PhaseStart(phase_index=phase, at_ns=LEADER_NS + self.begin_ns(phase), members=tuple(self._client_names))
                for phase in range(self.phases)
            ),
        )


def _middle_ns(bucket: int) -> float:
    """Give the middle of a bucket, from the definition of the HdrHistogram layout; `bucket` is above 2,047."""
    shift = bucket // 1024 - 1
    return ((bucket % 1024 + 1024) << shift) + ((1 << shift) - 1) / 2


def _hello(monotonic_at_zero_ns: int) -> events.Hello:
    return events.Hello(
        schema=events.SCHEMA,
        engine=events.EngineFacts(version="0.1.0", profile="release", rustc="1.90", pid=1, uid=0),
        machine=events.MachineFacts(
            hostname=f"host{monotonic_at_zero_ns}", kernel="6.18.1", cpus=64, page_size_bytes=4096, ram_bytes=16 << 30
        ),
        clock=events.ClockFacts(
            source="tsc", read_cost_ns=25.0, realtime_at_zero_ns=0, monotonic_at_zero_ns=monotonic_at_zero_ns
        ),
        capabilities=events.Capabilities(
            io_uring=True, cachestat=True, drop_caches=True, delay_accounting=True, schedstat=True, notes=()
        ),
    )


def _facts() -> tuple[Fact, ...]:
    values: dict[str, FactValue] = {
        "target.target.directory": "/data",
        "target.target.fs.type": "ext4",
        "target.target.fs.is_block_backed": True,
        "target.target.device.diskstats": ("vda",),
    }
    return tuple(Fact(key=key, value=value, source="user") for key, value in values.items())


def _as(name: str, table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.col(column).cast(kind) for column, kind in OF_STREAM[name].items())
