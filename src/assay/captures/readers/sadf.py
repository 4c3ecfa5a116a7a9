"""sadf of sysstat: tables with semicolons (`sadf -d -- -d -b`), all devices by `-d` and the system in one by `-b`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.clock import Clock
from assay.captures.decimal_text import parse_number
from assay.captures.linux_devices import is_vague, layer_of
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.captures.sysstat_columns import ALL_DEVICES, DISCARDS_COUNTED, DISK_FIELDS, IO_FIELDS, counts_discards, fill

NAME: Final = "sadf -d"
_HEAD = re.compile(r"#\s?hostname;interval;timestamp;")
_FIRST: Final = 3
"""Columns before those of the activity: host, interval, time."""
_EPOCH = re.compile(r"\d{9,11}", re.ASCII)


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its first three columns."""
    return Match.CERTAIN if any(_HEAD.match(line) for line in head) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all lines."""
    table = _Table(asked, rows)
    for line in whole_lines(lines, rows.note):
        table.take(line)
    if table.unread:
        rows.note(f"lines that are cut off or of another program are left out: {table.unread}")


class _Table:
    """Reads line by line, and keeps the columns of the activity."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self.unread = 0
        self._rows = rows
        self._clock = Clock(asked, rows.note)
        self._columns: list[str] = []
        self._host = ""
        self._time = ("", 0.0)

    def take(self, line: str) -> None:
        """Take the next line of the file."""
        if line.startswith("#"):
            head = line.lstrip("# ").split(";")
            self._columns = head[_FIRST:] if _HEAD.match(line) else []
            if "bread/s" not in self._columns and "DEV" not in self._columns:
                self._columns = []
            self._clock.restart()
            return
        host, *words = line.split(";")
        if not self._columns or len(words) < _FIRST:
            self.unread += bool(self._columns and line)
            return
        if "LINUX-RESTART" in words[2] or words[2].startswith("COM"):
            return
        try:
            self._take_row(host, words)
        except ValueError:
            self.unread += 1

    def _take_row(self, host: str, words: Sequence[str]) -> None:
        if host != self._host:
            self._clock.restart()
            self._host = host
        if words[1] != self._time[0]:
            self._time = words[1], self._end_s(words[1])
        columns, values = self._columns, words[_FIRST - 1 :]
        sample = DeviceSample(self._time[1], parse_number(words[0]))
        if "DEV" not in columns:
            self._rows.add(host, ALL_DEVICES, Layer.SYSTEM, fill(sample, columns, values, IO_FIELDS))
            return
        fill(sample, columns, values, DISK_FIELDS)
        device = values[columns.index("DEV")]
        if counts_discards(columns, values):
            self._rows.note(DISCARDS_COUNTED)
        if is_vague(device):
            self._rows.note(f"{device} is taken for a disk: sadf -d -- -d -p records names")
        self._rows.add(host, device, layer_of(device), sample)

    def _end_s(self, text: str) -> float:
        return float(text) if _EPOCH.fullmatch(text) else self._clock.read(text)
