"""Read which column of a table has what: `time=Timestamp,read_iops="Read IOPS",read_latency="Read (ms)":ms`."""

import re
from dataclasses import dataclass
from typing import Final

from assay.errors import InputError

_S: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BYTES: Final = {
    "B/s": 1.0,
    "kB/s": 1e3,
    "KB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "KiB/s": 1024.0,
    "MiB/s": 1024.0**2,
    "GiB/s": 1024.0**3,
}
_SHARE: Final = {"%": 1e-2, "share": 1.0}
_NO_UNIT: Final = {"": 1.0}
_EPOCHS: Final = {"": 0.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Of times: without a unit a date with a time, with one a number since 1970 (UTC)."""


@dataclass(frozen=True)
class _Meaning:
    field: str
    units: dict[str, float]
    default: str


_MEANINGS: Final = {
    "time": _Meaning("", _EPOCHS, ""),
    "host": _Meaning("", _NO_UNIT, ""),
    "device": _Meaning("", _NO_UNIT, ""),
    "interval": _Meaning("seconds", _S, "s"),
    "iops": _Meaning("iops", _NO_UNIT, ""),
    "read_iops": _Meaning("read_iops", _NO_UNIT, ""),
    "write_iops": _Meaning("write_iops", _NO_UNIT, ""),
    "bytes": _Meaning("bytes_per_s", _BYTES, "B/s"),
    "read_bytes": _Meaning("read_bytes_per_s", _BYTES, "B/s"),
    "write_bytes": _Meaning("write_bytes_per_s", _BYTES, "B/s"),
    "latency": _Meaning("latency_s", _S, "s"),
    "read_latency": _Meaning("read_latency_s", _S, "s"),
    "write_latency": _Meaning("write_latency_s", _S, "s"),
    "queue": _Meaning("queue_depth", _NO_UNIT, ""),
    "utilisation": _Meaning("utilisation", _SHARE, "share"),
}
TIME, HOST, DEVICE, INTERVAL = "time", "host", "device", "interval"
_ITEM = re.compile(r'([a-z_]{1,20})=(?:"([^"]{1,256})"|([^",:]{1,256}))(?::([A-Za-z/%]{1,8}))?(?:,|$)')
_MOST_CHARACTERS: Final = 8192


@dataclass(frozen=True)
class MappedColumn:
    """A column of a table.

    Attributes:
        header: Its name in the file.
        unit: What its numbers are multiplied with; of times 0 for a date with a time, else the seconds of 1.
        field: What it is of a sample; empty for times and names.
    """

    header: str
    unit: float = 1.0
    field: str = ""


def parse_columns(text: str) -> dict[str, MappedColumn]:
    """Read a column map from the command line.

    Args:
        text: Items `NAME=COLUMN` or `NAME=COLUMN:UNIT`, with commas between; a column with a comma or colon is in quotes.

    Raises:
        InputError: A name or unit is unknown, or there is no time or nothing that is measured.
    """
    found: dict[str, MappedColumn] = {}
    at = 0
    while at < len(text) <= _MOST_CHARACTERS:
        item = _ITEM.match(text, at)
        if item is None:
            raise InputError(f"--columns: '{text[at : at + 40]}' is not NAME=COLUMN or NAME=\"COLUMN\":UNIT")
        name, header, unit = item[1], (item[2] or item[3]).strip(), item[4]
        if name not in _MEANINGS:
            raise InputError(f"--columns: there is no '{name}'; there are {', '.join(_MEANINGS)}")
        if name in found:
            raise InputError(f"--columns: '{name}' is there twice")
        found[name] = _mapped(name, header, unit)
        at = item.end()
    if TIME not in found:
        raise InputError('--columns: the time is missing (time="COLUMN")')
    if not any(one.field for name, one in found.items() if name != INTERVAL):
        raise InputError(f"--columns: nothing that is measured is there: one of {', '.join(list(_MEANINGS)[4:])}")
    return found


def _mapped(name: str, header: str, unit: str | None) -> MappedColumn:
    meaning = _MEANINGS[name]
    asked = meaning.default if unit is None else unit
    if asked not in meaning.units:
        known = ", ".join(one for one in meaning.units if one)
        raise InputError(
            f"--columns: '{asked}' is no unit of {name}; " + (f"use one of {known}" if known else "it has none")
        )
    return MappedColumn(header, meaning.units[asked], meaning.field)
