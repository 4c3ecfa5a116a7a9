"""pmrep of PCP: CSV with a column for each metric and instance (`disk.dev.read-sda`).

Rates of bytes are in KiB/s, times in ms/s, as pmrep prints them where no other scale is asked for. The first row is empty:
rates need two samples.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.clock import Clock
from assay.captures.decimal_text import parse_number
from assay.captures.linux_devices import layer_of
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.captures.sysstat_columns import ALL_DEVICES, KIB

NAME: Final = "pmrep CSV"
_HEAD = re.compile(r'"?Time"?([,;\t])"?[a-z]\w*\.')
_COLUMN = re.compile(r"disk\.(dev|dm|md|partitions|all)\.([a-z_]+)(?:-(.+))?", re.ASCII)
_MS: Final = 1e-3
_FIELDS: Final = {
    "read": ("read_iops", 1.0),
    "write": ("write_iops", 1.0),
    "total": ("iops", 1.0),
    "read_bytes": ("read_bytes_per_s", KIB),
    "write_bytes": ("write_bytes_per_s", KIB),
    "total_bytes": ("bytes_per_s", KIB),
    "r_await": ("read_latency_s", _MS),
    "w_await": ("write_latency_s", _MS),
    "await": ("latency_s", _MS),
    "avg_qlen": ("queue_depth", 1.0),
    "aveq": ("queue_depth", _MS),
    "avactive": ("utilisation", _MS),
}
_TIMES: Final = {"read_rawactive": "read", "write_rawactive": "write"}
"""Time of all requests, in ms/s, by whose rate it is divided for their latency."""
_Column = tuple[str, Layer, str]
"""Device, layer, metric."""


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its first two columns."""
    return Match.CERTAIN if any(_HEAD.match(line) for line in head[:5]) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all rows."""
    table: _Rows | None = None
    for line in whole_lines(lines, rows.note):
        if (head := _HEAD.match(line)) is not None:
            table = _Rows(line, head[1], asked, rows)
        elif table is not None and line.strip():
            table.take(line)
    if table is not None and table.unread:
        rows.note(f"rows that are cut off or have no time are left out: {table.unread}")


class _Rows:
    """Reads row by row, and keeps the time of the row before."""

    def __init__(self, head: str, delimiter: str, asked: Asked, rows: SampleRows) -> None:
        self.unread = 0
        self._delimiter = delimiter
        self._rows = rows
        self._clock = Clock(asked, rows.note)
        names = next(csv.reader([head], delimiter=delimiter))
        self._cells = len(names)
        self._columns = {number: found for number, name in enumerate(names) if (found := _column_of(name)) is not None}
        self._before_s: float | None = None
        if not self._columns:
            raise ValueError("it has no metrics of disks (disk.dev.read and others)")
        rows.note("pmrep is taken to print KiB/s and ms/s, as it does without options of scale")

    def take(self, line: str) -> None:
        """Take a row."""
        cells = next(csv.reader([line], delimiter=self._delimiter), [])
        try:
            if len(cells) != self._cells:
                raise ValueError("a row is cut off")  # noqa: TRY301 - as one that has no time
            end_s = self._clock.read(cells[0])
        except ValueError:
            self.unread += 1
            return
        before_s, self._before_s = self._before_s, end_s
        if before_s is None:
            if any(cells[number].strip() for number in self._columns):
                self._rows.note("the first row is left out: its interval is unknown")
            return
        of_devices: dict[tuple[str, Layer], dict[str, float]] = {}
        for number, (device, layer, metric) in self._columns.items():
            if cells[number].strip():
                try:
                    of_devices.setdefault((device, layer), {})[metric] = parse_number(cells[number].strip())
                except ValueError:
                    self._rows.note("values that are no numbers are left out")
        for (device, layer), values in of_devices.items():
            try:
                self._rows.add("", device, layer, _sample_of(values, end_s, end_s - before_s))
            except ValueError:
                self.unread += 1


def _column_of(name: str) -> _Column | None:
    match = _COLUMN.fullmatch(name.strip())
    if match is None or match[2] not in {*_FIELDS, *_TIMES}:
        return None
    if match[1] == "all":
        return ALL_DEVICES, Layer.SYSTEM, match[2]
    if match[3] is None:
        return None
    layers = {"dm": Layer.MAPPED, "md": Layer.MAPPED, "partitions": Layer.PARTITION}
    return match[3], layers.get(match[1]) or layer_of(match[3]), match[2]


def _sample_of(values: dict[str, float], end_s: float, seconds: float) -> DeviceSample:
    sample = DeviceSample(end_s, seconds)
    for metric, value in values.items():
        if metric in _FIELDS:
            name, unit = _FIELDS[metric]
            setattr(sample, name, value * unit)
    for metric, of_rate in _TIMES.items():
        if metric in values and values.get(of_rate):
            setattr(sample, f"{of_rate}_latency_s", values[metric] * _MS / values[of_rate])
    return sample
