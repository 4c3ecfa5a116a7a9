"""iostat of sysstat: its text, of all versions, extended (`-x`) or not, in any locale.

Reports without times (no `-t`) are one interval apart, which is not in the text. The first report is of the time since the
machine was started, and is left out. `-y` leaves it out as well; then one interval is lost.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.asked import Asked, DateOrder
from assay.captures.clock import Clock
from assay.captures.linux_devices import layer_of
from assay.captures.match import Match
from assay.captures.samples import Sample, SampleRows

NAME: Final = "iostat"
_HEAD = re.compile(r"(?:Linux|SunOS|AIX) \S+ \(([^)]{1,256})\)\s+(\S+)\s.*\(\d+ CPU")
_COLUMNS = re.compile(r"Device:?\s+(\S+/s|tps|rrqm/s)")
KIB, SECTOR = 1024.0, 512.0
_FIELDS: Final[dict[str, tuple[str, float]]] = {
    "tps": ("iops", 1.0),
    "r/s": ("read_iops", 1.0),
    "w/s": ("write_iops", 1.0),
    "rkB/s": ("read_bytes_per_s", KIB),
    "wkB/s": ("write_bytes_per_s", KIB),
    "rMB/s": ("read_bytes_per_s", KIB * KIB),
    "wMB/s": ("write_bytes_per_s", KIB * KIB),
    "rsec/s": ("read_bytes_per_s", SECTOR),
    "wsec/s": ("write_bytes_per_s", SECTOR),
    "kB_read/s": ("read_bytes_per_s", KIB),
    "kB_wrtn/s": ("write_bytes_per_s", KIB),
    "MB_read/s": ("read_bytes_per_s", KIB * KIB),
    "MB_wrtn/s": ("write_bytes_per_s", KIB * KIB),
    "Blk_read/s": ("read_bytes_per_s", SECTOR),
    "Blk_wrtn/s": ("write_bytes_per_s", SECTOR),
    "await": ("latency_s", 1e-3),
    "r_await": ("read_latency_s", 1e-3),
    "w_await": ("write_latency_s", 1e-3),
    "aqu-sz": ("queue_depth", 1.0),
    "avgqu-sz": ("queue_depth", 1.0),
    "%util": ("utilisation", 1e-2),
}
"""Column: what it is, and its unit. kB and MB of sysstat are 1024 and 1024 kB."""


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the head of sysstat and its table of devices."""
    if not any(_COLUMNS.match(line) for line in head):
        return None
    return Match.CERTAIN if any(_HEAD.match(line) for line in head[:5]) else Match.LIKELY


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all reports."""
    report = _Reports(asked, rows)
    for line in lines:
        report.take(line.strip())
    report.close()


class _Reports:
    """Reads line by line, and knows the report that it is in."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self._rows = rows
        self._clock = Clock(asked, rows.note)
        self._begin_s = asked.begin_s
        self._given_interval_s = asked.interval_s
        self._host = ""
        self._columns: list[str] = []
        self._reports = 0
        self._time_s: float | None = None
        self._before_s: float | None = None
        self._unread = 0

    def take(self, line: str) -> None:
        """Take the next line of the file."""
        if not line or line.startswith("avg-cpu:"):
            self._columns = []
        elif (head := _HEAD.match(line)) is not None:
            self._host, self._reports, self._time_s = head[1], 0, None
            self._clock.restart()
        elif _COLUMNS.match(line):
            self._begin_report(line.split()[1:])
        elif self._columns:
            self._take_device(line.split())
        elif line[0].isdigit():
            self._take_time(line)

    def close(self) -> None:
        """Note what was left out."""
        if self._unread:
            self._rows.note(f"{self._unread} lines were cut off or are of another program, and were left out")

    def _take_time(self, line: str) -> None:
        # The figures of CPUs begin with a digit, too.
        with contextlib.suppress(ValueError):
            if re.search(r"\s[AaPp]\.?[Mm]", line):
                self._clock.assume(DateOrder.MONTH_FIRST)
            before_s, self._time_s = self._time_s, self._clock.read(line)
            self._before_s = before_s

    def _begin_report(self, columns: list[str]) -> None:
        self._columns = columns
        self._reports += 1
        if self._reports == 1:
            self._rows.note("the first report, of the time since the machine was started, is left out")
        elif self._time_s is None:
            interval_s = self._interval_s()
            self._before_s = (self._begin_s or 0.0) + (self._reports - 2) * interval_s

    def _interval_s(self) -> float:
        if self._given_interval_s is None:
            self._rows.note("reports have no times (iostat -t): they are taken to be 1 s apart (--interval)")
        if self._begin_s is None:
            self._rows.note("reports have no times (iostat -t): they are taken to begin at 0 (--begin)")
        return self._given_interval_s or 1.0

    def _take_device(self, words: list[str]) -> None:
        device, values = words[0], words[1:]
        if self._reports == 1:
            return
        interval_s = self._interval_s() if self._time_s is None else self._time_s - (self._before_s or self._time_s)
        end_s = (self._before_s or 0.0) + interval_s
        try:
            if len(values) != len(self._columns):
                raise ValueError("a line is cut off")
            sample = Sample(end_s, interval_s)
            for column, value in zip(self._columns, values, strict=True):
                if column in _FIELDS:
                    name, unit = _FIELDS[column]
                    setattr(sample, name, float(value.replace(",", ".")) * unit)
            self._rows.add(self._host, device, layer_of(device), sample)
        except ValueError:
            self._unread += 1
