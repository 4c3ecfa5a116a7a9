"""What is asked of traces, as the command line has it and as the engine reads it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from assay.errors import InputError
from assay.units import parse_bytes, parse_seconds

EXACT_KEYS: Final = 100_000
"""Different blocks up to which all are looked at."""
SAMPLED_KEYS: Final = 8192
"""Blocks of the sample where there are more (SHARDS, FAST '15)."""
_NS: Final = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1, "100ns": 100}
_COLUMNS: Final = ("time", "offset", "length", "op", "device")


class TraceFormat(StrEnum):
    """Formats that the engine reads."""

    FIO = "fio"
    BLKPARSE = "blkparse"
    BLKTRACE = "blktrace"
    VSCSI = "vscsi"
    SNIA = "snia"
    ORACLE_GENERAL = "oracle-general"
    ARC = "arc"
    CSV = "csv"


class CachePolicy(StrEnum):
    """Policies of caches that the engine simulates."""

    LRU = "lru"
    FIFO = "fifo"
    LFU = "lfu"
    ARC = "arc"
    S3_FIFO = "s3-fifo"
    TWO_Q = "two-q"


@dataclass(frozen=True)
class FastTier:
    """Fast storage for a part of the data.

    Attributes:
        fraction: Share of the capacity.
        period_s: Time after which data is moved.
        extent_bytes: What is moved at once.
    """

    fraction: float
    period_s: float
    extent_bytes: int

    def encoded(self) -> dict[str, Any]:
        """Give it as the engine reads it."""
        return {"fraction": self.fraction, "period_s": self.period_s, "extent_bytes": self.extent_bytes}


@dataclass(frozen=True)
class TraceQuestion:
    """What is asked.

    Attributes:
        block_bytes: What a cache holds at once.
        format: Of all traces; None: it is found out.
        columns: Columns of a CSV, as the engine reads them.
        at_issue: Whether requests of blktrace count when the device gets them.
        reads_only: Whether writes are left out.
        rate: A fixed share of the blocks; None: by their number.
        exact: Whether all blocks are looked at.
        sampled_keys: Blocks of the sample, where there are many.
        sizes: Caches to list, in blocks; empty: they are chosen.
        tier: Fast storage to look at.
    """

    block_bytes: int
    format: TraceFormat | None = None
    columns: dict[str, Any] | None = None
    at_issue: bool = False
    reads_only: bool = False
    rate: float | None = None
    exact: bool = False
    sampled_keys: int = SAMPLED_KEYS
    sizes: tuple[int, ...] = ()
    tier: FastTier | None = None

    def encoded(self, traces: list[dict[str, str]]) -> dict[str, Any]:
        """Give it as the engine reads it, with the places of its traces."""
        return {
            "traces": traces,
            "format": self.format,
            "columns": self.columns,
            "at_issue": self.at_issue,
            "block_bytes": self.block_bytes,
            "reads_only": self.reads_only,
            "rate": self.rate,
            "exact": self.exact,
            "exact_keys": EXACT_KEYS,
            "most_keys": self.sampled_keys,
            "sizes": self.sizes,
            "tier": None if self.tier is None else self.tier.encoded(),
        }


def parse_block(text: str) -> int:
    """Read the size of a block; raises InputError."""
    size_bytes = parse_bytes(text)
    if not 512 <= size_bytes <= 1 << 30 or size_bytes & (size_bytes - 1):
        raise InputError(f"--block {text}: it is a power of two, from 512 bytes to 1 GiB")
    return size_bytes


def parse_tier(share: float, period: str, extent: str, block_bytes: int) -> FastTier:
    """Check what is asked of fast storage; raises InputError."""
    period_s, extent_bytes = parse_seconds(period), parse_bytes(extent)
    if not 60 <= period_s <= 1e9:
        raise InputError(f"--period {period}: it is from a minute to 30 years")
    if extent_bytes < block_bytes or extent_bytes % block_bytes:
        raise InputError(f"--extent {extent}: it is a multiple of the block")
    return FastTier(share, period_s, extent_bytes)


def parse_columns(text: str) -> dict[str, Any]:
    """Read `time=ts:ms,offset=lba:512,length=4,op=type,device=disk`; raises InputError.

    A column is its name in the heading, or its number from 1. What follows a colon is the unit: of times s, ms, us, ns or
    100ns, of offsets and lengths bytes.
    """
    columns: dict[str, Any] = {}
    for part in text.split(","):
        meaning, _, place = part.partition("=")
        if meaning not in _COLUMNS or not place:
            raise InputError(f"--columns: write MEANING=COLUMN with one of {', '.join(_COLUMNS)}, not '{part[:40]}'")
        if meaning in columns:
            raise InputError(f"--columns: {meaning} is there twice")
        columns[meaning] = _column(meaning, place)
    if "offset" not in columns:
        raise InputError("--columns: offset is needed, such as offset=lba:512")
    return columns


def _column(meaning: str, place: str) -> dict[str, Any]:
    name, colon, unit = place.rpartition(":")
    if not colon or meaning in {"op", "device"}:
        return {"name": place, "unit": _NS["s"] if meaning == "time" else 1}
    if meaning == "time" and unit in _NS:
        return {"name": name, "unit": _NS[unit]}
    if meaning != "time" and unit.isascii() and unit.isdecimal() and 1 <= int(unit[:12]) <= 1 << 30:
        return {"name": name, "unit": int(unit[:12])}
    known = ", ".join(_NS) if meaning == "time" else "bytes, such as 512"
    raise InputError(f"--columns: the unit of {meaning} is not '{unit[:20]}' ({known})")
