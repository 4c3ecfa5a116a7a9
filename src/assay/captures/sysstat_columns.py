"""The head and the columns of sysstat: iostat, sar and sadf share them."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from assay.captures.decimal_text import parse_number
from assay.captures.samples import DeviceSample

HEAD = re.compile(r"Linux \S{1,256} \(([^)]{1,256})\)\s+([^\s(]\S*)(?:\s|$)")
"""First line of a text: the kernel, the host and the date."""
KIB, SECTOR = 1024.0, 512.0
Fields = Mapping[str, tuple[str, float]]
DISK_FIELDS: Final[Fields] = {
    "tps": ("iops", 1.0),
    "r/s": ("read_iops", 1.0),
    "w/s": ("write_iops", 1.0),
    "kB/s": ("bytes_per_s", KIB),
    "MB/s": ("bytes_per_s", KIB * KIB),
    "rkB/s": ("read_bytes_per_s", KIB),
    "wkB/s": ("write_bytes_per_s", KIB),
    "rMB/s": ("read_bytes_per_s", KIB * KIB),
    "wMB/s": ("write_bytes_per_s", KIB * KIB),
    "sec/s": ("bytes_per_s", SECTOR),
    "rsec/s": ("read_bytes_per_s", SECTOR),
    "wsec/s": ("write_bytes_per_s", SECTOR),
    "rd_sec/s": ("read_bytes_per_s", SECTOR),
    "wr_sec/s": ("write_bytes_per_s", SECTOR),
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
"""Column of a table of devices: what it is, and its unit. kB and MB of sysstat are 1024 and 1024 kB."""
IO_FIELDS: Final[Fields] = {
    "rtps": ("read_iops", 1.0),
    "wtps": ("write_iops", 1.0),
    "bread/s": ("read_bytes_per_s", SECTOR),
    "bwrtn/s": ("write_bytes_per_s", SECTOR),
}
"""Of `sar -b`, which has all devices in one; a block has 512 bytes. `tps` is not read: it counts discards, too."""
_DISCARDS: Final = frozenset({"dkB/s", "dMB/s", "kB_dscd/s", "MB_dscd/s", "dkB"})
DISCARDS_COUNTED: Final = (
    "sysstat counts discards as requests in tps: the IOPS of some devices are too high (record iostat -x or sar -b)"
)
ALL_DEVICES: Final = "all"


def counts_discards(columns: Sequence[str], values: Sequence[str]) -> bool:
    """Whether the number of requests of a row has discards in it."""
    if "tps" not in columns or "r/s" in columns:
        return False
    return any(parse_number(value) > 0 for column, value in zip(columns, values, strict=False) if column in _DISCARDS)


def fill(sample: DeviceSample, columns: Sequence[str], values: Sequence[str], fields: Fields) -> DeviceSample:
    """Take what is known of a row into a sample.

    Raises:
        ValueError: The row has not as many values as columns, or one is no number.
    """
    if len(columns) != len(values):
        raise ValueError("a line is cut off")
    for column, value in zip(columns, values, strict=True):
        if column in fields:
            name, unit = fields[column]
            setattr(sample, name, parse_number(value) * unit)
    return sample
