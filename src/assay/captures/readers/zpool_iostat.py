"""zpool iostat of ZFS: operations and bytes of pools, and with `-v` of what they are made of.

K, M and G are powers of 1024. A latency is read with `-l`. The first report is of the time since the pool was imported, and
is left out.
"""

import contextlib
import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.decimal_text import parse_number
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.report_times import Interval, ReportTimes
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked

NAME: Final = "zpool iostat"
_UPPER = re.compile(r"\s+capacity\s+operations\s+bandwidth\b(.*)")
_LOWER = re.compile(r"(?:pool|vdev)\s+alloc\s+free\s+read\s+write\s+read\s+write\b")
_RULE = re.compile(r"-{3,}(\s+-{3,})+\s*")
_EPOCH = re.compile(r"\d{9,11}", re.ASCII)
_DATE = re.compile(r"\w{3} +(\w{3}) +(\d{1,2}) +(\d{1,2}:\d{2}:\d{2})(?: +([AP]M))?(?: +(\S+))? +(\d{4})", re.ASCII)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_POWERS: Final = {letter: 1024.0**power for power, letter in enumerate("BKMGTPE")}
_TIMES: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SIZE = re.compile(r"([0-9.,]+)([BKMGTPE]?)")
_TIME = re.compile(r"([0-9.,]+)(ns|us|ms|s)?")
_GROUPS = re.compile(r"(mirror|raidz\d?|draid\S*|spare|replacing|logs|cache|special|dedup|indirect)(-\d+)?")
"""Of a pool's parts, those that have parts themselves, or are only a heading."""
_VALUES: Final = 6


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its two lines of columns."""
    return Match.CERTAIN if any(_LOWER.match(line) for line in head) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all reports."""
    reports = _Reports(asked, rows)
    for line in whole_lines(lines, rows.note):
        reports.take(line)
    if reports.unread:
        rows.note(f"lines that are cut off or of another program are left out: {reports.unread}")


class _Reports:
    """Reads line by line, and keeps the report and the pool of the line."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self.unread = 0
        self._rows = rows
        self._times = ReportTimes(asked, rows, "zpool iostat -T u")
        self._interval: Interval | None = None
        self._seen: set[str] = set()
        self._has_wait = False
        self._pool = ""
        self._has_time = False

    def take(self, line: str) -> None:
        """Take the next line of the file."""
        if not line.strip() or _LOWER.match(line) or _RULE.fullmatch(line):
            return
        if (upper := _UPPER.match(line)) is not None:
            self._has_wait = "total_wait" in upper[1]
        elif _EPOCH.fullmatch(line.strip()) or _DATE.fullmatch(line.strip()):
            self._take_time(line.strip())
        elif len(line.split()) > _VALUES:
            self._take_device(line)
        elif not _GROUPS.match(line.strip()):
            self.unread += 1

    def _take_time(self, text: str) -> None:
        with contextlib.suppress(ValueError):
            if (date := _DATE.fullmatch(text)) is not None:
                month = _MONTHS.index(date[1]) + 1
                zone = " UTC" if date[5] in {"UTC", "GMT"} else ""
                time = f"{date[3]} {date[4]}" if date[4] else date[3]
                self._times.read_time(f"{date[6]}-{month:02}-{int(date[2]):02} {time}{zone}")
            else:
                self._times.set_time(dt.datetime.fromtimestamp(int(text), dt.UTC).timestamp())
            self._begin()
            self._has_time = True

    def _begin(self) -> None:
        self._interval = self._times.next_report()
        self._seen.clear()

    def _take_device(self, line: str) -> None:
        name, *values = line.split()
        is_pool = not line[0].isspace()
        if is_pool:
            if not self._has_time and (name in self._seen or not self._seen):
                self._begin()
            self._pool = name
            self._seen.add(name)
        if self._interval is None or _GROUPS.fullmatch(name):
            return
        device = name if is_pool else f"{self._pool}/{name}"
        try:
            self._rows.add("", device, Layer.POOL if is_pool else Layer.DISK, self._sample(self._interval, values))
        except ValueError:
            self.unread += 1

    def _sample(self, interval: Interval, values: Sequence[str]) -> DeviceSample:
        operations, transfers = values[2:4], values[4:6]
        sample = DeviceSample(*interval)
        sample.read_iops, sample.write_iops = (_size(text) for text in operations)
        sample.read_bytes_per_s, sample.write_bytes_per_s = (_size(text) for text in transfers)
        if self._has_wait and len(values) > _VALUES + 1:
            sample.read_latency_s, sample.write_latency_s = (_time(text) for text in values[6:8])
        return sample


def _size(text: str) -> float:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text[:20]}' is no size")
    return parse_number(match[1]) * _POWERS[match[2] or "B"]


def _time(text: str) -> float | None:
    if text == "-":
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text[:20]}' is no time")
    # With -p the numbers are nanoseconds.
    return parse_number(match[1]) * _TIMES[match[2] or "ns"]
