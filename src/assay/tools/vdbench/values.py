"""The values of vdbench's parameters: sizes, times, per cents, lists and ranges.

Sizes are bytes, or binary with k, m, g, t behind them, with or without a b. Times are seconds, or with m or h behind them
minutes or hours. `(a-b,step)` counts up from a to b, `(a-b,d)` doubles.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from assay.plan.limits import NUMBERS
from assay.tools.vdbench.text import GivenParameter

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([kmgt]?)b?", re.IGNORECASE | re.ASCII)
_TIME = re.compile(r"([0-9]{1,9})([smh]?)", re.IGNORECASE | re.ASCII)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_FLAGS = {
    "o_direct": "direct", "directio": "direct", "direct": "direct", "o_sync": "sync", "o_dsync": "dsync", "fsync": "fsync"
}  # fmt: skip
MOST_BYTES = 1 << 62
MOST_VALUES = 1000
"""In one list: each is a run of its own."""
YEAR_S = 366 * 86_400
MOST_WORKERS = int(NUMBERS["workers"].most)


def number(text: str) -> Fraction | None:
    """Read a number with its factor; None: it is something else."""
    match = _NUMBER.fullmatch(text)
    return Fraction(match[1]) * _FACTORS[match[2].lower()] if match else None


def size(parameter: GivenParameter, text: str, *, least: int = 0, most: int = MOST_BYTES) -> int:
    """Read a size in bytes; raises FrontEndError where it is none, or out of range."""
    found = number(text)
    if found is None or found.denominator != 1:
        raise parameter.error(f"'{text[:40]}' is not a size; write bytes, or with k, m, g or t behind them, such as 8k")
    if not least <= found <= most:
        raise parameter.error(f"'{text}' lies between {least} and {most} bytes")
    return int(found)


def transfer(parameter: GivenParameter, text: str) -> int:
    """Read the size of an I/O: a multiple of 512 bytes."""
    found = size(parameter, text, least=512, most=1 << 30)
    if found % 512:
        raise parameter.error(f"'{text}': an I/O is a multiple of 512 bytes")
    return found


def seconds(parameter: GivenParameter) -> int:
    """Read a time; raises FrontEndError where it is none."""
    match = _TIME.fullmatch(parameter.single)
    found = int(match[1]) * _SECONDS[match[2].lower()] if match else -1
    if not 0 <= found <= YEAR_S:
        raise parameter.error("write whole seconds up to a year, or minutes or hours with m or h behind them")
    return found


def whole(parameter: GivenParameter, text: str, *, least: int, most: int) -> int:
    """Read a whole number in a range; raises FrontEndError."""
    found = number(text)
    if found is None or found.denominator != 1 or not least <= found <= most:
        raise parameter.error(f"'{text[:40]}': write a whole number from {least} to {most}")
    return int(found)


def real(parameter: GivenParameter, text: str, *, least: float, most: float) -> float:
    """Read a number in a range; raises FrontEndError."""
    found = number(text)
    if found is None or not least <= found <= most:
        raise parameter.error(f"'{text[:40]}': write a number from {least:g} to {most:g}")
    return float(found)


def per_cent(parameter: GivenParameter, text: str) -> float:
    """Read a share in per cent."""
    return real(parameter, text.removesuffix("%"), least=0, most=100)


def expand(parameter: GivenParameter) -> tuple[str, ...]:
    """Write a list out: values unchanged, and ranges `(a-b,step)` or `(a-b,d)` value by value.

    Raises:
        FrontEndError: a range that leads nowhere, or more values than 1000.
    """
    values = parameter.values
    first, separator, last = values[0].partition("-")
    if not separator:
        if len(values) > MOST_VALUES:
            raise parameter.error(f"{len(values)} values; the limit is {MOST_VALUES}")
        return values
    begin, end = number(first), number(last)
    if len(values) != 2 or begin is None or end is None or begin > end or (values[1] == "d" and not begin):
        raise parameter.error("write a range as (from-to,step), or (from-to,d) to double from above 0, upwards")
    step = None if values[1] == "d" else number(values[1])
    if (step is not None and step <= 0) or (step is None and values[1] != "d"):
        raise parameter.error("the step of a range is a number above 0, or d to double")
    found: list[Fraction] = []
    while begin <= end:
        if len(found) == MOST_VALUES:
            raise parameter.error(f"the range has more than {MOST_VALUES} values")
        found.append(begin)
        begin = begin * 2 if step is None else begin + step
    return tuple(str(int(value)) if value.denominator == 1 else f"{float(value):.9f}" for value in found)


# -- several values ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Transfer:
    """Sizes of I/O with their weights."""

    sizes: tuple[tuple[int, float], ...]
    align: int = 0
    """Of a range of sizes: what they and their places are multiples of."""

    @property
    def largest(self) -> int:
        """The longest I/O."""
        return max(size for size, _ in self.sizes)


OF_4K = Transfer(((4096, 100.0),))
OF_128K = Transfer(((128 << 10, 100.0),))
"""The default transfer size for going through a file, from version 5.03 on."""


def numbers(own: Mapping[str, GivenParameter], **ranges: tuple[int, int]) -> dict[str, int]:
    """Read the parameters of some names that are given, each a whole number in a range."""
    return {
        name: whole(own[name], own[name].single, least=least, most=most)
        for name, (least, most) in ranges.items()
        if name in own
    }


def two(parameter: GivenParameter, form: str) -> tuple[str, ...]:
    """Give the two values of a parameter."""
    if len(parameter.values) != 2:
        raise parameter.error(f"write it as {form}")
    return parameter.values


def part(parameter: GivenParameter | None) -> tuple[float, float] | None:
    """Begin and end: per cents of the size up to 100, else bytes."""
    if parameter is None:
        return None
    begin, end = (float(real(parameter, text, least=0, most=MOST_BYTES)) for text in two(parameter, "(from,to)"))
    if begin >= end:
        raise parameter.error("its end lies above its begin")
    return begin, end


def flags(parameter: GivenParameter | None) -> frozenset[str]:
    """Read openflags, each by what it does: direct, sync, dsync, fsync."""
    if parameter is None:
        return frozenset()
    found = set()
    for word in parameter.values:
        if word.lower() not in _FLAGS:
            raise parameter.error(f"'{word}' is not a supported flag; use one of {', '.join(_FLAGS)}")
        found.add(_FLAGS[word.lower()])
    return frozenset(found)


def transfers(parameter: GivenParameter) -> Transfer:
    """Read xfersize: a size, a distribution of pairs, or (min,max,align)."""
    words = parameter.values
    if len(words) == 1:
        return Transfer(((transfer(parameter, words[0]), 100.0),))
    if len(words) == 3:
        least, most, align = (transfer(parameter, word) for word in words)
        sizes = range(-(-least // align) * align, most + 1, align)
        if least >= most or not 1 <= len(sizes) <= 10_000:
            raise parameter.error(
                "(min,max,align): max lies above min, with 1 to 10,000 multiples of align between them"
            )
        return Transfer(tuple((size, 1.0) for size in sizes), align)
    return Transfer(pairs(parameter, transfer))


def pairs(parameter: GivenParameter, read: Callable[[GivenParameter, str], int]) -> tuple[tuple[int, float], ...]:
    """Read sizes with per cents that add up to 100."""
    words = parameter.values
    if len(words) % 2 or len(words) > 2 * MOST_VALUES // 4:
        raise parameter.error("write sizes with their per cents, such as (4k,30,8k,70)")
    found = tuple((read(parameter, words[i]), per_cent(parameter, words[i + 1])) for i in range(0, len(words), 2))
    total = sum(share for _, share in found)
    if round(total) != 100:
        raise parameter.error(f"its per cents add up to {total:g}, not to 100")
    return found


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """List the names that a wildcard or a range `sd1-sd8` means, in their order."""
    names = list(names)
    ends = re.fullmatch(r"([A-Za-z_.]{1,32})([0-9]{1,6})-(?:\1)?([0-9]{1,6})", pattern, re.ASCII)
    if ends and pattern not in names:
        wanted = {
            f"{ends[1]}{i:0{len(ends[2])}d}" for i in range(int(ends[2]), min(int(ends[3]), int(ends[2]) + 9999) + 1)
        }
        return [name for name in names if name in wanted]
    form = re.compile(".*".join(map(re.escape, re.sub(r"\*+", "*", pattern).split("*")[:8])))
    return [name for name in names if form.fullmatch(name)]


def match_names(parameter: GivenParameter, names: Sequence[str]) -> tuple[str, ...]:
    """Give the names that a parameter means; raises FrontEndError where one means none."""
    found: list[str] = []
    for pattern in parameter.values:
        meant = matching(pattern, names)
        if not meant:
            raise parameter.error(f"nothing is named '{pattern[:40]}'; there are {', '.join(names[:20]) or 'none'}")
        found += [name for name in meant if name not in found]
    return tuple(found)
