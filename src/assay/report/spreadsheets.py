"""Write a run as plain tables for spreadsheets and data frames: results, series over time, and marks.

`results` has a row a result, `over_time` a row a result and interval of its phase, stalls included, `marks` a row a mark and
result, and `summaries`, where anything was measured twice, a row a result over its repeats. A run of several clients has
tables of these, too (`clients/client_sheets.py`). The columns are the same in CSV and in Parquet, units are in their names,
and what is not known is empty. Percentiles of an interval follow the rule of all percentiles: none where too few operations
are behind it.
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
from assay.analysis.set_views import sums_of
from assay.errors import InputError
from assay.outward import spreadsheet_text
from assay.report.clients.client_sheets import client_tables
from assay.report.clients.own_recordings import OwnRecordings
from assay.report.output import make_folder, write_whole
from assay.report.recording import Latencies, Recording, Timeline, in_window
from assay.results import Document, LatencyNs, MarkEffect, RepeatedNumber, Result, Summary
from assay.units import MIB

RESULTS = "results"
OVER_TIME = "over_time"
MARKS = "marks"
SUMMARIES = "summaries"
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
_SummaryColumn = tuple[pl.DataType, Callable[[Summary], Any]]
_OF_RESULT: Mapping[str, _Column] = {
    "label": (_TEXT, lambda result: result.label),
    "phase": (_TEXT, lambda result: result.phase),
    "repeat": (_INT, lambda result: result.repeat),
    "job": (_TEXT, lambda result: result.job),
    "operation": (_TEXT, lambda result: result.operation),
    "title": (_TEXT, lambda result: result.title),
    "target": (_TEXT, lambda result: result.target),
    "client": (_TEXT, lambda result: result.client),
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
    "cache_hit_ratio_of": (_TEXT, lambda result: result.cache.hit_ratio_of),
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
_STRETCHES = ("before", "during", "after")
_OF_LEVEL = ("begin_s", "end_s", "iops", "iops_low", "iops_high", "throughput_mib_per_s", "p50_ns", "p99_ns")
_OF_MARK: Mapping[str, pl.DataType] = {
    "run_id": _TEXT,
    "number": _INT,
    "t_s": _FLOAT,
    "phase": _TEXT,
    "repeat": _INT,
    "phase_s": _FLOAT,
    "mark": _TEXT,
    "source": _TEXT,
    "label": _TEXT,
    **{f"{stretch}_{name}": _FLOAT for stretch in _STRETCHES for name in _OF_LEVEL},
    "during_change": _FLOAT,
    "after_change": _FLOAT,
    "recovery": _TEXT,
    "recovery_s": _FLOAT,
    "recovery_within_s": _FLOAT,
}


def _ends(column: str, of: Callable[[Summary], RepeatedNumber | None]) -> dict[str, _SummaryColumn]:
    """Build the columns of a number: typical value and ends of its interval; `{}` in the name is replaced by the end."""
    scale = MIB if column.endswith("mib_per_s") else 1

    def value(summary: Summary) -> float | None:
        number = of(summary)
        return None if number is None or number.value is None else number.value / scale

    def end(place: int) -> Callable[[Summary], float | None]:
        def found(summary: Summary) -> float | None:
            number = of(summary)
            return None if number is None or number.interval is None else number.interval[place] / scale

        return found

    return {
        column.format(""): (_FLOAT, value),
        column.format("_low"): (_FLOAT, end(0)),
        column.format("_high"): (_FLOAT, end(1)),
    }


_OF_SUMMARY: Mapping[str, _SummaryColumn] = {
    "label": (_TEXT, lambda summary: summary.label),
    "phase": (_TEXT, lambda summary: summary.phase),
    "job": (_TEXT, lambda summary: summary.job),
    "operation": (_TEXT, lambda summary: summary.operation),
    "title": (_TEXT, lambda summary: summary.title),
    "repeats": (_INT, lambda summary: len(summary.repeats)),
    "counted": (_INT, lambda summary: len(summary.counted)),
    "method": (_TEXT, lambda summary: summary.iops.method),
    **_ends("iops{}", lambda summary: summary.iops),
    "iops_least": (_FLOAT, lambda summary: summary.iops.range and summary.iops.range[0]),
    "iops_largest": (_FLOAT, lambda summary: summary.iops.range and summary.iops.range[1]),
    "iops_variation": (_FLOAT, lambda summary: summary.iops.variation),
    **_ends("throughput{}_mib_per_s", lambda summary: summary.throughput_bytes_per_s),
    **_ends("p50{}_ns", lambda summary: summary.p50_ns),
    **_ends("p99{}_ns", lambda summary: summary.p99_ns),
    "is_with_flush": (pl.Boolean(), lambda summary: summary.is_with_flush),
    "is_response": (pl.Boolean(), lambda summary: summary.is_response),
    "drift": (_FLOAT, lambda summary: summary.drift),
    "measures": (_TEXT, lambda summary: "; ".join(summary.measures)),
    "trust": (_TEXT, lambda summary: summary.trust.level.value),
    "trust_reasons": (_TEXT, lambda summary: "; ".join(reason.text for reason in summary.trust.reasons)),
    "remarks": (
        _TEXT,
        lambda summary: "; ".join(
            f"repeat {remark.repeat + 1} {remark.kind.replace('_', ' ')}: {remark.text}" for remark in summary.remarks
        ),
    ),
}
SCHEMAS: Mapping[str, Mapping[str, pl.DataType]] = {
    RESULTS: {**_OF_RUN, **{name: kind for name, (kind, _) in _OF_RESULT.items()}},
    OVER_TIME: _OF_INTERVAL,
    MARKS: _OF_MARK,
}
"""Columns of each table, in order."""
OF_REPEATS: Mapping[str, pl.DataType] = {**_OF_RUN, **{name: kind for name, (kind, _) in _OF_SUMMARY.items()}}
"""The same of the table of a run with repeats."""


def tables(run: RunRecord, document: Document) -> dict[str, pl.DataFrame]:
    """Make the tables of a run, by name; that of summaries only where anything was measured twice.

    Of several clients `over_time` has the sums, and there are the tables of `clients/client_sheets.py`.
    """
    recordings = OwnRecordings(run, document.marks)
    # A foreign run has nothing over time; what each of several clients did has a table of its own.
    results = () if run.original is not None else sums_of(document).results
    of_intervals = [over_time_table(recordings.of(result), run.run_id, result) for result in results]
    made = {
        RESULTS: results_table(document),
        OVER_TIME: pl.concat([pl.DataFrame(schema=dict(_OF_INTERVAL)), *of_intervals]),
        MARKS: _marks(document),
    }
    if document.summaries:
        made[SUMMARIES] = _rows(document, OF_REPEATS, _OF_SUMMARY, document.summaries)
    return made | client_tables(recordings, document)


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
        files = ", ".join(f"{name}.{ending}" for name in made)
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


def results_table(document: Document) -> pl.DataFrame:
    """Make the table of the results."""
    return _rows(document, SCHEMAS[RESULTS], _OF_RESULT, document.results)


def _rows(
    document: Document,
    schema: Mapping[str, pl.DataType],
    columns: Mapping[str, tuple[pl.DataType, Callable[[Any], Any]]],
    each: Sequence[object],
) -> pl.DataFrame:
    run = document.run
    of_run = {"run_id": run.id, "run_name": run.name, "started_utc": run.started_utc}
    rows = [{**of_run, **{column: value(one) for column, (_, value) in columns.items()}} for one in each]
    return pl.DataFrame(rows, schema=dict(schema))


def _marks(document: Document) -> pl.DataFrame:
    rows = []
    for mark in document.marks:
        head = {
            "run_id": document.run.id,
            "number": mark.number,
            "t_s": mark.t_s,
            "phase": mark.phase,
            "repeat": mark.repeat,
            "phase_s": mark.phase_s,
            "mark": mark.label,
            "source": mark.source,
        }
        rows += [{**head, **_effect(effect)} for effect in mark.effects] or [head]
    return pl.DataFrame(rows, schema=dict(_OF_MARK))


def _effect(effect: MarkEffect) -> dict[str, Any]:
    columns: dict[str, Any] = {"label": effect.result}
    for stretch, level in zip(_STRETCHES, (effect.before, effect.during, effect.after), strict=True):
        if level is None:
            continue
        ends = level.iops_interval or (None, None)
        values = (*level.window_s, level.iops, *ends, _mib(level.throughput_bytes_per_s), level.p50_ns, level.p99_ns)
        columns |= {f"{stretch}_{name}": value for name, value in zip(_OF_LEVEL, values, strict=True)}
    for stretch, changes in (("during", effect.during_changes), ("after", effect.after_changes)):
        columns[f"{stretch}_change"] = changes.iops and changes.iops.share
    if effect.recovery is not None:
        columns["recovery"] = effect.recovery.verdict.value
        columns["recovery_s"], columns["recovery_within_s"] = effect.recovery.seconds, effect.recovery.within_s
    return columns


def over_time_table(recording: Recording, run_id: str, result: Result) -> pl.DataFrame:
    """Make the rows of one result over time; none where nothing was recorded of it."""
    timeline = recording.timeline(result)
    if timeline is None or result.window_s is None:
        return pl.DataFrame(schema=dict(_OF_INTERVAL))
    dt_s = np.round(timeline.end_s - timeline.start_s, _DIGITS)
    columns: dict[str, Any] = {
        "run_id": [run_id] * len(dt_s),
        "label": [result.label] * len(dt_s),
        "t_s": timeline.end_s,
        "dt_s": dt_s,
        "is_in_window": in_window(timeline.start_s, timeline.end_s, result.window_s),
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
