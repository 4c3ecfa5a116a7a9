"""iostat of sysstat: its text, of all versions, extended (`-x`) or not, in any locale.

Reports without times (no `-t`) are one interval apart, which is not in the text. The first report is of the time since the
machine was started, and is left out. `-y` leaves it out as well; then one interval is lost.

`-z` leaves out devices without a request. A device that other reports of the same run have is taken to have had none in a
report without it.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.idle_devices import IdleDevices
from assay.captures.linux_devices import layer_of
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.report_times import Interval, ReportTimes
from assay.captures.samples import DeviceSample, SampleRows
from assay.captures.stated_facts import Asked, DateOrder
from assay.captures.sysstat_columns import DISCARDS_COUNTED, DISK_FIELDS, HEAD, counts_discards, fill

NAME: Final = "iostat"
_COLUMNS = re.compile(r"Device:?\s+(\S+/s|tps)\s")
_HALF_DAYS = re.compile(r"\s[AaPp]\.?[Mm]\.?$")


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the head of sysstat and its table of devices."""
    if not any(_COLUMNS.match(line) for line in head):
        return None
    return Match.CERTAIN if any(HEAD.match(line) for line in head) else Match.LIKELY


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all reports."""
    report = _Reports(asked, rows)
    for line in whole_lines(lines, rows.note):
        report.take(line)
    report.close()


class _Reports:
    """Reads line by line, and keeps the report of the line."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self._rows = rows
        self._times = ReportTimes(asked, rows, "iostat -t")
        self._host = ""
        self._columns: list[str] = []
        self._interval: Interval | None = None
        self._idle = IdleDevices(rows)
        self._unread = 0

    def take(self, line: str) -> None:
        """Take the next line of the file."""
        if not line.strip() or line.startswith("avg-cpu:"):
            self._end_report()
        elif (head := HEAD.match(line)) is not None:
            self._end_report()
            self._idle.end_run()
            self._times.begin_run()
            self._host = head[1]
        elif _COLUMNS.match(line):
            self._begin_report(line.split()[1:])
        elif self._columns:
            self._take_device(line)
        elif line[0].isdigit():
            self._take_time(line)

    def close(self) -> None:
        """End the last report, which may be cut off, and note what was left out."""
        self._idle.end_run()
        if self._unread:
            self._rows.note(f"lines that are cut off or of another program are left out: {self._unread}")

    def _take_time(self, line: str) -> None:
        if _HALF_DAYS.search(line):
            self._times.clock.assume(DateOrder.MONTH_FIRST, is_sure=False)
        with contextlib.suppress(ValueError):  # the figures of CPUs begin with a digit, too
            self._times.read_time(line)

    def _begin_report(self, columns: list[str]) -> None:
        self._end_report()
        self._columns = columns
        self._interval = self._times.next_report()
        if self._interval is not None:
            self._idle.begin_report(*self._interval)

    def _take_device(self, line: str) -> None:
        if self._interval is None:
            return
        device, *values = line.split()
        if line[0].isspace():
            self._rows.note("groups of devices (iostat -g) are left out: their devices are read")
            return
        try:
            sample = fill(DeviceSample(*self._interval), self._columns, values, DISK_FIELDS)
            self._rows.add(self._host, device, layer_of(device), sample)
            if counts_discards(self._columns, values):
                self._rows.note(DISCARDS_COUNTED)
        except ValueError:
            self._unread += 1
            self._idle.spoil_report()
        else:
            self._idle.take(self._host, device, layer_of(device), sample)

    def _end_report(self) -> None:
        if self._columns and self._interval is not None:
            self._idle.end_report()
        self._columns = []
