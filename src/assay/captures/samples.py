"""The one table of captures: what a device did in an interval, whatever program recorded it.

A row is an interval of a device. What a format does not have is null; nothing is made up. Totals are computed where a format
has both parts, and a latency over all requests where it has those of reads and writes with their rates.
"""

from array import array
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite, nan
from typing import Final

import numpy as np
import polars as pl

from assay.errors import InputError

MOST_ROWS: Final = 10_000_000
"""A week of 150 devices, every ten seconds."""
MOST_DEVICES: Final = 50_000
MOST_NOTES: Final = 50
MOST_NAME: Final = 256
"""Characters of the name of a host or device."""


class Layer(StrEnum):
    """What a device is: requests pass through several, and only devices of one layer can be added up."""

    DISK = "disk"
    PARTITION = "partition"
    MAPPED = "mapped"
    """Made of other devices: LVM, md, multipath."""
    MEMORY = "memory"
    """Without storage below, or with a file: ram, zram, loop."""
    ADAPTER = "adapter"
    VIRTUAL_DISK = "virtual disk"
    POOL = "pool"
    MOUNT = "mount"
    """A network file system, as its client sees it."""
    SYSTEM = "system"
    """All of a host in one."""


NUMBERS: Final = (
    "end_s",
    "seconds",
    "iops",
    "read_iops",
    "write_iops",
    "bytes_per_s",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "latency_s",
    "read_latency_s",
    "write_latency_s",
    "queue_depth",
    "utilisation",
)
"""Columns with numbers: `end_s` is in seconds since 1970 (UTC), `seconds` the length of the interval that ends then,
`queue_depth` the mean number of requests that wait or are served, `utilisation` the share of time with any."""


@dataclass(slots=True)
class DeviceSample:
    """One interval of a device; None: the format does not have it."""

    end_s: float
    seconds: float
    iops: float | None = None
    read_iops: float | None = None
    write_iops: float | None = None
    bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    latency_s: float | None = None
    read_latency_s: float | None = None
    write_latency_s: float | None = None
    queue_depth: float | None = None
    utilisation: float | None = None


@dataclass
class SampleRows:
    """Collects the rows of one file, and what had to be assumed to read it.

    Attributes:
        source: Path of the file, for messages.
        host: Name of the host that the user gave; None: as the file has it.
        default_host: Its name where the file has none either.
        notes: What was assumed, left out or repaired: one sentence each, each once.
    """

    source: str
    host: str | None = None
    default_host: str = ""
    notes: dict[str, None] = field(default_factory=dict)
    _columns: dict[str, "array[float]"] = field(default_factory=lambda: {name: array("d") for name in NUMBERS})
    _names: dict[tuple[str, str, Layer], int] = field(default_factory=dict)
    _of_row: "array[int]" = field(default_factory=lambda: array("l"))

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._of_row)

    def note(self, text: str) -> None:
        """Keep a sentence for the user, but no more than anybody reads."""
        if len(self.notes) < MOST_NOTES:
            self.notes[text] = None

    def add(self, host: str, device: str, layer: Layer, sample: DeviceSample) -> None:
        """Add a row; `host` is what the file says, empty where it says nothing.

        Raises:
            InputError: There are more rows or devices than any capture has.
            ValueError: A number is negative, or an interval has no length.
        """
        _complete(sample)
        values = [_checked(name, getattr(sample, name)) for name in NUMBERS]
        if not sample.seconds > 0:
            raise ValueError("an interval has no length")
        key = ((self.host or host or self.default_host)[:MOST_NAME], device[:MOST_NAME], layer)
        number = self._names.setdefault(key, len(self._names))
        if len(self._of_row) >= MOST_ROWS or len(self._names) > MOST_DEVICES:
            raise InputError(
                f"{self.source}: has more than {MOST_ROWS:,} samples or {MOST_DEVICES:,} devices; cut it to the time or the"
                " devices that matter"
            )
        for name, value in zip(NUMBERS, values, strict=True):
            self._columns[name].append(value)
        self._of_row.append(number)

    def table(self) -> pl.DataFrame:
        """Give the rows in order of time: columns `host`, `device`, `layer` and those of `NUMBERS`."""
        numbers = {name: pl.Series(np.frombuffer(column)).fill_nan(None) for name, column in self._columns.items()}
        place = np.frombuffer(self._of_row, dtype=np.int64)
        plain = [(_plain_name(host), _plain_name(device), layer) for host, device, layer in self._names]
        names = pl.DataFrame(plain, schema=["host", "device", "layer"], orient="row")
        table = pl.DataFrame(numbers).hstack(names[place] if len(place) else names.clear())
        return table.select("host", "device", "layer", *NUMBERS).sort("end_s", "host", "device")


def _plain_name(name: str) -> str:
    """Give a name without what no terminal and no file of text can show."""
    return "".join(sign if sign.isprintable() else "?" for sign in name).strip()


def _checked(name: str, value: float | None) -> float:
    """Give a number as the table keeps it; raises ValueError for one that no program measures."""
    if value is None:
        return nan
    if value < 0 or not isfinite(value):
        raise ValueError(f"{name} is {value:g}")
    return value


def _complete(sample: DeviceSample) -> None:
    """Compute totals and the latency of all requests from their parts.

    Programs print a latency of 0 where there was no request: that is no latency.
    """
    if sample.iops is None and sample.read_iops is not None and sample.write_iops is not None:
        sample.iops = sample.read_iops + sample.write_iops
    if sample.bytes_per_s is None and sample.read_bytes_per_s is not None and sample.write_bytes_per_s is not None:
        sample.bytes_per_s = sample.read_bytes_per_s + sample.write_bytes_per_s
    if sample.read_iops == 0:
        sample.read_latency_s = None
    if sample.write_iops == 0:
        sample.write_latency_s = None
    if sample.iops == 0:
        sample.latency_s = None
    if sample.latency_s is None and sample.read_iops is not None and sample.write_iops is not None:
        weighed = [
            (rate, latency)
            for rate, latency in (
                (sample.read_iops, sample.read_latency_s),
                (sample.write_iops, sample.write_latency_s),
            )
            if rate > 0
        ]
        if weighed and all(latency is not None for _, latency in weighed):
            requests = sum(rate for rate, _ in weighed)
            sample.latency_s = sum(rate * (latency or 0.0) for rate, latency in weighed) / requests
