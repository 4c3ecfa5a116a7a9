"""Read the tables and events of an untrusted bundle: only content that a run can have is passed on."""

import contextlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

import polars as pl

from assay.bundle.parquet_pages import Unpacked, unpacked
from assay.bundle.strict_json import decode
from assay.bundle.tables import ADDED_LATER, COLUMNS, HISTOGRAMS, HOST, INTERVALS, WORKERS
from assay.events import Event
from assay.host.machine import ram_bytes
from assay.units import MIB, format_bytes

SMALL_BYTES: Final = 256 * MIB
MOST_UNPACKED: Final = 4096
"""A table may unpack to this many times its file, and to `SMALL_BYTES` in any case. Buckets that hold the same in every
interval of 100 clients unpack to 2,000 times their file; one row again and again, to 4,600 times."""
LARGEST_BYTES: Final = 1 << 38
"""No table is read that unpacks to more than 256 GiB: that takes minutes, whatever the memory."""
MOST_OF_RAM: Final = 4
"""What is unpacked at once takes at most this part of the machine's memory: working on it takes as much again."""
BUCKETS: Final = 34 * 1024
"""Buckets from 1 ns to 1 h."""
LONGEST_S: Final = 1e9
"""Thirty years: a time that is no mistake."""

_MAY_BE_NULL: Final[Mapping[str, frozenset[str]]] = {
    INTERVALS: frozenset({"response_max_ns", "response_sum_ns"}),
    HISTOGRAMS: frozenset(),
    WORKERS: frozenset(
        {"on_cpu_ns", "run_delay_ns", "block_delay_ns", "user_cpu_ns", "system_cpu_ns", "io_calls", "idle_ns"}
    ),
    HOST: frozenset(),
}
_COUNTS: Final = frozenset({"ops", "bytes", "errors", "n", "worker", "latency_max_ns", "latency_sum_ns"})


class TooLargeError(ValueError):
    """A table that nothing is wrong with takes more memory than this machine has."""


def check_table(data: bytes, name: str) -> Unpacked:
    """Work out what a table is in memory, before anything of it is unpacked.

    Raises:
        TooLargeError: this machine cannot unpack a part of it.
        ValueError: it is not that table, or none that a run has.
    """
    found = unpacked(data, COLUMNS[name], ADDED_LATER.get(name, frozenset()))
    if found.bytes > max(SMALL_BYTES, MOST_UNPACKED * len(data)):
        raise ValueError(f"{format_bytes(len(data))} would unpack to {format_bytes(found.bytes)}, which no run does")
    if found.bytes > LARGEST_BYTES:
        raise TooLargeError(
            f"is too large: it would unpack to {format_bytes(found.bytes)}, and at most {format_bytes(LARGEST_BYTES)} are"
            " read; split what is measured into several runs"
        )
    refuse_above_memory(found.group_bytes, "one part of this table takes")
    return found


def refuse_above_memory(needed_bytes: int, what: str) -> None:
    """Raise TooLargeError where something takes more than its part of this machine's memory."""
    if needed_bytes > ram_bytes() // MOST_OF_RAM:
        raise TooLargeError(
            f"is too large for this machine: {what} {format_bytes(needed_bytes)} of memory; open the run on a machine with"
            f" {format_bytes(needed_bytes * MOST_OF_RAM)}"
        )


def read_part(data: bytes, name: str, first: int, count: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read rows of a table that was checked; raises ValueError where it is none."""
    kinds = COLUMNS[name] if columns is None else {column: COLUMNS[name][column] for column in columns}
    try:
        with _panics_unprinted():
            scan = pl.scan_parquet(io.BytesIO(data), use_statistics=False)
            later = ADDED_LATER.get(name, frozenset()).intersection(kinds)
            missing = later.difference(scan.collect_schema().names()) if later else ()
            lacking = [pl.lit(None, kinds[column]).alias(column) for column in missing]
            table = scan.slice(first, count).with_columns(lacking).select(*kinds).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(str(error).partition("\n")[0]) from error
    if table.schema != pl.Schema(kinds):
        raise ValueError("it has other columns than a run has")
    if table.height != count:
        raise ValueError("it has fewer rows than its footer says")
    return table


def read_table(data: bytes, name: str) -> pl.DataFrame:
    """Read a whole table; raises as `check_table` does, and TooLargeError where all of it is more than a part of memory."""
    found = check_table(data, name)
    refuse_above_memory(found.bytes, "all of this table takes")
    return read_part(data, name, 0, found.rows)


@contextlib.contextmanager
def _panics_unprinted() -> Iterator[None]:
    """Let the reader's threads print nothing: where a page is broken they panic, with traces, before the exception comes."""
    try:
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:  # there is no standard error
        yield
        return
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def check_rows(table: pl.DataFrame, name: str, phases: int) -> pl.DataFrame:
    """Return a table whose rows a run of `phases` phases can have; raises ValueError."""
    for column in table.columns:
        values = table[column]
        if column not in _MAY_BE_NULL[name] and values.null_count():
            raise ValueError(f"'{column}' is unknown in a row")
        least, most = _range(column, phases)
        if values.dtype.is_numeric() and values.len() > values.null_count():
            smallest, largest = (float(cast("float", one)) for one in (values.min(), values.max()))
            if values.dtype.is_float() and not values.is_finite().all():
                raise ValueError(f"'{column}' is no number in a row")
            if not least <= smallest <= largest <= most:
                raise ValueError(f"'{column}' goes from {smallest:.0f} to {largest:.0f}")
    return table


def _range(column: str, phases: int) -> tuple[float, float]:
    """Least and most that a column may hold."""
    unlimited = float("inf")
    match column:
        case "phase_index":
            return 0, phases - 1
        case "t_s" | "dt_s":
            return 0, LONGEST_S
        case "bucket":
            return 0, BUCKETS - 1
    return (0 if column in _COUNTS else -unlimited), unlimited


def read_events(data: bytes) -> list[Event]:
    """Read the events of a client; raises ValueError."""
    return decode(data, list[Event])


def check_events(events: Iterable[Event], phases: int) -> None:
    """Check that events can be of a run of `phases` phases; raises ValueError."""
    for event in events:
        index = getattr(event, "phase_index", None)
        if index is not None and not 0 <= index < phases:
            raise ValueError(f"an event is of phase {index}, and the Plan has {phases}")
        t_ns = getattr(event, "t_ns", 0)
        if not 0 <= t_ns < LONGEST_S * 1e9:
            raise ValueError(f"an event is at {t_ns} ns")
