"""Record what the disks of this machine do, as a capture: one look at /proc/diskstats in each interval.

Rows are written out as they come: what was recorded before an end of any kind is there. The counters are of the kernel and
only grow; where one did not (a device was exchanged), that interval of it is left out.
"""

import csv
import io
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from assay.captures.counters import Count, rates
from assay.captures.linux_devices import layer_of
from assay.captures.samples import NUMBERS, DeviceSample, Layer

DISKSTATS: Final = Path("/proc/diskstats")
SECTOR_BYTES: Final = 512.0
_FIELDS: Final = 14
"""Of a line: numbers, name, and the eleven counters that every kernel has."""
_SLICE_S: Final = 0.2
"""Between two looks whether to end."""

_COUNTS: Final = {
    Count.READS: (3, 1.0),
    Count.READ_BYTES: (5, SECTOR_BYTES),
    Count.READ_TIME: (6, 1e-3),
    Count.WRITES: (7, 1.0),
    Count.WRITTEN_BYTES: (9, SECTOR_BYTES),
    Count.WRITE_TIME: (10, 1e-3),
    Count.BUSY_TIME: (12, 1e-3),
    Count.WEIGHTED_TIME: (13, 1e-3),
}
"""Where a counter is in a line, and its unit."""

Counters = dict[str, dict[Count, float]]
"""By device."""


def read_counters(text: str) -> Counters:
    """Give the counters of each device that did anything since the machine was started."""
    found: Counters = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= _FIELDS:
            counts = {count: int(words[place]) * unit for count, (place, unit) in _COUNTS.items()}
            if any(counts.values()):
                found[words[2]] = counts
    return found


def samples_between(
    before: Counters, after: Counters, end_s: float, seconds: float
) -> Iterator[tuple[str, DeviceSample]]:
    """Give what each device did between two looks."""
    for name, counts in after.items():
        # A device that was never used before has no counters yet.
        since = before.get(name, {})
        grown = {count: value - since.get(count, 0.0) for count, value in counts.items()}
        if min(grown.values()) >= 0:
            yield name, rates(grown, end_s, seconds)


def record(
    out: BinaryIO,
    interval_s: float,
    most_s: float | None,
    is_over: Callable[[], bool],
    *,
    progress: Callable[[float, float], None],
    host: str | None = None,
) -> None:
    """Record until the time is over.

    Args:
        out: Where to; it is flushed after each interval.
        interval_s: Between two looks.
        most_s: How long; None: until `is_over`.
        is_over: Asked again and again; the interval that has begun is recorded as far as it went.
        progress: Gets the seconds since the beginning and the IOPS of all disks in the last interval.
        host: Name in the table; None: that of this machine.

    Raises:
        OSError: The table cannot be written, or /proc cannot be read.
    """
    name = host or socket.gethostname()
    table = csv.writer(text := io.TextIOWrapper(out, encoding="utf-8", newline=""), lineterminator="\n")
    table.writerow(("host", "device", "layer", *NUMBERS))
    text.flush()
    begun_s = last_s = time.monotonic()
    before = read_counters(DISKSTATS.read_text())
    while not is_over() and (most_s is None or last_s - begun_s < most_s):
        left_s = float("inf") if most_s is None else begun_s + most_s - last_s
        _wait(last_s + min(interval_s, left_s), is_over)
        now_s, end_s, after = time.monotonic(), time.time(), read_counters(DISKSTATS.read_text())
        if now_s <= last_s:
            continue
        iops = 0.0
        for device, sample in samples_between(before, after, end_s, now_s - last_s):
            layer = layer_of(device)
            if layer is Layer.DISK:
                iops += (sample.read_iops or 0.0) + (sample.write_iops or 0.0)
            table.writerow((name, device, layer, *_cells(sample)))
        text.flush()
        before, last_s = after, now_s
        progress(now_s - begun_s, iops)
    text.detach()


def _wait(until_s: float, is_over: Callable[[], bool]) -> None:
    while not is_over() and (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(left_s, _SLICE_S))


def _cells(sample: DeviceSample) -> Iterator[str]:
    for name in NUMBERS:
        value = getattr(sample, name)
        yield "" if value is None else f"{value:.3f}" if name == "end_s" else f"{value:.9g}"
