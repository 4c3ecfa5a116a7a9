"""The latency files of -Q: where in the file, how long, how much.

The engine keeps no list of operations, so a line stands for an interval of the record: its first offset, the mean latency
of its records, their size. The files are appended to, as IOzone does.
"""

from pathlib import Path

from assay.analysis.record import PhaseRecord
from assay.frontends.iozone import single
from assay.frontends.iozone.matrix import Cell
from assay.report.classic.files import OutputFile
from assay.report.classic.iozone.values import Measured
from assay.report.classic.measured import workers

NAMES = {"write": "wol.dat", "rewrite": "rwol.dat", "read": "rol.dat", "reread": "rrol.dat"}
"""File of each test that has one."""
_HEAD = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n"
_NS_PER_US = 1000


def files(measured: Measured) -> list[OutputFile]:
    """Make the files of the tests that were done."""
    made = []
    for column in measured.settings.measured():
        name = NAMES.get(column.key)
        parts = [
            _part(phase, column.key, cell)
            for cell in measured.settings.matrix.cells()
            if (phase := measured.phases.get(single.phase_name(column, cell))) is not None
        ]
        if name is not None and parts:
            made.append(OutputFile(Path(name), "".join(parts).encode(), appends=True))
    return made


def _part(phase: PhaseRecord, operation: str, cell: Cell) -> str:
    lines = [_HEAD]
    at = 0
    for row in phase.intervals.filter(operation=operation).sort("t_ns").iter_rows(named=True):
        if row["ops"]:
            latency_us = row["latency_sum_ns"] / row["ops"] / _NS_PER_US
            lines.append(f"{at * cell.record_kib:10d} {latency_us:10.0f} {cell.record_bytes:10d}\n")
            at += row["ops"]
    done = workers(phase)
    system_s, user_s = (
        sum((getattr(one, name) or 0) for one in done) / 1e9 for name in ("system_cpu_ns", "user_cpu_ns")
    )
    real_s = sum(one.seconds for one in done)
    lines.append(f"\nSystem time {system_s:10.3f} User time {user_s:10.3f} Real {real_s:10.3f}  (seconds)\n")
    return "".join(lines)
