"""sar of sysstat: its text of devices (`-d`) and of the system in one (`-b`), in any locale, with 12 or 24 hours.

The date is in the head alone, so a time far before the last one is of the next day. A line of columns has the time of the
sample before, which begins the interval of the first row below. Averages end a section, and the next one begins with the day
of the head; where a restart of the machine follows them, the section goes on.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.clock import Clock, parse_time
from assay.captures.decimal_text import parse_number
from assay.captures.linux_devices import is_vague, layer_of
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked, DateOrder
from assay.captures.sysstat_columns import (
    ALL_DEVICES,
    DISCARDS_COUNTED,
    DISK_FIELDS,
    HEAD,
    IO_FIELDS,
    counts_discards,
    fill,
)

NAME: Final = "sar"
_ROW = re.compile(r"(\d{1,2}:\d{2}:\d{2}|\d{1,2}[時时]\d{2}分\d{2}秒)(\s+[AaPp]\.?[Mm]\.?)?\s+(\S.*)", re.ASCII)
_HALF_DAY_S: Final = 43_200


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the head of sysstat, and columns behind a time."""
    rows = [row[3].split() for line in head if (row := _ROW.match(line)) is not None]
    has_head = any(HEAD.match(line) for line in head)
    if any(_kind_of(row) is not None for row in rows):
        return Match.CERTAIN if has_head else Match.LIKELY
    # Of sar -A, devices come after much else.
    return Match.LIKELY if has_head and rows else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all sections."""
    sections = _Sections(asked, rows)
    for line in whole_lines(lines, rows.note):
        sections.take(line)
    if sections.unread:
        rows.note(f"lines that are cut off or of another program are left out: {sections.unread}")


def _kind_of(words: Sequence[str]) -> Layer | None:
    """Tell by its columns whether a head is of devices, or of the system in one."""
    if "DEV" in words and "tps" in words:
        return Layer.DISK
    return Layer.SYSTEM if "tps" in words and "bread/s" in words else None


class _Sections:
    """Reads line by line, and keeps the day, the section and the time before."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self.unread = 0
        self._rows = rows
        self._clock = Clock(asked, rows.note)
        self._host = ""
        self._date = ""
        self._day: dt.date | None = None
        self._last: dt.time | None = None
        self._columns: list[str] = []
        self._is_over = False
        self._kind: Layer | None = None
        self._text = ""
        self._recent: dict[str, float] = {}
        self._interval = (0.0, 0.0)

    def take(self, line: str) -> None:
        """Take the next line of the file."""
        if (head := HEAD.match(line)) is not None:
            self._host, self._date = head[1], head[2]
            self._end_series()
        elif (row := _ROW.match(line)) is not None:
            self._take_row(row[1] + (row[2] or ""), row[3].split())
        else:
            # A blank line is before every line of columns; any other without a time is of averages.
            self._is_over |= bool(line.strip() and self._columns)
            self._columns = []

    def _end_series(self) -> None:
        self._columns, self._kind, self._day, self._last, self._is_over = [], None, None, None, False
        self._recent.clear()
        self._clock.restart()

    def _take_row(self, time: str, words: list[str]) -> None:
        if "RESTART" in words[:3]:
            self._recent.clear()
            if self._kind is not None:
                self._rows.note("the machine was restarted: there is no sample across it")
            self._columns, self._text, self._is_over = [], "", False
            return
        try:
            if (kind := _kind_of(words)) is not None:
                self._begin(kind, time, words)
            elif self._columns and _has_number(words):
                self._take_values(time, words)
            else:
                self._columns = []  # those of another section
        except ValueError:
            self.unread += 1

    def _begin(self, kind: Layer, time: str, columns: list[str]) -> None:
        if self._is_over:
            self._end_series()
        self._kind, self._columns, self._text = kind, columns, time
        end_s = self._moment_s(time)
        self._interval = (end_s, 0.0)

    def _moment_s(self, text: str) -> float:
        """Give the time of a line; several sections in turn have that of a sample, and of the one before, more than once."""
        if text not in self._recent:
            if len(self._recent) > 1:
                del self._recent[next(iter(self._recent))]
            self._recent[text] = self._new_moment_s(text)
        return self._recent[text]

    def _new_moment_s(self, text: str) -> float:
        if text[-1] in "Mm.":
            self._clock.assume(DateOrder.MONTH_FIRST, is_sure=False)
        time = parse_time(text)
        if self._day is None:
            if not self._date:
                raise ValueError("there is no head with a date")
            self._day = self._clock.day(self._date)
        elif self._last is not None and _second_of(self._last) - _second_of(time) > _HALF_DAY_S:
            self._day += dt.timedelta(days=1)
        self._last = time
        return self._clock.read_time(self._day, text)

    def _take_values(self, time: str, values: list[str]) -> None:
        if time != self._text:
            end_s = self._moment_s(time)
            self._text, self._interval = time, (end_s, end_s - self._interval[0])
        fields = IO_FIELDS if self._kind is Layer.SYSTEM else DISK_FIELDS
        sample = fill(DeviceSample(*self._interval), self._columns, values, fields)
        if self._kind is Layer.SYSTEM:
            self._rows.add(self._host, ALL_DEVICES, Layer.SYSTEM, sample)
            return
        device = values[self._columns.index("DEV")]
        if counts_discards(self._columns, values):
            self._rows.note(DISCARDS_COUNTED)
        if is_vague(device):
            self._rows.note(f"{device} is taken for a disk: sar -d -p prints names")
        self._rows.add(self._host, device, layer_of(device), sample)


def _has_number(words: Sequence[str]) -> bool:
    """Whether a row has values, and is not the columns of another section."""
    for word in words:
        try:
            parse_number(word)
        except ValueError:
            continue
        return True
    return False


def _second_of(time: dt.time) -> int:
    return time.hour * 3600 + time.minute * 60 + time.second
