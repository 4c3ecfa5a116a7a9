"""The output of filebench: its log lines, the breakdown by flowop and the summary; and what they cannot show.

Times in front of lines are seconds since the start, as Filebench writes them. MB are of 2^20 bytes.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from assay import events
from assay.analysis.arrays import IntArray
from assay.analysis.histogram import bucket_lowest_ns
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import NS_PER_S, Span
from assay.events import StoppedBy
from assay.tools.filebench.flowops import AIO, IO, TYPES
from assay.tools.filebench.plan import RUN, Source
from assay.tools.filebench.settings import Settings
from assay.tools.front_end import Output
from assay.tools.measured import Totals
from assay.tools.over_clients import Fold

if TYPE_CHECKING:
    from assay.report.figure import Figure

VERSION = "Filebench Version 1.5-alpha3"
_MB = 1 << 20
_NS_PER_MS = 1e6
_BUCKETS = 64
_ENDS = {
    StoppedBy.EXHAUSTED: "no file or name was left for one of its threads",
    StoppedBy.OPS: "the count to finish on was reached",
    StoppedBy.BYTES: "the bytes to finish on were reached",
}


@dataclasses.dataclass(frozen=True)
class FlowopLine:
    """What a flowop did."""

    name: str
    kind: str
    """Empty: a composite flowop."""
    ops: int = 0
    bytes: int = 0
    latency_ns: int = 0
    least_ns: int = 0
    most_ns: int = 0
    histogram: tuple[int, ...] = ()

    @property
    def is_summed(self) -> bool:
        """Whether the summary counts it."""
        return self.kind in TYPES and TYPES[self.kind].of in {IO, AIO}

    @property
    def direction(self) -> str:
        """`read`, `write` or neither."""
        return TYPES[self.kind].direction if self.kind in TYPES else ""

    def row(self, seconds: float) -> "FlowopRow":
        """Compute its row."""
        return FlowopRow(
            name=self.name,
            ops=self.ops,
            ops_per_s=self.ops / seconds,
            mb_per_s=self.bytes / _MB / seconds,
            ms_per_op=self.latency_ns / self.ops / _NS_PER_MS if self.ops else 0.0,
            least_ms=self.least_ns / _NS_PER_MS,
            most_ms=self.most_ns / _NS_PER_MS,
        )


@dataclasses.dataclass(frozen=True)
class FlowopRow:
    """A row of the breakdown, of one client or folded over several."""

    name: str
    ops: float
    ops_per_s: float
    mb_per_s: float
    ms_per_op: float
    least_ms: float
    most_ms: float

    def text(self) -> str:
        """Write it as Filebench does."""
        return (
            f"{self.name:<20} {self.ops:.0f}ops {self.ops_per_s:8.0f}ops/s {self.mb_per_s:5.1f}mb/s"
            f" {self.ms_per_op:8.3f}ms/op [{self.least_ms:.3f}ms - {self.most_ms:5.3f}ms]"
        )


@dataclasses.dataclass(frozen=True)
class IoSummary:
    """The summary, of one client or folded over several."""

    ops: float
    ops_per_s: float
    reads_per_s: float
    writes_per_s: float
    mb_per_s: float
    ms_per_op: float

    def text(self) -> str:
        """Write it as Filebench does."""
        return (
            f"IO Summary: {self.ops:5.0f} ops {self.ops_per_s:5.3f} ops/s"
            f" {self.reads_per_s:.0f}/{self.writes_per_s:.0f} rd/wr {self.mb_per_s:5.1f}mb/s {self.ms_per_op:5.3f}ms/op"
        )


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All lines up to a time."""

    t_s: float
    seconds: float
    lines: tuple[FlowopLine, ...]

    @property
    def _divisor(self) -> float:
        return max(self.seconds, 1e-9)

    @property
    def rows(self) -> list[FlowopRow]:
        """Rows of the breakdown."""
        return [line.row(self._divisor) for line in self.lines]

    @property
    def summary(self) -> IoSummary:
        """The results of the flowops that do I/O."""
        summed = [line for line in self.lines if line.is_summed]
        ops, latency = sum(line.ops for line in summed), sum(line.latency_ns for line in summed)
        return IoSummary(
            ops=ops,
            ops_per_s=ops / self._divisor,
            reads_per_s=sum(line.ops for line in summed if line.direction == "read") / self._divisor,
            writes_per_s=sum(line.ops for line in summed if line.direction == "write") / self._divisor,
            mb_per_s=sum(line.bytes for line in summed) / _MB / self._divisor,
            ms_per_op=latency / ops / _NS_PER_MS if ops else 0.0,
        )

    def text(self, *, has_histogram: bool) -> str:
        """Write breakdown and summary."""
        rows = [row.text() for row in self.rows]
        if has_histogram:
            counts = (line.histogram or (0,) * _BUCKETS for line in self.lines)
            rows = [f"{row}\t[ {''.join(f'{n} ' for n in of)}]" for row, of in zip(rows, counts, strict=True)]
        return _write(self.t_s, rows, self.summary)


def _powers(bucket: IntArray, count: IntArray) -> tuple[int, ...]:
    """Count latencies by powers of two."""
    powers = [min(int(value).bit_length(), _BUCKETS - 1) for value in bucket_lowest_ns(bucket)]
    counts = np.bincount(np.array(powers, dtype=np.int64), count, minlength=_BUCKETS)
    return tuple(int(each) for each in counts)


def _write(t_s: float, rows: Sequence[str], summary: IoSummary) -> str:
    return "\n".join([f"{t_s:.3f}: Per-Operation Breakdown", *rows, f"{t_s:.3f}: {summary.text()}", ""])


def _fold(snapshots: Sequence[Snapshot], fold: Fold) -> str:
    """Fold the snapshots of several clients: each row by its rate, and the summary by its own."""
    by_flowop = zip(*(snapshot.rows for snapshot in snapshots), strict=True)
    rows = [_fold_row(of, fold).text() for of in by_flowop]
    summary = fold.record([snapshot.summary for snapshot in snapshots], lambda one: one.ops_per_s)
    return _write(max(snapshot.t_s for snapshot in snapshots), rows, summary)


def _fold_row(rows: Sequence[FlowopRow], fold: Fold) -> FlowopRow:
    """Fold a row; a mean has the range over all clients."""
    folded = fold.record(rows, lambda row: row.ops_per_s)
    if fold is not Fold.MEAN:
        return folded
    least, most = min(row.least_ms for row in rows), max(row.most_ms for row in rows)
    return dataclasses.replace(folded, least_ms=least, most_ms=most)


class FilebenchOutput(Output[Settings]):
    """What filebench prints."""

    @functools.cached_property
    def _phase(self) -> PhaseRecord | None:
        return next((phase for phase in self.run.phases if phase.phase.name == RUN), None)

    def text(self) -> str:
        """Print a run as Filebench does, as far as it went."""
        workload, log = self.settings.workload, [VERSION, *(f"0.000: {line}" for line in self.settings.workload.echoed)]
        log += self._populated_lines()
        phase = self._phase
        if phase is None:
            return "\n".join([*log, ""])
        begin = phase.start_ns / NS_PER_S
        log += [f"{begin:.3f}: Starting {process.instances} {process.name} instances" for process in workload.processes]
        log.append(f"{begin:.3f}: Running...")
        text = "\n".join([*log, ""])
        text += "".join(one.text(has_histogram=workload.has_histograms) for one in self._snapshots(phase))
        end = self._end_ns(phase)
        text += f"{end / NS_PER_S:.3f}: Run took {round((end - phase.start_ns) / NS_PER_S)} seconds...\n"
        if workload.has_statistics:
            text += self._final(phase).text(has_histogram=workload.has_histograms)
        return text + f"{end / NS_PER_S:.3f}: Shutting down processes\n"

    @functools.cached_property
    def snapshots(self) -> list[Snapshot]:
        """Those of `psrun`."""
        return [*self._snapshots(self._phase)] if self._phase else []

    @functools.cached_property
    def final(self) -> Snapshot | None:
        """The statistics of a finished run; None where there are none."""
        is_there = (
            self._phase is not None and self._phase.finished is not None and self.settings.workload.has_statistics
        )
        return self._final(self._phase) if self._phase and is_there else None

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print breakdown and summary of the mean, the slowest and the fastest client, without histograms."""
        together = [*zip(*(output.snapshots for output in outputs), strict=False)]
        ends = tuple(output.final for output in outputs if output.final is not None)
        together += [ends] if len(ends) == len(outputs) else []
        return {fold.label(len(outputs)): "".join(_fold(of, fold) for of in together) for fold in Fold}

    def _populated_lines(self) -> Iterator[str]:
        by_set = {event.set: event for event in self.run.all(events.Prepared)}
        for files in self.settings.workload.files.values():
            if (event := by_set.get(files.name)) is None:
                continue
            yield (
                f"{event.t_ns / NS_PER_S:.3f}: {files.name} populated: {files.entries} files, avg. dir. width ="
                f" {files.width:g}, {event.directories} directories, {files.leaf_directories} leafdirs,"
                f" {event.bytes / _MB:.3f}MB total size"
            )

    # -- sums ----------------------------------------------------------------------------------------------------------

    def _end_ns(self, phase: PhaseRecord) -> int:
        return phase.grid[-1].end_ns

    def _begin_ns(self, phase: PhaseRecord) -> int:
        return phase.start_ns + round(self.settings.workload.ramp_seconds * NS_PER_S)

    def _final(self, phase: PhaseRecord) -> Snapshot:
        return self._snapshot(phase, self._begin_ns(phase), self._end_ns(phase))

    def _snapshots(self, phase: PhaseRecord) -> Iterator[Snapshot]:
        """Give those of `psrun`: each at the end of the first interval that is not before its time."""
        period_ns = round(self.settings.workload.snapshot_seconds * NS_PER_S)
        if not period_ns:
            return
        begin, due = self._begin_ns(phase), self._begin_ns(phase) + period_ns
        ends = [span.end_ns for span in phase.grid]
        for end in ends[:-1]:
            if end >= due:
                yield self._snapshot(phase, begin, end)
                begin = end if self.settings.workload.resets else begin
                due += period_ns

    def _snapshot(self, phase: PhaseRecord, begin_ns: int, end_ns: int) -> Snapshot:
        span = Span(begin_ns, end_ns)
        names = reversed(self.settings.workload.names)
        lines = tuple(self._line(phase, name, span) for name in names)
        return Snapshot(t_s=end_ns / NS_PER_S, seconds=span.seconds, lines=lines)

    def _line(self, phase: PhaseRecord, name: str, span: Span) -> FlowopLine:
        made = self.settings.planned
        sources = made.sources.get(name, ())
        kind = made.kinds.get(name, "")
        pairs = [(source.job, operation) for source in sources for operation in source.operations]
        of = Totals(phase, tuple(pairs), span)
        bucket, count = of.buckets
        return FlowopLine(
            name=name,
            kind=kind,
            ops=of.ops + self._count_derived(phase, sources, span),
            bytes=of.bytes,
            latency_ns=of.latency_sum_ns,
            least_ns=int(bucket_lowest_ns(bucket).min()) if len(bucket) else 0,
            most_ns=of.latency_max_ns,
            histogram=_powers(bucket, count) if self.settings.workload.has_histograms else (),
        )

    def _count_derived(self, phase: PhaseRecord, sources: Sequence[Source], span: Span) -> int:
        """Count what is not recorded by the operation that is done in the same passes."""
        counted = [source for source in sources if not source.operations and source.passes_by]
        return sum(
            round(phase.rows(source.job, source.passes_by).total("ops", span) * source.times) for source in counted
        )

    # -- standard error ------------------------------------------------------------------------------------------------

    def stderr_notes(self) -> str:
        """Explain why the run ended early, and what the text counts differently from Filebench."""
        return "".join(f"{sentence}\n" for sentence in self._sentences())

    def _sentences(self) -> Iterator[str]:
        phase, workload = self._phase, self.settings.workload
        if phase is None:
            yield "The run did not begin: there are no statistics."
            return
        took = (self._end_ns(phase) - phase.start_ns) / NS_PER_S
        windows = phase.finished.workers if phase.finished else ()
        ends = {window.stopped_by for window in windows}
        for end, why in _ENDS.items():
            if end in ends and (workload.seconds is None or took < workload.seconds - 0.5):
                wanted = "" if workload.seconds is None else f" of {workload.seconds:g}"
                yield f"The run ended after {took:.2f} s{wanted}: {why}. Its statistics are those of this time."
        kinds = set(self.settings.planned.kinds.values())
        untimed = sorted(kind for kind in kinds if TYPES[kind].of != IO and kind != "aiowrite")
        if untimed:
            yield (
                f"Counted by the passes of their thread, and without a time: {', '.join(untimed)}. What they wait is in no"
                " latency."
            )
        if "aiowrite" in kinds:
            yield "aiowrite: counted and timed is each write from its beginning to its end, not the call that asks for it."
        if any(TYPES[kind].is_on_file for kind in kinds):
            yield (
                "readwholefile and writewholefile are one operation each, whatever they move; opening, closing, looking and"
                " removing count as operations in the summary."
            )

    def figures(self) -> "Sequence[Figure]":
        """Draw nothing of its own: the report's figures show each flowop."""
        return ()


OUTPUT = FilebenchOutput
