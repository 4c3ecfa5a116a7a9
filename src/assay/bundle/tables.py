"""Convert the engine's stream to the tables of a bundle, whose columns `assay.bundle` describes.

A stream may end anywhere: the line that was being written when the engine was killed is left out, and its bytes are
counted. Anything else that is no event means that the file was changed or is of another version, and is refused: a
number from half a stream that looks whole would be a lie.

Lines are decoded one at a time and turned into columns in chunks, so that memory grows with the tables, not with JSON.
"""

import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import polars as pl

from assay.bundle.inside import open_inside
from assay.errors import BundleError
from assay.events import SCHEMA, Buckets, Event, Hello, Interval, decode
from assay.units import format_bytes

INTERVALS = "intervals"
HISTOGRAMS = "hist"
WORKERS = "workers"
HOST = "host"

CLIENT = "client"

# Counters are signed: differences of running totals must not wrap when a counter was reset.
OF_STREAM: Mapping[str, dict[str, pl.DataType]] = {
    INTERVALS: {
        "phase_index": pl.Int32(),
        "job": pl.String(),
        "operation": pl.String(),
        "t_s": pl.Float64(),
        "dt_s": pl.Float64(),
        "ops": pl.Int64(),
        "bytes": pl.Int64(),
        "errors": pl.Int64(),
        "latency_max_ns": pl.Int64(),
        "latency_sum_ns": pl.Int64(),
        "response_max_ns": pl.Int64(),
        "response_sum_ns": pl.Int64(),
    },
    HISTOGRAMS: {
        "phase_index": pl.Int32(),
        "job": pl.String(),
        "operation": pl.String(),
        "series": pl.String(),
        "t_s": pl.Float64(),
        "bucket": pl.UInt32(),
        "n": pl.Int64(),
    },
    WORKERS: {
        "phase_index": pl.Int32(),
        "t_s": pl.Float64(),
        "job": pl.String(),
        "worker": pl.Int32(),
        "ops": pl.Int64(),
        "bytes": pl.Int64(),
        "on_cpu_ns": pl.Int64(),
        "run_delay_ns": pl.Int64(),
        "block_delay_ns": pl.Int64(),
        "user_cpu_ns": pl.Int64(),
        "system_cpu_ns": pl.Int64(),
        "io_calls": pl.Int64(),
        "children_cpu_ns": pl.Int64(),
        "idle_ns": pl.Int64(),
    },
    HOST: {
        "phase_index": pl.Int32(),
        "t_s": pl.Float64(),
        "source": pl.String(),
        "instance": pl.String(),
        "name": pl.String(),
        "value": pl.Float64(),
    },
}

COLUMNS: Mapping[str, dict[str, pl.DataType]] = {
    name: {CLIENT: pl.String(), **columns} for name, columns in OF_STREAM.items()
}
"""The streams of all clients, each row with its client."""

ADDED_LATER: Mapping[str, frozenset[str]] = {WORKERS: frozenset({"idle_ns"})}
"""Columns that a table of this schema may be without, because the version that wrote it did not have them: they read as
null."""

_LISTS = {HISTOGRAMS: ("bucket", "n"), HOST: ("name", "value")}
"""Columns that arrive as one list a row and are spread over as many rows."""

_CHUNK_INTERVALS = 256
_NS_PER_S = 1e9


def join(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Put the tables of clients, by their names, into one; it begins with the column that names them."""
    named = (table.select(pl.lit(client).alias(CLIENT), pl.all()) for client, table in tables.items())
    return pl.concat(named, rechunk=True)


@dataclass(frozen=True)
class Stream:
    """Content of one stream."""

    hello: Hello | None
    events: tuple[Event, ...]
    """All but the intervals, in order."""
    tables: Mapping[str, pl.DataFrame]
    cut_bytes: int
    """Bytes at the end that are no whole line."""


def warm_up() -> None:
    """Make a table as a seal does, and let it go: a library that cannot start its threads fails now, by a panic."""
    _frame(INTERVALS, []).write_parquet(io.BytesIO())


LONGEST_LINE_BYTES = 64 << 20
"""Of a stream: a worker more makes an interval's line some hundred bytes longer."""


def read_stream(folder: Path, name: str) -> Stream:
    """Read a stream that may still grow or may have been cut; a missing file is an empty stream.

    Args:
        folder: The bundle.
        name: Of the stream in it.

    Raises:
        BundleError: a whole line is no event, the schema is another, or the file cannot be read.
    """
    path = folder / name
    try:
        with open_inside(folder, name) as lines:
            return _read(lines, path)
    except (OverflowError, TypeError, pl.exceptions.PolarsError) as error:
        raise BundleError(
            f"{path}: has a number that no run comes to ({str(error).splitlines()[0]}). {_CURE}"
        ) from error
    except FileNotFoundError:
        return Stream(hello=None, events=(), tables=_Tables().finish(), cut_bytes=0)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}. Check its permissions") from error


def read_stream_at(path: Path) -> Stream:
    """Read a stream by its path in a run; raises as `read_stream` does."""
    return read_stream(path.parent.parent, f"{path.parent.name}/{path.name}")


def _read(lines: BinaryIO, path: Path) -> Stream:
    events: list[Event] = []
    tables = _Tables()
    cut_bytes = 0
    for number, line in enumerate(_lines(lines, path), 1):
        try:
            event = decode(line)
        except msgspec.ValidationError as error:
            raise BundleError(f"{path}:{number}: is no line of {SCHEMA} ({error}). {_CURE}") from error
        except msgspec.DecodeError as error:
            cut_bytes = len(line) + _bytes_of_no_lines(_lines(lines, path), path, number, error)
            break
        if isinstance(event, Interval):
            tables.add(event, path, number)
            continue
        if isinstance(event, Hello) and event.schema != SCHEMA:
            raise BundleError(f"{path}: is a stream of {event.schema}; this Assay reads {SCHEMA}. {_CURE}")
        events.append(event)
    hello = events[0] if events and isinstance(events[0], Hello) else None
    return Stream(hello=hello, events=tuple(events), tables=tables.finish(), cut_bytes=cut_bytes)


def _lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Give the lines, each of a length that a line can have."""
    while line := stream.readline(LONGEST_LINE_BYTES):
        if len(line) == LONGEST_LINE_BYTES:
            raise BundleError(f"{path}: has a line of more than {format_bytes(LONGEST_LINE_BYTES)}. {_CURE}")
        yield line


_CURE = "The file was changed after it was written, or another version of Assay wrote it: restore it, or use that one"


def _bytes_of_no_lines(rest: Iterable[bytes], path: Path, number: int, cause: Exception) -> int:
    """Count what follows a line that is not JSON; after a crash that may be zeros, but never whole lines."""
    size_bytes = 0
    for line in rest:
        size_bytes += len(line)
        try:
            msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        raise BundleError(f"{path}:{number}: is not JSON ({cause}), yet whole lines follow. {_CURE}") from cause
    return size_bytes


class _Tables:
    """Collects the rows of intervals and makes tables of them."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in OF_STREAM}
        self._chunks: dict[str, list[pl.DataFrame]] = {name: [_frame(name, [])] for name in OF_STREAM}
        self._intervals = 0

    def add(self, interval: Interval, path: Path, number: int) -> None:
        """Take one interval in; raises BundleError on a histogram whose two lists do not match."""
        t_s = interval.t_ns / _NS_PER_S
        self._add_operations(interval, t_s, f"{path}:{number}")
        self._rows[WORKERS] += [
            (interval.phase_index, t_s, w.job, w.worker, w.ops, w.bytes, w.on_cpu_ns, w.run_delay_ns, w.block_delay_ns,
             w.user_cpu_ns, w.system_cpu_ns, w.io_calls, w.children_cpu_ns, w.idle_ns)
            for w in interval.workers
        ]  # fmt: skip
        self._rows[HOST] += [
            (interval.phase_index, t_s, source, instance, tuple(values), tuple(values.values()))
            for source, instance, values in _host_samples(interval)
            if values
        ]
        self._intervals += 1
        if self._intervals % _CHUNK_INTERVALS == 0:
            self._flush()

    def finish(self) -> Mapping[str, pl.DataFrame]:
        """Return all tables, empty ones too."""
        self._flush()
        return {name: pl.concat(chunks, rechunk=True) for name, chunks in self._chunks.items()}

    def _add_operations(self, interval: Interval, t_s: float, where: str) -> None:
        phase_index, dt_s = interval.phase_index, interval.dt_ns / _NS_PER_S
        for o in interval.operations:
            response = (o.response.max_ns, o.response.sum_ns) if o.response else (None, None)
            self._rows[INTERVALS].append((phase_index, o.job, o.operation, t_s, dt_s, o.ops, o.bytes, o.errors,
                                          o.latency.max_ns, o.latency.sum_ns, *response))  # fmt: skip
            for series, buckets in (("latency", o.latency), ("response", o.response)):
                if buckets and _is_filled(buckets, where):
                    self._rows[HISTOGRAMS].append(
                        (phase_index, o.job, o.operation, series, t_s, buckets.index, buckets.count)
                    )

    def _flush(self) -> None:
        for name, rows in self._rows.items():
            if rows:
                self._chunks[name].append(_frame(name, rows))
                rows.clear()


def _is_filled(buckets: Buckets, where: str) -> bool:
    if len(buckets.index) != len(buckets.count):
        raise BundleError(
            f"{where}: a histogram has {len(buckets.index)} buckets but {len(buckets.count)} counts. {_CURE}"
        )
    return bool(buckets.index)


def _host_samples(interval: Interval) -> Iterable[tuple[str, str, Mapping[str, float]]]:
    own = {
        "process_cpu_ns": interval.process_cpu_ns,
        "observer_cpu_ns": interval.observer_cpu_ns,
        "process_read_bytes": interval.process_read_bytes,
        "process_write_bytes": interval.process_write_bytes,
    }
    yield "process", "", {name: float(value) for name, value in own.items() if value is not None}
    for sample in interval.host:
        yield sample.source, sample.instance, sample.values


def _frame(name: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Make a table of rows, with one row for each element of those columns that hold lists."""
    kinds, lists = OF_STREAM[name], _LISTS.get(name, ())
    columns = dict(zip(kinds, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(kinds, ())
    table = pl.DataFrame([pl.Series(column, columns[column], kinds[column]) for column in kinds if column not in lists])
    if not lists:
        return table
    lengths = [len(values) for values in columns[lists[0]]]
    flat = [pl.Series(column, [*itertools.chain(*columns[column])], kinds[column]) for column in lists]
    return table[np.repeat(np.arange(len(rows)), lengths)].with_columns(flat).select(*kinds)
