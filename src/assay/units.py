"""Parse and format sizes, times and numbers.

Sizes are binary: `4KiB`, `4 KiB`, `1.5GiB`, `512B`, `4096`, and by one letter as fio, dd, iozone and elbencho read them:
`4k` and `4K` are 4 KiB, `256M` is 256 MiB. `4KB` and `1MB` mean 1000 to one tool and 1024 to the next, so they are refused
with both readings. Times: `500ms`, `5s`, `2min`, `1h`, `0.5`. Reading is exact (fractions), so `0.1GiB`, which is no whole
number of bytes, is refused and not rounded.

Printing keeps three significant digits, and whole numbers from 100 on; a value reads the same in the terminal, in the
HTML report and in a message. What is absent prints as `n/a`.
"""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from assay.errors import InputError

KIB: Final = 1 << 10
MIB: Final = 1 << 20
BYTES_PER_UNIT: Final = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50, "EiB": 1 << 60}
_BY_LETTER: Final = {name[0]: name for name in BYTES_PER_UNIT if name != "B"}
SECONDS_PER_UNIT: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}

ABSENT: Final = "n/a"

_MOST_CHARACTERS: Final = 40
"""Of a number with its unit; longer ones are no quantity of this world, and slow to read."""
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", re.ASCII)
_PRINTED_ENERGIES: Final = ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"))
_PRINTED_TIMES: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_SMALLEST_FRACTION: Final = 1e-3
"""Below it the zeroes of a fraction would take more room than a column has; two digits and an exponent do not."""


def parse_bytes(text: str) -> int:
    """Read a size in bytes, exactly.

    Raises:
        InputError: not a size, an ambiguous unit, or no whole number of bytes; the message has the right spelling.
    """
    number, unit = _split(text, "a size such as 4KiB, 4k, 1.5GiB or 4096")
    name = _binary_unit(unit)
    if name is None:
        raise InputError(_unit_text(text, number, unit))
    size_bytes = number * BYTES_PER_UNIT[name]
    if size_bytes.denominator != 1:
        raise InputError(f"{text} is {float(size_bytes):g} bytes; a size is a whole number of bytes")
    return int(size_bytes)


def spell_out(text: str) -> str:
    """Write a size of one letter with its unit in full (`256M` as `256MiB`); any other text stays as it is."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    name = _binary_unit(match[2]) if match and len(match[2]) == 1 else None
    return f"{match[1]}{name}" if match and name else text


def _binary_unit(unit: str) -> str | None:
    """Name the unit of a size: `K`, `k`, `Ki` and `KiB` are KiB; None for what is no unit, or one of two meanings."""
    if unit in {"", "B"}:
        return "B"
    letter, rest = unit[0].upper(), unit[1:].lower()
    return _BY_LETTER.get(letter) if rest in {"", "i", "ib"} else None


def parse_seconds(text: str) -> float:
    """Read a time in seconds.

    Raises:
        InputError: not a time, or a unit that is none of ns, us, ms, s, min, h.
    """
    number, unit = _split(text, "a time such as 500ms, 5s, 2min or 1h")
    if unit and unit not in SECONDS_PER_UNIT:
        known = ", ".join(SECONDS_PER_UNIT)
        raise InputError(f"'{text}': '{unit}' is not a unit of time; use one of {known}")
    return float(number * SECONDS_PER_UNIT[unit or "s"])


_LINK_UNITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_TRANSFER_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Of a device, whose data sheet is decimal."""
_RATE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([A-Za-z]{1,4})(?:/s)?\s*", re.ASCII)


def parse_link(text: str) -> float:
    """Read the rate of a link, in bits and decimal as on the box (`1Gbit`), as bytes per second; raises InputError."""
    return _parse_rate(text, _LINK_UNITS, "1Gbit") / 8


def parse_transfer_rate(text: str) -> float:
    """Read a rate in bytes (`640MB/s`) as bytes per second; raises InputError."""
    return _parse_rate(text, _TRANSFER_UNITS, "640MB/s")


def _parse_rate(text: str, units: dict[str, int], example: str) -> float:
    match = _RATE.fullmatch(text)
    if match is None or match[2] not in units:
        raise InputError(f"'{text}' is not a rate such as {example}; its units are {', '.join(units)}")
    rate = float(Fraction(match[1]) * units[match[2]])
    if rate <= 0:
        raise InputError("a rate is above 0")
    return rate


def format_number(value: float | None) -> str:
    """Print `0.0123`, `9.88`, `100`, `12,346`, `1.23M`: three significant digits, whole from 100 on."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if abs(value) >= 999_999.5:
        return f"{format_number(value / 1e6)}M"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) < _SMALLEST_FRACTION:
        return f"{value:.2g}"
    rounded = float(f"{value:.3g}")  # before digits are counted, or 0.9999 would print as 1.000
    return f"{rounded:.{2 - math.floor(math.log10(abs(rounded)))}f}"


def format_bytes(size_bytes: float | None) -> str:
    """Print a size in the largest binary unit that it fills: `1.50 GiB`, `512 B`."""
    if size_bytes is None:
        return ABSENT
    for unit, factor in reversed(BYTES_PER_UNIT.items()):
        if factor > 1 and abs(size_bytes) >= factor:
            return f"{format_number(size_bytes / factor)} {unit}"
    return f"{size_bytes:,.0f} B"


def format_ns(nanoseconds: float | None) -> str:
    """Print a duration given in nanoseconds: `850 ns`, `12.3 µs`, `1.02 ms`, `5.00 s`."""
    if nanoseconds is None:
        return ABSENT
    for factor, unit in _PRINTED_TIMES:
        if abs(nanoseconds) >= factor * 0.9995:
            return f"{format_number(nanoseconds / factor)} {unit}"
    return f"{format_number(nanoseconds)} ns"


def format_seconds(seconds: float) -> str:
    """Print a duration given in seconds."""
    return format_ns(seconds * 1e9)


def format_joules(joules: float) -> str:
    """Print an energy: `12.3 mJ`, `1.02 kJ`."""
    for factor, unit in _PRINTED_ENERGIES:
        if abs(joules) >= factor * 0.9995:
            return f"{format_number(joules / factor)} {unit}"
    return f"{format_number(joules * 1e6)} µJ"


def format_percent(share: float | None) -> str:
    """Print a share between 0 and 1 as a number of per cent, without the sign: `12.3`."""
    return ABSENT if share is None else f"{100 * share:.1f}"


def format_names(names: Sequence[str], most: int = 3) -> str:
    """Name things: `h1, h3`; of many the first `most`, and how many more: two at least, for one is named."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def format_share(share: float | None) -> str:
    """Print a share between 0 and 1 in per cent: `12.3 %`."""
    return ABSENT if share is None else f"{format_percent(share)}\N{NO-BREAK SPACE}%"


def _split(text: str, wanted: str) -> tuple[Fraction, str]:
    if len(text) > _MOST_CHARACTERS:
        raise InputError(f"'{text[:_MOST_CHARACTERS]}...' has {len(text)} characters; write {wanted}")
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is not {wanted}")
    return Fraction(match[1]), match[2]


def _unit_text(text: str, number: Fraction, unit: str) -> str:
    """Describe what `4KB` may mean, or report an unknown unit."""
    letter = unit[0].upper()
    if letter not in _BY_LETTER or unit[1:].lower() != "b":
        return f"'{text}': '{unit}' is not a unit of size; use one of {', '.join(BYTES_PER_UNIT)}"
    name = _BY_LETTER[letter]
    binary, decimal = number * BYTES_PER_UNIT[name], number * 1000 ** ("KMGTPE".index(letter) + 1)
    return f"'{text}' means two things: write {float(number):.15g}{name} ({int(binary):,} bytes), or {int(decimal)}B"
