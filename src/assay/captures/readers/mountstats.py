"""/proc/self/mountstats of Linux: what NFS mounts did, once or several times in a file.

The kernel counts since a file system was mounted, `age` seconds ago. Two snapshots give the interval between them; one alone
gives the mean since the mount. A line with a date, or with seconds since 1970, may come before a snapshot and gives its
time; else the age of the mounts does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from assay.captures.clock import Clock
from assay.captures.counters import Count, rates
from assay.captures.decimal_text import parse_number
from assay.captures.match import Match
from assay.captures.opened import whole_lines
from assay.captures.samples import Layer, SampleRows
from assay.captures.stated_facts import Asked

NAME: Final = "mountstats"
_DEVICE = re.compile(r"device (\S+) mounted on (\S+) with fstype (\S+)(?: statvers=\S+)?")
_AGE = re.compile(r"\s+age:\s+(\d{1,12})", re.ASCII)
_BYTES = re.compile(r"\s+bytes:\s+(\d+(?: \d+)+)", re.ASCII)
_OPERATION = re.compile(r"\s+(READ|WRITE): (\d+(?: \d+)+)", re.ASCII)
_EPOCH = re.compile(r"\d{9,11}(?:\.\d{1,9})?", re.ASCII)
_MS: Final = 1e-3
_READ_BYTES, _WRITTEN_BYTES = 4, 5
"""Of the line `bytes`, what went over the network: after normal and direct reads and writes."""
_NUMBER, _TIME = 0, 7
"""Of an operation: requests, and the time in ms from the request of the user to its end."""


@dataclass
class _Mount:
    age_s: float = 0.0
    counts: dict[Count, float] = field(default_factory=dict)


@dataclass
class _Snapshot:
    time_s: float | None = None
    mounts: dict[str, _Mount] = field(default_factory=dict)


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the lines of mounts."""
    return Match.CERTAIN if any(_DEVICE.match(line) for line in head) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples between all snapshots, or that of a single one."""
    before: _Snapshot | None = None
    number = 0
    for snapshot in _snapshots(whole_lines(lines, rows.note), Clock(asked, rows.note)):
        if not any(mount.counts for mount in snapshot.mounts.values()):
            continue
        number += 1
        if snapshot.time_s is None:
            rows.note(
                "snapshots have no times: they are taken to begin at 0 (--begin), and to be apart as mounts have aged"
            )
            snapshot.time_s = _time_after(before, snapshot) if before is not None else asked.begin_s or 0.0
        if before is not None:
            _add_between(before, snapshot, rows)
        before = snapshot
    if before is not None and number == 1:
        _add_since_mount(before, rows)


def _time_after(before: _Snapshot, snapshot: _Snapshot) -> float:
    """Give the time of a snapshot by how much older a mount is than in the one before."""
    ages = (mount.age_s - before.mounts[name].age_s for name, mount in snapshot.mounts.items() if name in before.mounts)
    return (before.time_s or 0.0) + max(ages, default=0.0)


def _snapshots(lines: Iterator[str], clock: Clock) -> Iterator[_Snapshot]:
    snapshot, mount = _Snapshot(), _Mount()
    for line in lines:
        if (device := _DEVICE.match(line)) is not None:
            if device[2] in snapshot.mounts:
                yield snapshot
                snapshot = _Snapshot()
            mount = snapshot.mounts[device[2]] = _Mount()
        elif line[:1].isspace():
            _take_line(mount, line)
        elif (time_s := _time_s(line.strip(), clock)) is not None:
            if snapshot.mounts:
                yield snapshot
            snapshot, mount = _Snapshot(time_s), _Mount()
    yield snapshot


def _take_line(mount: _Mount, line: str) -> None:
    """Take a line about a mount."""
    if (age := _AGE.match(line)) is not None:
        mount.age_s = float(age[1])
    elif (found := _BYTES.match(line)) is not None:
        numbers = found[1].split()
        if len(numbers) > _WRITTEN_BYTES:
            mount.counts[Count.READ_BYTES] = parse_number(numbers[_READ_BYTES])
            mount.counts[Count.WRITTEN_BYTES] = parse_number(numbers[_WRITTEN_BYTES])
    elif (operation := _OPERATION.match(line)) is not None and len(numbers := operation[2].split()) > _TIME:
        is_read = operation[1] == "READ"
        mount.counts[Count.READS if is_read else Count.WRITES] = parse_number(numbers[_NUMBER])
        mount.counts[Count.READ_TIME if is_read else Count.WRITE_TIME] = parse_number(numbers[_TIME]) * _MS


def _time_s(text: str, clock: Clock) -> float | None:
    if _EPOCH.fullmatch(text):
        return float(text)
    try:
        return clock.read(text)
    except ValueError:
        return None


def _add_between(before: _Snapshot, after: _Snapshot, rows: SampleRows) -> None:
    end_s, seconds = after.time_s or 0.0, (after.time_s or 0.0) - (before.time_s or 0.0)
    for name, mount in after.mounts.items():
        earlier = before.mounts.get(name)
        if not mount.counts or earlier is None:
            continue
        grown = {count: mount.counts[count] - earlier.counts.get(count, 0.0) for count in mount.counts}
        if seconds <= 0 or mount.age_s < earlier.age_s or any(value < 0 for value in grown.values()):
            rows.note("intervals in which a file system was mounted anew, or without a length, are left out")
            continue
        rows.add("", name, Layer.MOUNT, rates(grown, end_s, seconds))


def _add_since_mount(snapshot: _Snapshot, rows: SampleRows) -> None:
    rows.note("there is one snapshot: its sample is the mean since the file system was mounted, without any peak")
    for name, mount in snapshot.mounts.items():
        if mount.counts and mount.age_s > 0:
            rows.add("", name, Layer.MOUNT, rates(mount.counts, snapshot.time_s or 0.0, mount.age_s))
