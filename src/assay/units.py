"""Sizes, times and rates: what people write and read.

Sizes are binary and say so: 1 KiB is 1024 bytes. `k`, `KB`, `M` are refused, because half of the tools mean 1000 by
them and half 1024. Parsing is exact; printing keeps three digits.
"""

import re
from decimal import Decimal
from typing import Final

from assay.errors import InputError

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30
TIB: Final = 1 << 40

_SIZES: Final = {"": 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB}
_SECONDS: Final = {
    "": Decimal(1),
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\d\s]*)\s*", re.ASCII)
_DECIMAL_SIZES: Final = {"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}


def parse_bytes(text: str) -> int:
    """Read a size: `4KiB`, `1 MiB`, `1.5GiB`, `512B`, `4096`.

    Raises:
        InputError: It is no size, not a whole number of bytes, or leaves open whether 1000 or 1024 is meant.
    """
    number, unit = _split(text, "size", "4KiB, 1 MiB, 2GiB or a number of bytes")
    if unit not in _SIZES:
        binary = _DECIMAL_SIZES.get(unit[:1].lower())
        meant = f"write {number}{binary} (binary: 1 KiB is 1024 bytes)" if binary else "use B, KiB, MiB, GiB or TiB"
        raise InputError(f"'{text}': '{unit}' is no unit of size here; {meant}")
    size = number * _SIZES[unit]
    if size != size.to_integral_value():
        raise InputError(f"'{text}': this is {size} bytes; a size is a whole number of bytes")
    return int(size)


def parse_seconds(text: str) -> float:
    """Read a duration in seconds: `500ms`, `5s`, `2min`, `1h`, `250us`, `1.5`.

    Raises:
        InputError: It is no duration.
    """
    number, unit = _split(text, "duration", "500ms, 5s, 2min, 1h or a number of seconds")
    if unit not in _SECONDS:
        raise InputError(f"'{text}': '{unit}' is no unit of time here; use ns, us, ms, s, min or h")
    return float(number * _SECONDS[unit])


def parse_rate_per_s(text: str) -> float:
    """Read a rate of operations per second: `1000/s`, `90/min`, `1000`.

    Raises:
        InputError: It is no rate.
    """
    count, per_s = _split_rate(text)
    number, unit = _split(count, "rate", "1000/s or 90/min")
    if unit:
        raise InputError(f"'{text}': '{unit}' does not belong in a rate of operations; write 1000/s")
    return float(number / per_s)


def parse_bytes_per_s(text: str) -> float:
    """Read a throughput in bytes per second: `100MiB/s`, `1 GiB/min`.

    Raises:
        InputError: It is no throughput.
    """
    size, per_s = _split_rate(text)
    return float(parse_bytes(size) / per_s)


def _split(text: str, what: str, example: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is no {what}; write {example}")
    return Decimal(match[1]), match[2]


def _split_rate(text: str) -> tuple[str, Decimal]:
    count, slash, unit = text.partition("/")
    if not slash:
        return count, Decimal(1)
    per_s = _SECONDS.get(unit.strip()) if unit.strip() else None
    if per_s is None:
        raise InputError(f"'{text}': '{unit.strip()}' is no unit of time here; use /s, /min or /h")
    return count, per_s


def _three_digits(value: float) -> str:
    """Print a value below 1000 with three digits, and larger ones without a fraction."""
    magnitude = abs(value)
    for limit, digits in ((9.995, 2), (99.95, 1)):
        if magnitude < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def format_bytes(size_bytes: float) -> str:
    """Print a size in the largest binary unit that it fills: `1.50 GiB`, `512 B`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if abs(size_bytes) >= _SIZES[unit]:
            return f"{_three_digits(size_bytes / _SIZES[unit])} {unit}"
    return f"{size_bytes:.0f} B"


def format_mib_per_s(bytes_per_s: float) -> str:
    """Print a throughput as a number of MiB/s, without the unit."""
    mib_per_s = bytes_per_s / MIB
    return f"{mib_per_s:.3f}" if 0 < mib_per_s < 0.995 else _three_digits(mib_per_s)


def format_count(value: float) -> str:
    """Print a count or a rate: `998`, `12.3k`, `1.25M` (decimal k and M: these are no bytes)."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor * 0.9995:
            return f"{_three_digits(value / factor)}{suffix}"
    return f"{value:.0f}" if float(value).is_integer() else _three_digits(value)


def format_ns(nanoseconds: float) -> str:
    """Print a duration given in nanoseconds: `850 ns`, `12.3 µs`, `1.02 ms`, `5.00 s`."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(nanoseconds) >= factor * 0.9995:
            return f"{_three_digits(nanoseconds / factor)} {unit}"
    return f"{nanoseconds:.0f} ns"


def format_seconds(seconds: float) -> str:
    """Print a duration given in seconds."""
    return format_ns(seconds * 1e9)
