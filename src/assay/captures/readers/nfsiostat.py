"""nfsiostat of nfs-utils: reads and writes of NFS mounts.

A kB has 1024 bytes. `avg exe` is the time of a request from its start to its end, `avg RTT` a part of it. The first report
is of the time since a file system was mounted, and is left out. There are no times.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.decimal_text import parse_number
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.report_times import Interval, ReportTimes
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.captures.sysstat_columns import KIB

NAME: Final = "nfsiostat"
_MOUNT = re.compile(r"(\S+) mounted on (.+):\s*$")
_OPERATION = re.compile(r"(read|write):\s+ops/s\s+kB/s\s+kB/op\b(.*)")
_AVERAGE: Final = "avg exe (ms)"
_MS: Final = 1e-3


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by its lines of operations."""
    return Match.CERTAIN if any(_OPERATION.match(line) for line in head) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all reports."""
    reports = _Reports(asked, rows)
    for line in whole_lines(lines, rows.note):
        reports.take(line)
    reports.end_mount()


class _Reports:
    """Reads line by line, and keeps the mount of the line."""

    def __init__(self, asked: Asked, rows: SampleRows) -> None:
        self._rows = rows
        self._times = ReportTimes(asked, rows, "nfsiostat has none")
        self._interval: Interval | None = None
        self._seen: set[str] = set()
        self._mount = ""
        self._sample: DeviceSample | None = None
        self._operation = ""
        self._has_time = False

    def take(self, line: str) -> None:
        """Take the next line of the file."""
        if (mount := _MOUNT.match(line)) is not None:
            self._begin_mount(mount[2])
        elif (operation := _OPERATION.match(line.strip())) is not None:
            self._operation, self._has_time = operation[1], _AVERAGE in operation[2]
        elif self._operation and line.strip():
            self._take_values(line)
            self._operation = ""

    def _begin_mount(self, mount: str) -> None:
        self.end_mount()
        if mount in self._seen or not self._seen:
            self._seen.clear()
            self._interval = self._times.next_report()
        self._seen.add(mount)
        self._mount = mount
        self._sample = DeviceSample(*self._interval) if self._interval is not None else None

    def end_mount(self) -> None:
        """Add the sample of a mount of which both operations were read."""
        if self._sample is not None and self._sample.read_iops is not None and self._sample.write_iops is not None:
            self._rows.add("", self._mount, Layer.MOUNT, self._sample)
        elif self._sample is not None:
            self._rows.note("mounts without reads or writes, or that are cut off, are left out")
        self._sample = None

    def _take_values(self, line: str) -> None:
        # `0 (0.0%)` is the number of retransmissions: the share is no column.
        words = re.sub(r"\([^)]*\)", "", line).split()
        if self._sample is None:
            return
        try:
            rate, transfer = parse_number(words[0]), parse_number(words[1]) * KIB
            latency_s = parse_number(words[5]) * _MS if self._has_time else None
        except (ValueError, IndexError):
            return
        setattr(self._sample, f"{self._operation}_iops", rate)
        setattr(self._sample, f"{self._operation}_bytes_per_s", transfer)
        setattr(self._sample, f"{self._operation}_latency_s", latency_s)
