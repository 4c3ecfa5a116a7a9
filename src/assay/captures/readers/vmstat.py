"""vmstat of procps: bytes in and out of all block devices of the machine. It does not count requests.

The first line is of the time since the machine was started, and is left out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.clock import Clock
from assay.captures.decimal_text import parse_number
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.captures.sysstat_columns import ALL_DEVICES, KIB

NAME: Final = "vmstat"
_COLUMNS = re.compile(r"\s*r\s+b\s+(?:\S+\s+)*bi\s+bo\s")
_TIME_WORDS: Final = 2


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its columns."""
    return Match.CERTAIN if any(_COLUMNS.match(line) for line in head) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add a sample a line."""
    table = _Lines(asked, rows)
    for line in whole_lines(lines, rows.note):
        if line.strip() and "procs" not in line:
            table.take(line)
    rows.note("vmstat counts bytes and no requests: IOPS, latency and queue are unknown")
    if table.unread:
        rows.note(f"lines that are cut off or of another program are left out: {table.unread}")


class _Lines:
    """Reads line by line, and keeps the time of the line before."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self.unread = 0
        self._rows = rows
        self._asked = asked
        self._clock = Clock(asked, rows.note)
        self._columns: list[str] = []
        self._zone = ""
        self._has_times = False
        self._is_first = True
        self._before_s: float | None = None

    def take(self, line: str) -> None:
        """Take a line that is not blank, nor the upper head."""
        if _COLUMNS.match(line):
            self._begin(line.split())
            return
        words = line.split()
        extra = _TIME_WORDS if self._has_times else 0
        if not self._columns or len(words) != len(self._columns) + extra:
            self.unread += 1
            return
        try:
            self._take_values(words, " ".join(words[len(self._columns) :]))
        except ValueError:
            self.unread += 1

    def _begin(self, words: list[str]) -> None:
        last = words[-1]
        # The name of the zone is the head of the times, in capitals or as an offset; columns are in lower case.
        self._has_times = last != last.lower() or last[0] in "+-"
        self._zone = last if self._has_times else ""
        self._columns = words[:-1] if self._has_times else words

    def _take_values(self, words: list[str], time: str) -> None:
        end_s = self._end_s(time)
        before_s, self._before_s = self._before_s, end_s
        if self._is_first:
            self._is_first = False
            self._rows.note("the first line, of the time since the machine was started, is left out")
            return
        values = dict(zip(self._columns, words, strict=False))
        sample = DeviceSample(end_s, end_s - (before_s or 0.0))
        sample.read_bytes_per_s = parse_number(values["bi"]) * KIB
        sample.write_bytes_per_s = parse_number(values["bo"]) * KIB
        self._rows.add("", ALL_DEVICES, Layer.SYSTEM, sample)

    def _end_s(self, time: str) -> float:
        if time:
            return self._clock.read(f"{time} UTC" if self._zone == "UTC" else time)
        if self._asked.interval_s is None:
            self._rows.note("lines have no times (vmstat -t): they are taken to be 1 s apart (--interval)")
        if self._asked.begin_s is None:
            self._rows.note("lines have no times (vmstat -t): they are taken to begin at 0 (--begin)")
        interval_s = self._asked.interval_s or 1.0
        return (self._asked.begin_s or 0.0) if self._before_s is None else self._before_s + interval_s
