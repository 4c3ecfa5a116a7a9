"""The columns of vdbench's lines: of SDs, and of file systems. None is a value that was not measured."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.analysis.record import PhaseRecord
from assay.plan.walk import job_ops
from assay.tools.vdbench.measured import MeasuredRun, RunSpan
from assay.units import ABSENT

READ, WRITE = "read", "write"
FILE_OPERATIONS = ("mkdir", "rmdir", "create", "open", "close", "delete", "getattr", "setattr")
_ASKED = (READ, WRITE, *FILE_OPERATIONS)


@dataclasses.dataclass(frozen=True)
class LineColumn:
    """A column: two lines of heading, how wide, with how many decimals, and what of a line's values it shows."""

    heading: tuple[str, str]
    width: int
    decimals: int
    value: str

    def cell(self, values: Mapping[str, float | None]) -> str:
        """Write a value."""
        value = values[self.value]
        text = ABSENT if value is None else f"{value:.{self.decimals}f}"
        return f"{text:>{self.width}}"


STORAGE = (
    LineColumn(("i/o", "rate"), 10, 2, "rate"),
    LineColumn(("MB/sec", "1024**2"), 8, 2, "MB/sec"),
    LineColumn(("bytes", "i/o"), 8, 0, "bytes/io"),
    LineColumn(("read", "pct"), 7, 2, "read%"),
    LineColumn(("resp", "time"), 8, 3, "resp"),
    LineColumn(("read", "resp"), 8, 3, "read_resp"),
    LineColumn(("write", "resp"), 8, 3, "write_resp"),
    LineColumn(("resp", "max"), 9, 3, "resp_max"),
    LineColumn(("resp", "stddev"), 8, 3, "resp_std"),
    LineColumn(("queue", "depth"), 6, 1, "queue_depth"),
    LineColumn(("cpu%", "sys+u"), 6, 1, "cpu_used"),
    LineColumn(("cpu%", "sys"), 5, 1, "cpu_kernel"),
)


def _pair(word: str, name: str) -> tuple[LineColumn, LineColumn]:
    return (LineColumn((word, "rate"), 8, 1, f"{name}_rate"), LineColumn(("", "resp"), 7, 3, f"{name}_resp"))


FILES = (
    LineColumn(("Reqstd", "rate"), 9, 1, "rate"),
    LineColumn(("Ops", "resp"), 7, 3, "resp"),
    LineColumn(("cpu%", "total"), 6, 1, "cpu_used"),
    LineColumn(("", "sys"), 5, 2, "cpu_kernel"),
    LineColumn(("read", "pct"), 6, 1, "read%"),
    *_pair("read", "Read"),
    *_pair("write", "Write"),
    LineColumn(("mb/sec", "read"), 8, 2, "MB_read"),
    LineColumn(("mb/sec", "write"), 8, 2, "MB_write"),
    LineColumn(("mb/sec", "total"), 8, 2, "MB/sec"),
    LineColumn(("xfer", "size"), 8, 0, "Xfersize"),
    *(column for name in FILE_OPERATIONS for column in _pair(name, name.capitalize())),
)


def storage_values(interval: RunSpan) -> dict[str, float | None]:
    """Give the values of a line of SDs, by the names of the flatfile."""
    reads, writes = (_of_kind(interval.record, kind) for kind in (READ, WRITE))
    both, read, write = interval.of([*reads, *writes]), interval.of(reads), interval.of(writes)
    return {
        "rate": both.rate,
        "MB/sec": both.mib_per_s,
        "bytes/io": both.totals.bytes / both.totals.ops if both.totals.ops else None,
        "read%": 100 * read.totals.ops / both.totals.ops if both.totals.ops else None,
        "resp": both.mean_ms,
        "read_resp": read.mean_ms,
        "write_resp": write.mean_ms,
        "resp_max": both.longest_ms,
        "resp_std": both.deviation_ms,
        "queue_depth": both.in_flight,
        **_cpu(interval),
    }


def file_values(interval: RunSpan) -> dict[str, float | None]:
    """Give the values of a line of file systems, by the names of the flatfile."""
    recorded = {name: _named_values(interval.record, name) for name in _ASKED}
    sums = {name: interval.of(pairs) for name, pairs in recorded.items()}
    asked = interval.of([pair for pairs in _requested(interval.record) for pair in pairs])
    read, write = sums[READ], sums[WRITE]
    moved = read.totals.ops + write.totals.ops
    values: dict[str, float | None] = {
        "rate": asked.rate,
        "resp": asked.mean_ms,
        "read%": 100 * read.totals.ops / moved if moved else None,
        "MB_read": read.mib_per_s,
        "MB_write": write.mib_per_s,
        "MB/sec": interval.of([*recorded[READ], *recorded[WRITE]]).mib_per_s,
        "Xfersize": (read.totals.bytes + write.totals.bytes) / moved if moved else None,
        **_cpu(interval),
    }
    for name in _ASKED:
        is_measured = bool(recorded[name]) or not _is_planned(interval.record, name)
        values[f"{name.capitalize()}_rate"] = sums[name].rate if is_measured else None
        values[f"{name.capitalize()}_resp"] = (sums[name].mean_ms or 0.0) if is_measured else None
    return values


def _cpu(interval: RunSpan) -> dict[str, float | None]:
    used, kernel = interval.cpu or (None, None)
    return {
        "cpu_used": used,
        "cpu_user": None if used is None or kernel is None else used - kernel,
        "cpu_kernel": kernel,
        "cpu_idle": None if used is None else 100 - used,
    }


def _of_kind(record: PhaseRecord, kind: str) -> list[tuple[str, str]]:
    return [(job.name, operation.name) for job, operation in record.moving(kind)]


def _named_values(record: PhaseRecord, name: str) -> list[tuple[str, str]]:
    return [(job.name, name) for job in record.phase.jobs if name in record.recorded(job.name)]


def _is_planned(record: PhaseRecord, name: str) -> bool:
    return any(op.name == name for job in record.phase.jobs for op in job_ops(job))


def _requested(record: PhaseRecord) -> list[list[tuple[str, str]]]:
    """The operations that workloads ask for, without the opens and closes that these need."""
    found = []
    for job in record.phase.jobs:
        names = list(dict.fromkeys(op.name for op in job_ops(job)))
        if "create" in names:
            names = ["create"]
        elif READ in names or WRITE in names:
            names = [name for name in names if name in (READ, WRITE)]
        recorded = record.recorded(job.name)
        found.append([(job.name, name) for name in names if name in recorded])
    return found


def columns_of(measured: MeasuredRun) -> tuple[Sequence[LineColumn], Callable[[RunSpan], dict[str, Any]]]:
    """Give the columns of a run, and what gives its values."""
    return (FILES, file_values) if measured.run.rd.fwds else (STORAGE, storage_values)
