"""Prometheus: answers of `/api/v1/query_range` with the counters of disks that node_exporter has.

Series are joined by their instance and device. Answers of a counter each, or of a time each, can follow one another
in a file, in a list, or in files of their own.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from assay.captures.counters import Count, CounterRates
from assay.captures.cut_json import text_of
from assay.captures.decimal_text import parse_number
from assay.captures.linux_devices import layer_of
from assay.captures.match import Match
from assay.captures.samples import SampleRows
from assay.captures.stated_facts import Asked

NAME: Final = "Prometheus query_range"
_COUNTERS: Final = {
    "node_disk_reads_completed_total": Count.READS,
    "node_disk_writes_completed_total": Count.WRITES,
    "node_disk_read_bytes_total": Count.READ_BYTES,
    "node_disk_written_bytes_total": Count.WRITTEN_BYTES,
    "node_disk_read_time_seconds_total": Count.READ_TIME,
    "node_disk_write_time_seconds_total": Count.WRITE_TIME,
    "node_disk_io_time_seconds_total": Count.BUSY_TIME,
    "node_disk_io_time_weighted_seconds_total": Count.WEIGHTED_TIME,
}
_NEXT_DOCUMENT = re.compile(r'(?<=\})\s*(?=\{\s*"status")')


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"[]")


class _Data(msgspec.Struct):
    result_type: str = msgspec.field(name="resultType", default="")
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _Answer(msgspec.Struct):
    status: str = ""
    error: str = ""
    data: _Data = msgspec.field(default_factory=_Data)


_Points = dict[Count, dict[float, float]]


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the keys of an answer."""
    begin = "".join(head[:1])[:1000].lstrip()
    if not begin.startswith(("{", "[")) or not any('"resultType"' in line for line in head):
        return None
    return Match.CERTAIN


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the rates between the points of all series."""
    del asked
    read_joined([lines], rows)


def read_joined(files: Iterable[Iterable[str]], rows: SampleRows) -> None:
    """Add the rates between the points of all series of several files: of a counter each, or of a time each.

    Raises:
        ValueError: One has no series of counters.
    """
    devices: dict[tuple[str, str], _Points] = {}
    try:
        for lines in files:
            for answer in _answers(text_of(lines, rows.source)):
                if answer.status != "success":
                    raise ValueError(f"the query failed: {answer.error[:100] or 'it has no status'}")
                if answer.data.result_type != "matrix":
                    raise ValueError("it is no answer of query_range, which has a series of values (resultType matrix)")
                for series in msgspec.json.decode(answer.data.result, type=list[_Series]):
                    _keep(series, devices, rows)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    found = CounterRates(rows)
    for (host, device), points in devices.items():
        for time_s in sorted({time_s for of_count in points.values() for time_s in of_count}):
            counts = {count: of_count[time_s] for count, of_count in points.items() if time_s in of_count}
            found.take(host, device, layer_of(device), time_s, counts)
    found.close()


def _answers(text: str) -> list[_Answer]:
    if text.lstrip().startswith("["):
        return msgspec.json.decode(text, type=list[_Answer])
    return [msgspec.json.decode(part, type=_Answer) for part in _NEXT_DOCUMENT.split(text)]


def _keep(series: _Series, devices: dict[tuple[str, str], _Points], rows: SampleRows) -> None:
    name, device = series.metric.get("__name__"), series.metric.get("device")
    count = _COUNTERS.get(name or "")
    if name is None:
        raise ValueError("a series has no name: query the counters themselves, without rate() or sum()")
    if count is None or device is None:
        rows.note(f"series that are no counters of disks are left out, such as {name[:80]}")
        return
    points = devices.setdefault((series.metric.get("instance", ""), device), {})
    found = _points_of(series.values)
    before = points.setdefault(count, found)
    if any(before.setdefault(time_s, value) != value for time_s, value in found.items()):
        rows.note(f"{name} of {device} has two values at a time (two jobs?): the first is read")


def _points_of(raw: msgspec.Raw) -> dict[float, float]:
    found = {}
    for time_s, value in msgspec.json.decode(raw, type=list[tuple[float, str]]):
        if value not in {"NaN", "+Inf", "-Inf"}:
            found[time_s] = parse_number(value)
    return found
