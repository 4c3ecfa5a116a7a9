"""Write the clients of a run as plain tables: names, results, starts.

`clients` has a row a client, `clients_over_time` a row a client, result and interval on the set's clock, stalls included,
and `starts` a row a phase and client.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from assay.report.clients.own_recordings import OwnRecordings
from assay.results import ClientOfRun, Document, Result

CLIENTS = "clients"
CLIENTS_OVER_TIME = "clients_over_time"
STARTS = "starts"
_DIGITS = 6
_TEXT, _INT, _FLOAT = pl.String(), pl.Int64(), pl.Float64()
_OF_CLIENT: Mapping[str, tuple[pl.DataType, Callable[[ClientOfRun], Any]]] = {
    "client": (_TEXT, lambda client: client.name),
    "role": (_TEXT, lambda client: client.role),
    "hostname": (_TEXT, lambda client: client.hostname),
    "address": (_TEXT, lambda client: client.address),
    "clock_offset_ns": (_INT, lambda client: client.clock and client.clock.offset_ns),
    "clock_bound_ns": (_INT, lambda client: client.clock and client.clock.bound_ns),
    "clock_drift_ppm": (_FLOAT, lambda client: client.clock and client.clock.drift_ppm),
    "lost_s": (_FLOAT, lambda client: client.lost_s),
    "lost_reason": (_TEXT, lambda client: client.lost_reason),
    "is_complete": (pl.Boolean(), lambda client: client.is_complete),
}
_OVER_TIME: Mapping[str, pl.DataType] = {
    "run_id": _TEXT,
    "client": _TEXT,
    "label": _TEXT,
    "t_s": _FLOAT,
    "dt_s": _FLOAT,
    "ops": _INT,
    "bytes": _INT,
    "errors": _INT,
    "iops": _FLOAT,
    "bytes_per_s": _FLOAT,
}
_STARTS: Mapping[str, pl.DataType] = {
    "run_id": _TEXT,
    "phase": _TEXT,
    "repeat": _INT,
    "client": _TEXT,
    "late_ns": _INT,
    "bound_ns": _INT,
}
OF_CLIENTS: Mapping[str, Mapping[str, pl.DataType]] = {
    CLIENTS: {"run_id": _TEXT, **{name: kind for name, (kind, _) in _OF_CLIENT.items()}},
    CLIENTS_OVER_TIME: _OVER_TIME,
    STARTS: _STARTS,
}
"""Columns of each table, in order."""


def client_tables(recordings: OwnRecordings, document: Document) -> dict[str, pl.DataFrame]:
    """Make the tables, by name; none where one client measured."""
    if not document.clients:
        return {}
    run_id = document.run.id
    clients = [
        {"run_id": run_id, **{column: value(client) for column, (_, value) in _OF_CLIENT.items()}}
        for client in document.clients
    ]
    known = {client.name for client in document.clients}
    own = [result for result in document.results if result.client in known]
    over_time = [_over_time(recordings, run_id, result) for result in own]
    starts = [
        (run_id, start.phase, start.repeat, one.client, one.late_ns, one.bound_ns)
        for start in document.starts
        for one in start.starts
    ]
    return {
        CLIENTS: pl.DataFrame(clients, schema=dict(OF_CLIENTS[CLIENTS])),
        CLIENTS_OVER_TIME: pl.concat([pl.DataFrame(schema=dict(_OVER_TIME)), *over_time]),
        STARTS: pl.DataFrame(starts, schema=dict(_STARTS), orient="row"),
    }


def _over_time(recordings: OwnRecordings, run_id: str, result: Result) -> pl.DataFrame:
    timeline = recordings.of(result).timeline(result)
    if timeline is None:
        return pl.DataFrame(schema=dict(_OVER_TIME))
    dt_s = np.round(timeline.end_s - timeline.start_s, _DIGITS)
    columns: dict[str, Any] = {
        "run_id": [run_id] * len(dt_s),
        "client": [result.client] * len(dt_s),
        "label": [result.label] * len(dt_s),
        "t_s": np.round(timeline.end_s + recordings.later_s(result), _DIGITS),
        "dt_s": dt_s,
        "ops": timeline.ops,
        "bytes": timeline.bytes,
        "errors": timeline.errors,
        "iops": timeline.ops / dt_s,
        "bytes_per_s": timeline.bytes / dt_s,
    }
    return pl.DataFrame(columns, schema=dict(_OVER_TIME))
