"""All clients of a set as one machine that did what they did together, on the clock of the set.

What adds up is added: operations, bytes, errors, sums of latencies, buckets, the engines' own counters. Maxima are maxima.
Workers keep their samples and get numbers of their own: those of the first client, then those of the second, and so on.
Counters of machines do not add, so that of the host only the source `process` is there, as growth since each client's start
of the phase. Facts are those that all clients agree on.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay import events
from assay.analysis.bucket_sums import BucketSums
from assay.analysis.merged_events import merged_events
from assay.analysis.of_client import ClientView
from assay.analysis.phased_table import PhasedTable
from assay.analysis.recorded_run import RecordedRun
from assay.analysis.rows import NS_PER_S, in_time, runs_of
from assay.analysis.set_times import SetTimes
from assay.analysis.workers_of_plan import with_workers
from assay.bundle.client_set import ClientSet
from assay.bundle.files import RunInfo
from assay.bundle.kept_marks import KeptMark
from assay.bundle.original import Original
from assay.bundle.remarks import Remarks
from assay.bundle.scan import HeldTable, Scan, whole
from assay.bundle.tables import CLIENT, OF_STREAM
from assay.bundle.tables import HISTOGRAMS as _HISTOGRAMS
from assay.bundle.tables import HOST as _HOST
from assay.bundle.tables import INTERVALS as _INTERVALS
from assay.bundle.tables import WORKERS as _WORKERS
from assay.host.facts import Fact
from assay.plan import Plan

_PROCESS = "process"


class MergedRun:
    """The sum of a set."""

    def __init__(
        self,
        run: RecordedRun,
        scans: Mapping[str, Scan],
        sections: Mapping[str, PhasedTable],
        found: ClientSet,
        *,
        clients: Mapping[str, ClientView],
        times: SetTimes,
    ) -> None:
        """Hold the parts; tables of all clients are added up when they are asked for, buckets client by client."""
        self._whole = run
        self._scans = scans
        self._sections = sections
        self._set = found
        self._clients = {member.name: clients[member.name] for member in found.loads}
        self._times = times

    @property
    def path(self) -> Path:
        """Where the run is kept."""
        return self._whole.path

    @property
    def run_id(self) -> str:
        """Name of the run's folder."""
        return self._whole.run_id

    @property
    def is_sealed(self) -> bool:
        """Whether the run is complete."""
        return self._whole.is_sealed

    @property
    def info(self) -> RunInfo:
        """Who ran it, when."""
        return self._whole.info

    @property
    def remarks(self) -> Remarks:
        """What the user calls the run."""
        return self._whole.remarks

    @property
    def marks(self) -> Sequence[KeptMark]:
        """When something happened, as the user says, on the clock of the set."""
        return self._whole.marks

    @functools.cached_property
    def plan(self) -> Plan:
        """The Plan, with the workers of all clients that are in the sum of each phase."""
        workers: dict[tuple[int, str], int] = {}
        for index, phase in self._times.phases.items():
            for at, job in enumerate(self._whole.plan.phases[index].jobs):
                of_each = (self._clients[name].plan.phases[index].jobs[at].workers for name in phase.clients)
                workers[index, job.name] = sum(of_each) or job.workers
        return with_workers(self._whole.plan, workers)

    @functools.cached_property
    def facts(self) -> Sequence[Fact]:
        """What is known of the run, and of every client the same."""
        every = [{fact.key: fact for fact in view.member.facts} for view in self._clients.values()]
        of_clients = {key for facts in every for key in facts}
        first, others = (every[0], every[1:]) if every else ({}, [])
        agreed = [
            fact
            for key, fact in first.items()
            if all(key in other and other[key].value == fact.value for other in others)
        ]
        return (*agreed, *(fact for fact in self._whole.facts if fact.key not in of_clients))

    @property
    def clients(self) -> Sequence[str]:
        """Name those that made load."""
        return tuple(self._clients)

    def client_set(self) -> None:
        """Report that it is read as a run of one."""

    def events(self, client: str | None = None) -> list[events.Event]:  # noqa: ARG002 - there is only this one
        """Return what happened, on the clock of the set."""
        return merged_events(self._clients, self._times, self._set.share, self.workers_before)

    def original(self) -> Original | None:
        """Return nothing: Assay measured it."""
        return None

    def scan(self, name: str) -> Scan:
        """Return a table of the set."""
        make = {
            _INTERVALS: self._intervals,
            _HISTOGRAMS: self._histograms,
            _WORKERS: self._workers,
            _HOST: self._host,
        }
        return HeldTable(make[name]())

    def _intervals(self) -> pl.DataFrame:
        """Return operations by interval of the set."""
        placed = self._placed(whole(self._scans[_INTERVALS]))
        sums = [pl.col(name).sum() for name in ("ops", "bytes", "errors", "latency_sum_ns")]
        # A sum of unknown values is unknown: Polars would return 0.
        response = pl.when(pl.col("response_sum_ns").count() > 0).then(pl.col("response_sum_ns").sum())
        added = placed.group_by("phase_index", "job", "operation", "set_ns", maintain_order=True).agg(
            *sums,
            pl.col("latency_max_ns").max(),
            pl.col("response_max_ns").max(),
            response_sum_ns=response,
        )
        return _in_columns(added.join(self._lengths, on=["phase_index", "set_ns"], how="left"), _INTERVALS)

    def _histograms(self) -> pl.DataFrame:
        """Return latency buckets by interval of the set."""
        sums: dict[tuple[Any, ...], BucketSums] = {}
        ticks = (
            self._times.ticks.sort("t_ns").group_by(CLIENT, "phase_index", maintain_order=True).agg("t_ns", "set_ns")
        )
        ends = self._times.ticks.group_by("phase_index").agg(pl.col("set_ns").unique().sort())
        ends_ns = {index: of_phase.to_numpy() for index, of_phase in zip(*ends, strict=True)}
        for name, index, own, on_set in zip(*ticks, strict=True):
            own_ns, set_ns = own.to_numpy(), on_set.to_numpy()
            for key, rows in self._sections[_HISTOGRAMS].section(name, index).rows.items():
                begins, lengths = runs_of(rows.t_ns)
                times = rows.t_ns[begins]
                places = np.searchsorted(own_ns, times).clip(max=len(own_ns) - 1)
                inside = np.repeat(own_ns[places] == times, lengths)
                sums.setdefault((index, *key), BucketSums(ends_ns[index])).add(
                    np.repeat(set_ns[places], lengths)[inside], rows.column("bucket")[inside], rows.column("n")[inside]
                )
        kinds: dict[str, pl.DataType] = {"set_ns": pl.Int64(), **OF_STREAM[_HISTOGRAMS]}
        frames = [
            pl.DataFrame(schema=kinds).select("phase_index", "job", "operation", "series", "set_ns", "bucket", "n")
        ]
        for (index, job, operation, series), added in sums.items():
            named = {"phase_index": index, "job": job, "operation": operation, "series": series}
            literals = [pl.lit(value, kinds[column]).alias(column) for column, value in named.items()]
            frames.append(added.frame().select(*literals, "set_ns", pl.col("bucket").cast(pl.UInt32), "n"))
        return _in_columns(pl.concat(frames), _HISTOGRAMS)

    def _workers(self) -> pl.DataFrame:
        """Return the samples of all workers."""
        before = pl.DataFrame(
            list(self.workers_before.items()), schema={CLIENT: pl.String, "before": pl.Int64}, orient="row"
        )
        placed = self._placed(whole(self._scans[_WORKERS])).join(before, on=CLIENT)
        return _in_columns(placed.with_columns(worker=pl.col("worker") + pl.col("before")), _WORKERS)

    def _host(self) -> pl.DataFrame:
        """Return what the engines' own counters grew by since each client's start; those that every client has."""
        own = pl.concat(part.filter(pl.col("source") == _PROCESS) for part in self._scans[_HOST].parts())
        one = ["phase_index", "instance", "name"]
        grown = (
            self._placed(own)
            .sort("t_ns", maintain_order=True)
            .with_columns(grown=pl.col("value").diff().over(CLIENT, *one).fill_null(0.0))
        )
        having = grown.group_by(one).agg(having=pl.col(CLIENT).n_unique())
        all_ = self._times.ticks.group_by("phase_index").agg(all=pl.col(CLIENT).n_unique())
        known = having.join(all_, on="phase_index").filter(pl.col("having") == pl.col("all")).select(one)
        totals = (
            grown.join(known, on=one, how="semi")
            .group_by(*one, "set_ns")
            .agg(pl.col("grown").sum())
            .sort(*one, "set_ns")
            .with_columns(value=pl.col("grown").cum_sum().over(one), source=pl.lit(_PROCESS))
        )
        return _in_columns(totals, _HOST)

    @functools.cached_property
    def workers_before(self) -> dict[str, int]:
        """Count by client how many workers the clients before it have: its own numbers begin there."""
        most = pl.concat(
            part.group_by(CLIENT).agg(pl.col("worker").max() + 1)
            for part in self._scans[_WORKERS].parts(columns=[CLIENT, "worker"])
        )
        sampled = dict(most.group_by(CLIENT).max().iter_rows())
        found, count = {}, 0
        for name, view in self._clients.items():
            found[name] = count
            ended = (event for event in view.happened if isinstance(event, events.PhaseFinished))
            reported = max((worker.worker + 1 for event in ended for worker in event.workers), default=0)
            count += max(sampled.get(name, 0), reported)
        return found

    def _placed(self, table: pl.DataFrame) -> pl.DataFrame:
        """Put the rows of clients that are in the sum on the grid of the set: `set_ns`."""
        return in_time(table).join(self._times.ticks, on=[CLIENT, "phase_index", "t_ns"], maintain_order="left")

    @functools.cached_property
    def _lengths(self) -> pl.DataFrame:
        """How long each interval of the set is."""
        rows = [
            (index, int(end), (int(end) - int(begin)) / NS_PER_S)
            for index, phase in self._times.phases.items()
            for begin, end in itertools.pairwise((phase.grid_ns, *phase.edges_ns))
        ]
        schema = {"phase_index": pl.Int32, "set_ns": pl.Int64, "dt_s": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")


def _in_columns(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Give the columns of a stream's table, in the order of time."""
    timed = table.sort("phase_index", "set_ns", maintain_order=True).with_columns(t_s=pl.col("set_ns") / NS_PER_S)
    return timed.select(pl.col(column).cast(kind) for column, kind in OF_STREAM[name].items())
