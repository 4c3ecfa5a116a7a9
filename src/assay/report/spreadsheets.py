"""A run as two plain tables, for spreadsheets and data frames: its results, and their rates and latencies over time.

`results` has a row a result, `over_time` a row a result and interval of its phase, stalls included. The columns are the same
in CSV and in Parquet, units are in their names, and what is not known is empty. Percentiles of an interval follow the rule
of all percentiles: none where too few operations are behind it.
"""

import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.analysis.histogram import QUANTILES, quantiles_ns
from assay.analysis.record import RunRecord
from assay.errors import InputError
from assay.outward import spreadsheet_text
from assay.report.output import make_folder, write_whole
from assay.report.recording import Latencies, Recording, Timeline
from assay.results import Document, LatencyNs, Result
from assay.units import MIB

RESULTS = "results"
OVER_TIME = "over_time"
_DIGITS = 6
"""Of seconds: the grid of intervals is to the microsecond."""
_SERIES = ("latency", "response")
_PERCENTILES = (QUANTILES["p50"], QUANTILES["p99"])
_TEXT, _INT, _FLOAT = pl.String(), pl.Int64(), pl.Float64()


def _mib(bytes_per_s: float | None) -> float | None:
    return None if bytes_per_s is None else bytes_per_s / MIB


def _latency(series: str, name: str) -> Callable[[Result], float | None]:
    """Give what reads one figure of a result's latencies; of response times a closed loop has none."""

    def value(result: Result) -> float | None:
        found: LatencyNs | None = getattr(result, f"{series}_ns")
        return None if found is None else getattr(found, name)

    return value


_Column = tuple[pl.DataType, Callable[[Result], Any]]
_OF_RESULT: Mapping[str, _Column] = {
    "label": (_TEXT, lambda result: result.label),
    "phase": (_TEXT, lambda result: result.phase),
    "repeat": (_INT, lambda result: result.repeat),
    "job": (_TEXT, lambda result: result.job),
    "operation": (_TEXT, lambda result: result.operation),
    "title": (_TEXT, lambda result: result.title),
    "target": (_TEXT, lambda result: result.target),
    "workers": (_INT, lambda result: result.workers),
    "queue_depth": (_INT, lambda result: result.queue_depth),
    "window_begin_s": (_FLOAT, lambda result: result.window_s and result.window_s[0]),
    "window_end_s": (_FLOAT, lambda result: result.window_s and result.window_s[1]),
    "ops": (_INT, lambda result: result.ops),
    "bytes": (_INT, lambda result: result.bytes),
    "errors": (_INT, lambda result: result.errors),
    "iops": (_FLOAT, lambda result: result.iops),
    "iops_low": (_FLOAT, lambda result: result.iops_interval and result.iops_interval.low),
    "iops_high": (_FLOAT, lambda result: result.iops_interval and result.iops_interval.high),
    "throughput_mib_per_s": (_FLOAT, lambda result: _mib(result.throughput_bytes_per_s)),
    "committed_iops": (_FLOAT, lambda result: result.committed and result.committed.iops),
    "committed_mib_per_s": (
        _FLOAT,
        lambda result: result.committed and _mib(result.committed.throughput_bytes_per_s),
    ),
    **{
        f"{series}_{name}_ns": (_FLOAT, _latency(series, name))
        for series in _SERIES
        for name in LatencyNs.__struct_fields__
    },
    "measures": (_TEXT, lambda result: result.measures.value),
    "limiter": (_TEXT, lambda result: result.limiter and result.limiter.verdict.value),
    "limiter_confidence": (_TEXT, lambda result: result.limiter and result.limiter.confidence.value),
    "cache_hit_ratio": (_FLOAT, lambda result: result.cache.hit_ratio),
    "cpu_ns_per_op": (_FLOAT, lambda result: result.cpu_ns_per_op),
    "trust": (_TEXT, lambda result: result.trust.level.value),
    "trust_reasons": (_TEXT, lambda result: "; ".join(reason.text for reason in result.trust.reasons)),
}
_OF_RUN: Mapping[str, pl.DataType] = {"run_id": _TEXT, "run_name": _TEXT, "started_utc": _TEXT}
_OF_INTERVAL: Mapping[str, pl.DataType] = {
    "run_id": _TEXT,
    "label": _TEXT,
    "t_s": _FLOAT,
    "dt_s": _FLOAT,
    "is_in_window": pl.Boolean(),
    "ops": _INT,
    "bytes": _INT,
    "errors": _INT,
    "iops": _FLOAT,
    "bytes_per_s": _FLOAT,
    **{f"{series}_{name}_ns": _FLOAT for series in _SERIES for name in ("p50", "p99", "max")},
}
SCHEMAS: Mapping[str, Mapping[str, pl.DataType]] = {
    RESULTS: {**_OF_RUN, **{name: kind for name, (kind, _) in _OF_RESULT.items()}},
    OVER_TIME: _OF_INTERVAL,
}
"""Columns of each table, in order."""


def tables(run: RunRecord, document: Document) -> dict[str, pl.DataFrame]:
    """Make both tables of a run, by name."""
    recording = Recording(run)
    # A foreign run has nothing over time.
    of_intervals = (
        [] if run.original is not None else [_over_time(recording, run.run_id, result) for result in document.results]
    )
    return {
        RESULTS: _results(document),
        OVER_TIME: pl.concat([pl.DataFrame(schema=dict(_OF_INTERVAL)), *of_intervals]),
    }


def write_csv(made: Mapping[str, pl.DataFrame], folder: Path) -> list[Path]:
    """Write tables as CSV into a folder, made if need be, and give the paths; no text is a formula to a spreadsheet.

    Raises:
        InputError: the folder is a file, or lies inside a run bundle.
        RunError: a file cannot be written.
    """
    return _write(made, folder, "csv", _csv)


def write_parquet(made: Mapping[str, pl.DataFrame], folder: Path) -> list[Path]:
    """Write tables as Parquet; as for `write_csv`, with every text as it is."""
    return _write(made, folder, "parquet", _parquet)


def _write(
    made: Mapping[str, pl.DataFrame], folder: Path, ending: str, encode: Callable[[pl.DataFrame], bytes]
) -> list[Path]:
    if folder.suffix == f".{ending}":
        files = " and ".join(f"{name}.{ending}" for name in SCHEMAS)
        raise InputError(
            f"export: '{folder}' is to be a folder: {files} are written into it. Name one, such as '{folder.stem}'"
        )
    make_folder(folder)
    return [write_whole(folder / f"{name}.{ending}", encode(table)) for name, table in made.items()]


def _csv(table: pl.DataFrame) -> bytes:
    safe = [
        pl.Series(name, [None if text is None else spreadsheet_text(text) for text in table[name]], pl.String())
        for name, kind in table.schema.items()
        if kind == pl.String()
    ]
    return table.with_columns(safe).write_csv().encode()


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _results(document: Document) -> pl.DataFrame:
    run = document.run
    of_run = {"run_id": run.id, "run_name": run.name, "started_utc": run.started_utc}
    rows = [
        {**of_run, **{name: value(result) for name, (_, value) in _OF_RESULT.items()}} for result in document.results
    ]
    return pl.DataFrame(rows, schema=dict(SCHEMAS[RESULTS]))


def _over_time(recording: Recording, run_id: str, result: Result) -> pl.DataFrame:
    timeline = recording.timeline(result)
    if timeline is None or result.window_s is None:
        return pl.DataFrame(schema=dict(_OF_INTERVAL))
    begin_s, end_s = result.window_s
    dt_s = np.round(timeline.end_s - timeline.start_s, _DIGITS)
    middle_s = (timeline.start_s + timeline.end_s) / 2
    columns: dict[str, Any] = {
        "run_id": [run_id] * len(dt_s),
        "label": [result.label] * len(dt_s),
        "t_s": timeline.end_s,
        "dt_s": dt_s,
        "is_in_window": (middle_s >= begin_s) & (middle_s <= end_s),
        "ops": timeline.ops,
        "bytes": timeline.bytes,
        "errors": timeline.errors,
        "iops": timeline.ops / dt_s,
        "bytes_per_s": timeline.bytes / dt_s,
    }
    for series in _SERIES:
        found = list(_percentiles(timeline, recording.latencies(result, series)))
        columns |= {f"{series}_{name}_ns": [row[i] for row in found] for i, name in enumerate(("p50", "p99", "max"))}
    return pl.DataFrame(columns, schema=dict(_OF_INTERVAL))


def _percentiles(timeline: Timeline, latencies: Latencies | None) -> Iterator[Sequence[float | None]]:
    """Give p50, p99 and the largest of each interval; the largest is the end of its bucket, at most 0.1 % too much."""
    nothing = (None, None, None)
    if latencies is None:
        yield from (nothing for _ in timeline.end_s)
        return
    order = np.argsort(latencies.interval, kind="stable")
    value_ns, width_ns, count = latencies.value_ns[order], latencies.width_ns[order], latencies.count[order]
    begins = np.searchsorted(latencies.interval[order], np.arange(len(timeline.end_s) + 1))
    for begin, end in itertools.pairwise(begins.tolist()):
        if begin == end:
            yield nothing
            continue
        p50, p99 = quantiles_ns(value_ns[begin:end], count[begin:end], _PERCENTILES)
        yield p50, p99, float((value_ns[begin:end] + (width_ns[begin:end] - 1) / 2).max())
