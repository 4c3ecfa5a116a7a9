"""Find until when a run, or a stream, has data of a client, on the client's own clock: nanoseconds since its hello."""

from collections.abc import Iterable, Mapping

import polars as pl

from assay.bundle.run_bundle import RunBundle
from assay.bundle.tables import CLIENT, INTERVALS, Stream
from assay.events import Event, Hello

_NS_PER_S = 1e9


def known_until_ns(bundle: RunBundle) -> Mapping[str, int]:
    """Return it for each client of a run, sealed or not; raises BundleError."""
    latest = bundle.intervals().group_by(CLIENT).agg(pl.col("t_s").max())
    last_s = dict(latest.iter_rows())
    return {client: _until_ns(bundle.events(client), last_s.get(client)) for client in bundle.clients}


def stream_until_ns(stream: Stream) -> int:
    """Return it for a stream; 0: no data."""
    last_s = stream.tables[INTERVALS].select(pl.col("t_s").max()).item()
    return _until_ns(stream.events, last_s)


def _until_ns(recorded: Iterable[Event], last_s: float | None) -> int:
    return max(
        0, round((last_s or 0.0) * _NS_PER_S), *(event.t_ns for event in recorded if not isinstance(event, Hello))
    )
