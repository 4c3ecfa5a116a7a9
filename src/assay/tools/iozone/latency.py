"""The latency files of -Q: where in the file, how long, how much.

A line is a record, as the engine reported it (`laps`). With -H and -k, where several are in flight and none is reported by
itself, it is an interval of the run: its first offset, the mean latency of its records, their size. The files are
appended to, as IOzone does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from assay import events
from assay.analysis.record import PhaseRecord
from assay.tools.iozone import single
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.values import Measured
from assay.tools.measured import workers
from assay.tools.output_files import OutputFile

_HEAD = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n"
_NS_PER_US = 1000


def files(measured: Measured) -> list[OutputFile]:
    """Make the files of the tests that were done."""
    made = []
    laps: dict[int, list[events.Laps]] = {}
    for shown in measured.record.all(events.Laps):
        laps.setdefault(shown.phase_index, []).append(shown)
    for column in measured.settings.measured():
        parts = [
            _part(phase, column.key, cell, laps)
            for cell in measured.settings.matrix.cells()
            if (phase := measured.phases.get(single.phase_name(column, cell))) is not None
        ]
        if column.latency_file and parts:
            made.append(OutputFile(Path(column.latency_file), "".join(parts).encode(), appends=True))
    return made


def _each(laps: Iterable[events.Laps]) -> Iterator[tuple[int, float]]:
    """Give number and latency of each record, as far as it was reported and did not fail."""
    for shown in laps:
        numbered = zip(shown.number, shown.latency_ns, strict=True)
        yield from ((number, ns) for number, ns in numbered if ns is not None)


def _means(phase: PhaseRecord, operation: str) -> Iterator[tuple[int, float]]:
    """Give the first record and mean latency of each interval."""
    at = 0
    rows = phase.rows(phase.phase.jobs[0].name, operation)
    for ops, latency_sum_ns in zip(rows.column("ops").tolist(), rows.column("latency_sum_ns").tolist(), strict=True):
        if ops:
            yield at, latency_sum_ns / ops
            at += ops


def _part(phase: PhaseRecord, operation: str, cell: Cell, laps: Mapping[int, Sequence[events.Laps]]) -> str:
    found = _means(phase, operation) if phase.phase.jobs[0].queue_depth > 1 else _each(laps.get(phase.index, ()))
    lines = [_HEAD]
    lines += [f"{at * cell.record_kib:10d} {ns / _NS_PER_US:10.0f} {cell.record_bytes:10d}\n" for at, ns in found]
    done = workers(phase)
    system_s, user_s = (
        sum((getattr(one, name) or 0) for one in done) / 1e9 for name in ("system_cpu_ns", "user_cpu_ns")
    )
    real_s = sum(one.seconds for one in done)
    lines.append(f"\nSystem time {system_s:10.3f} User time {user_s:10.3f} Real {real_s:10.3f}  (seconds)\n")
    return "".join(lines)
