"""What does a size or a time in a text mean?

Sizes are binary and say so: `4KiB`, `4 KiB`, `1.5GiB`, `512B`, `4096`. Decimal and one-letter spellings (`4k`, `4KB`)
mean different numbers in different tools, so they are refused. Times: `500ms`, `5s`, `2min`, `1h`, `0.5`. Arithmetic is
exact (fractions), so `0.1GiB`, which is no whole number of bytes, is refused and not rounded.
"""

import re
from fractions import Fraction

BYTES_PER_UNIT = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SECONDS_PER_UNIT = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", re.ASCII)


def parse_bytes(text: str | float) -> int:
    """Read a size in bytes, exactly.

    Raises:
        ValueError: not a size, an ambiguous unit, or no whole number of bytes; the text says which spelling is right.
    """
    if not isinstance(text, str):
        return _whole_bytes(Fraction(text), str(text))
    number, unit = _split(text, "a size such as 4KiB, 1MiB, 1.5GiB or 4096")
    if not unit:
        return _whole_bytes(number, text)
    if unit not in BYTES_PER_UNIT:
        raise ValueError(_unit_text(text, number, unit))
    return _whole_bytes(number * BYTES_PER_UNIT[unit], text)


def parse_seconds(text: str | float) -> float:
    """Read a time in seconds.

    Raises:
        ValueError: not a time, or a unit that is none of ns, us, ms, s, min, h.
    """
    if not isinstance(text, str):
        if not 0 <= text < float("inf"):
            raise ValueError(f"{text} is not a time; write a number of seconds from 0 on, or a text such as 500ms")
        return float(text)
    number, unit = _split(text, "a time such as 500ms, 5s, 2min or 1h")
    if unit and unit not in SECONDS_PER_UNIT:
        known = ", ".join(SECONDS_PER_UNIT)
        raise ValueError(f"'{text}': '{unit}' is not a unit of time; use one of {known}")
    return float(number * SECONDS_PER_UNIT.get(unit, 1))


def _split(text: str, wanted: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not {wanted}")
    return Fraction(match[1]), match[2]


def _whole_bytes(number: Fraction, text: str) -> int:
    if number < 0:
        raise ValueError(f"{text} is negative; a size is 0 or more")
    if number.denominator != 1:
        raise ValueError(f"{text} is {float(number):g} bytes; a size is a whole number of bytes")
    return int(number)


def _unit_text(text: str, number: Fraction, unit: str) -> str:
    """Say which spelling was meant by `4k`, `4KB`, `4kib`."""
    letter = unit[0].upper()
    names = {name[0]: name for name in BYTES_PER_UNIT if name != "B"}
    if letter not in names or unit.lower() not in (letter.lower() + rest for rest in ("", "b", "i", "ib")):
        return f"'{text}': '{unit}' is not a unit of size; use one of {', '.join(BYTES_PER_UNIT)}"
    name = names[letter]
    binary = f"{float(number):g}{name}"
    if unit.lower() == name.lower():
        return f"'{text}': write {binary}"
    exponent = "KMGT".index(letter) + 1
    decimal = number * 1000**exponent
    return (
        f"'{text}' means two things: write {binary} ({int(number * BYTES_PER_UNIT[name])} bytes), "
        f"or {int(decimal)} for the decimal unit"
    )
