"""The CSV that Windows' performance counters (PDH) are written as, and esxtop's: a column a counter, a row a sample.

A line can have over 50,000 values: the head is read once, and of a row what is asked for.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay.captures.clock import Clock
from assay.captures.decimal_text import parse_number
from assay.captures.opened import whole_lines
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked, DateOrder

_HEAD = re.compile(r'"?\(PDH-CSV [0-9.]{1,8}\) \(([^"]{0,80}?)\)\((-?\d{1,4})\)')
_PATH = re.compile(r"\\\\([^\\]+)\\([^\\(]+)(?:\((.*)\))?\\([^\\]+)")
_ZONES_OF_UTC: Final = frozenset({"UTC", "GMT", "Coordinated Universal Time"})
_HOUR_S: Final = 3600.0
_HOUR_AT: Final = slice(11, 13)
_LAST_HOUR: Final = 4
"""Clocks are changed at night."""


@dataclass(frozen=True)
class Counter:
    r"""A column: `\\HOST\PhysicalDisk(0 C:)\Disk Reads/sec`."""

    column: int
    host: str
    object_name: str
    instance: str
    name: str


@dataclass(frozen=True)
class WantedCounter:
    """What a column is of a sample: its value times `unit`, plus `base`."""

    column: int
    field: str
    unit: float
    base: float = 0.0


Device = tuple[str, str, Layer]
"""Host, device, layer."""
Devices = dict[Device, list[WantedCounter]]
DevicesOf = Callable[[Sequence[Counter], SampleRows], Devices]
"""Chooses what is wanted among the columns; raises ValueError where nothing is known."""


def is_head(line: str) -> bool:
    """Whether the line is the head of such a table."""
    return _HEAD.match(line) is not None


def counters_of(line: str) -> list[Counter]:
    """Read the names of the columns."""
    cells = next(csv.reader([line]), [])
    found = ((number, _PATH.fullmatch(cell.strip())) for number, cell in enumerate(cells))
    return [Counter(number, path[1], path[2], path[3] or "", path[4]) for number, path in found if path is not None]


class PdhRows:
    """Reads the rows below a head."""

    def __init__(self, head: str, devices: Devices, asked: Asked, rows: SampleRows) -> None:
        """Take what is wanted of each row.

        Raises:
            ValueError: The head has no zone.
        """
        match = _HEAD.match(head)
        if match is None:
            raise ValueError("there is no head")
        self._cells = len(next(csv.reader([head]), []))
        self._devices = devices
        self._rows = rows
        bias_min = int(match[2])
        self._may_change = asked.timezone is None and match[1] not in _ZONES_OF_UTC
        zone = asked.timezone or f"{'-' if bias_min > 0 else '+'}{abs(bias_min) // 60:02}:{abs(bias_min) % 60:02}"
        self._clock = Clock(replace(asked, timezone=zone, date_order=DateOrder.MONTH_FIRST), rows.note)
        self._shift_s = 0.0
        self._before_s: float | None = None
        self._usual_s = 0.0
        self.unread = 0

    def take(self, line: str) -> None:
        """Take a line below the head."""
        if not line[:2].strip('"').isdigit():
            return  # the last lines of typeperf are messages
        cells = _cells_of(line)
        if len(cells) != self._cells:
            self.unread += 1
            return
        try:
            end_s = self._end_s(cells[0])
        except ValueError:
            self.unread += 1
            return
        before_s, self._before_s = self._before_s, end_s
        if before_s is None:
            if any(cells[wanted.column].strip() for of_device in self._devices.values() for wanted in of_device):
                self._rows.note("the first row is left out: its interval is unknown")
            return
        self._usual_s = end_s - before_s
        for device, of_device in self._devices.items():
            self._add(device, DeviceSample(end_s, end_s - before_s), of_device, cells)

    def _add(self, device: Device, sample: DeviceSample, wanted: Iterable[WantedCounter], cells: Sequence[str]) -> None:
        has_any = False
        for one in wanted:
            text = cells[one.column].strip()
            if not text:
                continue
            try:
                value = parse_number(text) * one.unit
            except ValueError:
                self._rows.note("values that are no numbers are left out")
                continue
            if value * one.unit < 0:
                self._rows.note("values below 0, which no counter has, are left out")
                continue
            setattr(sample, one.field, max(0.0, value + one.base))
            has_any = True
        if not has_any:
            return
        try:
            self._rows.add(*device, sample)
        except ValueError:
            self.unread += 1

    def _end_s(self, text: str) -> float:
        """Read a time; the head has the zone's distance from UTC as it was at first, and clocks change twice a year."""
        end_s = self._clock.read(text) + self._shift_s
        is_night = text[_HOUR_AT].isdigit() and int(text[_HOUR_AT]) <= _LAST_HOUR
        if self._may_change and is_night and self._before_s is not None and self._usual_s > 0:
            after_s = end_s - self._before_s
            most_s = 2 * self._usual_s
            change_s = 0.0
            if 0 < after_s + _HOUR_S <= most_s:
                change_s = _HOUR_S
            elif most_s < after_s and 0 < after_s - _HOUR_S <= most_s:
                change_s = -_HOUR_S
            if change_s:
                self._shift_s += change_s
                self._rows.note(
                    f"the clock was set {'back' if change_s > 0 else 'forward'} by an hour at {text}, and times after it are"
                    " read so; if it was not, write the zone (--timezone)"
                )
                return end_s + change_s
        return end_s


def read_pdh(lines: Iterator[str], asked: Asked, rows: SampleRows, devices_of: DevicesOf) -> None:
    """Add the samples of all tables of a file.

    Raises:
        ValueError: A head has nothing that is known.
    """
    table: PdhRows | None = None
    unread = 0
    for line in whole_lines(lines, rows.note):
        if is_head(line):
            unread += table.unread if table else 0
            table = PdhRows(line, devices_of(counters_of(line), rows), asked, rows)
        elif table is not None:
            table.take(line)
    unread += table.unread if table else 0
    if unread:
        rows.note(f"rows that are cut off or have no time are left out: {unread}")


def _cells_of(line: str) -> list[str]:
    """Split a row, cheaply where every value is in quotes; a row that ends within one has too few."""
    if line.startswith('"'):
        line = line.rstrip()
        if not line.endswith('"'):
            return []
        cells = line[1:-1].split('","')
        if '"' not in cells[0]:
            return cells
    return next(csv.reader([line]), [])
