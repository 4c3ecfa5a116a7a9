"""Numbers, sizes and times as fio writes them.

A size is a whole number, decimal or `0x...`, and a unit without regard to case: `k m g t p`, also with a `b` behind it,
are powers of `kb_base`. With the usual `kb_base` of 1024 the forms with an `i` (`kib` to `pib`) are then powers of 1000,
and with 1000 powers of 1024: fio keeps the meaning that they had before the standard. A time is a whole number and
`us ms s m h d`; what it is in without a unit depends on the option.
"""

import re

US_PER_S = 1_000_000
MOST = 1 << 62
"""Beyond it no number here means anything."""

_UNITS = "kmgtp"
_SIZE = re.compile(r"([+-]?)(0x[0-9a-f]{1,16}|[0-9]{1,19})([a-z]*|%)", re.ASCII | re.IGNORECASE)
_TIME = re.compile(r"([0-9]{1,19})([a-z]*)", re.ASCII | re.IGNORECASE)
_TIMES_US = {
    "us": 1, "usec": 1, "ms": 1000, "msec": 1000, "s": US_PER_S, "m": 60 * US_PER_S, "h": 3600 * US_PER_S,
    "d": 86_400 * US_PER_S,
}  # fmt: skip
_REAL = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19})?|\.[0-9]{1,19}", re.ASCII)
_MOST_SHARES = 100
"""Entries of a bssplit or of zones: fio's own limit is 64."""


class BadValueError(ValueError):
    """What is wrong with a value, in words that go behind its option."""


def size(text: str, kb_base: int = 1024) -> int:
    """Read a size in bytes; raises BadValueError for anything else, and for a negative or relative one."""
    number, is_percent = size_or_percent(text, kb_base)
    if is_percent:
        raise BadValueError("a percentage is not supported; give bytes")
    return number


def size_or_percent(text: str, kb_base: int = 1024) -> tuple[int, bool]:
    """Read a size, and whether it is in per cent of something."""
    number, is_percent = signed_size(text, kb_base)
    if number < 0:
        raise BadValueError("is below zero")
    return number, is_percent


def signed_size(text: str, kb_base: int = 1024) -> tuple[int, bool]:
    """Read a size that may be below zero, and whether it is in per cent."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise BadValueError("is not a size; write it as 4k, 1m or 2g")
    sign, digits, unit = found.groups()
    number = int(digits, 16 if digits.lower().startswith("0x") else 10)
    if unit == "%":
        return number, True
    number *= _power(unit.lower(), kb_base)
    if number > MOST:
        raise BadValueError("is more than 4 EiB")
    return (-number if sign == "-" else number), False


def _power(unit: str, kb_base: int) -> int:
    if unit in {"", "b"}:
        return 1
    other = 1000 if kb_base == 1024 else 1024
    if unit[0] in _UNITS and unit[1:] in {"", "b", "ib"}:
        return int((other if unit[1:] == "ib" else kb_base) ** (_UNITS.index(unit[0]) + 1))
    raise BadValueError(f"has the unknown unit '{unit[:20]}'; use k, m, g, t or p")


def time_us(text: str, *, is_seconds: bool) -> int:
    """Read a time in microseconds; without a unit it is in seconds, or in microseconds."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise BadValueError("is not a time; write it as 500ms, 30s or 2m")
    digits, unit = int(found[1]), found[2].lower()
    factor = (US_PER_S if is_seconds else 1) if not unit else _TIMES_US.get(unit)
    if factor is None:
        raise BadValueError(f"has the unknown unit '{unit[:20]}'; use us, ms, s, m, h or d")
    if digits * factor > 366 * _TIMES_US["d"]:
        raise BadValueError("is longer than a year")
    return digits * factor


def whole(text: str, least: int = 0, most: int = MOST) -> int:
    """Read a whole number, which fio lets have a unit as a size has."""
    try:
        number, is_percent = signed_size(text)
    except BadValueError:
        raise BadValueError(f"must be a whole number from {least} to {most}") from None
    if is_percent or not least <= number <= most:
        raise BadValueError(f"must be a whole number from {least} to {most}")
    return number


def percentage(text: str, most: int = 100) -> int:
    """Read a whole number of per cent, with the sign or without."""
    return whole(text.strip().removesuffix("%"), 0, most)


def real(text: str) -> float:
    """Read a decimal number."""
    if not _REAL.fullmatch(text.strip()):
        raise BadValueError("is not a decimal number")
    return float(text)


def boolean(text: str | None) -> bool:
    """Read 0 or 1; an option without a value is on."""
    word = "1" if text is None or not text.strip() else text.strip().lower()
    if word not in {"0", "1", "true", "false"}:
        raise BadValueError("is neither 0 nor 1")
    return word in {"1", "true"}


def by_direction(text: str) -> tuple[str, str]:
    """Split a value for reads, writes and trims; what is left out is as the one before it."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 3:
        raise BadValueError("has more than three parts: reads, writes and trims")
    reads = parts[0]
    return reads, parts[1] if len(parts) > 1 and parts[1] else reads


def shares(text: str, kb_base: int) -> tuple[tuple[float, int], ...]:
    """Read a bssplit: sizes with their per cent; sizes without share what is left.

    Returns:
        (weight in per cent, size in bytes) of each.
    """
    parts = text.split(":")
    if len(parts) > _MOST_SHARES:
        raise BadValueError(f"has {len(parts)} sizes; the limit is {_MOST_SHARES}")
    found: list[tuple[int | None, int]] = []
    for part in parts:
        bytes_of, separator, share = part.partition("/")
        is_open = not separator or share.strip() in {"", "-"}
        found.append((None if is_open else percentage(share), size(bytes_of, kb_base)))
    given = sum(share for share, _ in found if share is not None)
    open_ones = sum(share is None for share, _ in found)
    if given > 100 or (given < 100 and not open_ones):
        raise BadValueError(f"has shares that add up to {given} %, not to 100")
    # fio deals the rest out in whole per cent.
    rest = (100 - given) // open_ones if open_ones else 0
    weighed = tuple((float(rest if share is None else share), bytes_of) for share, bytes_of in found)
    return tuple(one for one in weighed if one[0] > 0)


def span(text: str, kb_base: int) -> tuple[int, int]:
    """Read a range of sizes, `1k-4k` or `1k:4k`."""
    least, separator, most = (
        re.split(r"([-:])", text.strip(), maxsplit=1) if re.search(r"[-:]", text) else (text, "", "")
    )
    low = size(least, kb_base)
    high = size(most, kb_base) if separator else low
    return min(low, high), max(low, high)
