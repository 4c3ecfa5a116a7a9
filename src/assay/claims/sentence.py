"""What does a sentence claim? `LEFT is HOW-MUCH RIGHT`, in the words that reports use.

    sum(work) / sum(seconds) in MiB/s is 60.06 MiB/s            a value: what is computed rounds to the number as printed
    iops of last is at least 10,000                             a limit; also at most, more than, less than, between A and B
    fat_write is faster than ntfs_write                         an order; also slower, higher, lower, more, less
    during is at most 5 % higher than before                    by how much; also N times, N orders of magnitude
    a is as fast as b, a is within 2 % of b                     equality

`about` takes a tenth of the number to either side. Faster is more of a rate and less of a time. Behind it may stand:

    by COLUMN                   the rows of both sides whose COLUMN is alike are held against each other
    over COLUMN                 rows that differ in COLUMN are repeats of one thing: what is judged is its interval
    from storage, from page cache, as measured      (runs) what answered; a number of anything else decides nothing
"""

import dataclasses
import enum
import re
from collections.abc import Callable
from typing import Final

from assay.claims.accepted import Accepted, Bound, Stated, accepted
from assay.claims.stated_units import UNITS, StatedUnit
from assay.verdicts import ServedBy

MOST_CHARACTERS: Final = 600
"""Of a sentence."""
_AS_PRINTED: Final = 5e-4
"""Share by which two computed figures that are said to be one may differ."""
_ORDERS_WITHIN: Final = 0.5
"""Of an order of magnitude: so much to either side still rounds to it."""


class SentenceError(Exception):
    """A text claims nothing that is understood; the text says what is missing."""


class Lean(enum.StrEnum):
    """Which way a comparison goes."""

    MORE = "more"
    LESS = "less"
    FASTER = "faster"
    SLOWER = "slower"


class CountedIn(enum.StrEnum):
    """What the number of a comparison counts."""

    PERCENT = "percent"
    TIMES = "times"
    ORDERS = "orders of magnitude"


@dataclasses.dataclass(frozen=True)
class SaidValue:
    """A value, or a limit, in a unit."""

    accepted: Accepted
    unit: StatedUnit | None


@dataclasses.dataclass(frozen=True)
class Proportion:
    """How the left side stands to the right one."""

    way: Lean
    bound: Bound
    stated: Stated
    scale: CountedIn
    right: str
    is_equality: bool = False
    """Whether the two are said to be alike: a ratio of 1, to within the number."""
    is_order: bool = False
    """Whether no number is said, but who is ahead."""

    def ratios(self, *, is_time: bool, alike: float) -> tuple[Accepted, ...]:
        """Give the ratios left by right that make it true, by each way in which it may be meant.

        Args:
            is_time: Whether less of the quantity is faster.
            alike: Share by which what is `as fast` may differ.
        """
        if self.is_equality:
            share = self.stated.value / 100 if self.stated.value else alike
            return (Accepted(1 - share, 1 + share),)
        values = accepted(self.bound, self.stated)
        goes_down = self.way is Lean.LESS or (self.way is (Lean.FASTER if is_time else Lean.SLOWER))
        match self.scale:
            case CountedIn.ORDERS:
                return (values.through(lambda n: 10.0**-n if goes_down else 10.0**n),)
            case CountedIn.TIMES:
                return (values.through(lambda n: _inverse(n) if goes_down else n),)
            case _:
                sign = -1 if goes_down else 1
                found = [values.through(lambda n: 1 + sign * n / 100)]
        if is_time and self.way in {Lean.FASTER, Lean.SLOWER} and not self.is_order:
            # 10 % faster: a tenth less time, or a tenth more done in it.
            found.append(values.through(lambda n: _inverse(1 - sign * n / 100)))
        return tuple(found)


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else float("inf")


@dataclasses.dataclass(frozen=True)
class Sentence:
    """What is claimed of what."""

    left: str
    left_unit: StatedUnit | None
    """What its author says that the left side is in."""
    says: SaidValue | Proportion
    by: str = ""
    over: str = ""
    served: ServedBy | None = None
    """What answered, as claimed; None: it is not said."""
    is_as_measured: bool = False
    """Whether the author says that it may be of anything."""


_NUMBER = r"[+-]?\d[\d,]{0,30}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?"
_BOUNDS = {
    "at least": Bound.LEAST, "no less than": Bound.LEAST, ">=": Bound.LEAST,
    "at most": Bound.MOST, "no more than": Bound.MOST, "up to": Bound.MOST, "<=": Bound.MOST,
    "more than": Bound.MORE, "above": Bound.MORE, "over": Bound.MORE, ">": Bound.MORE,
    "less than": Bound.LESS, "below": Bound.LESS, "under": Bound.LESS, "<": Bound.LESS,
    "about": Bound.ABOUT, "around": Bound.ABOUT, "roughly": Bound.ABOUT, "nearly": Bound.ABOUT, "~": Bound.ABOUT,
    "exactly": Bound.EXACT,
}  # fmt: skip
_WAYS = {
    "faster": Lean.FASTER, "better": Lean.FASTER, "slower": Lean.SLOWER, "worse": Lean.SLOWER,
    "higher": Lean.MORE, "more": Lean.MORE, "larger": Lean.MORE, "greater": Lean.MORE, "longer": Lean.MORE,
    "above": Lean.MORE,
    "lower": Lean.LESS, "less": Lean.LESS, "smaller": Lean.LESS, "shorter": Lean.LESS, "below": Lean.LESS,
}  # fmt: skip
_SMALL = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
_BOUND = "|".join(sorted(map(re.escape, _BOUNDS), key=len, reverse=True))
_WAY = "|".join(_WAYS)
_SERVED = {
    "storage": ServedBy.STORAGE, "page cache": ServedBy.PAGE_CACHE, "the page cache": ServedBy.PAGE_CACHE,
    "memory": ServedBy.PAGE_CACHE, "write-back": ServedBy.WRITE_BACK, "server cache": ServedBy.SERVER_CACHE,
}  # fmt: skip

_CLAUSES = re.compile(
    r"\s+(?:by\s+(?P<by>[A-Za-z_][\w.-]*)|over\s+(?P<over>[A-Za-z_][\w.-]*)"
    rf"|from\s+(?P<served>{'|'.join(_SERVED)})|(?P<any>as\s+measured))$"
)
_PARTS = re.compile(r"(?P<left>.+?)(?:\s+in\s+(?P<unit>[\w/%µ]+))?\s+(?:is|are|was|were)\s+(?P<rest>.+)")
_BETWEEN = re.compile(rf"between\s+(?P<low>{_NUMBER})\s+and\s+(?P<high>{_NUMBER})\s*(?P<unit>[\w/%µ]*)")
_AS = re.compile(r"(?:as\s+(?:fast|large|high|slow)\s+as|the\s+same\s+as|equal\s+to)\s+(?P<right>.+)")
_WITHIN = re.compile(rf"within\s+(?P<number>{_NUMBER})\s*%\s+of\s+(?P<right>.+)")
_SHARE = re.compile(rf"(?:(?P<bound>{_BOUND})\s+)?(?P<number>{_NUMBER})\s*%\s+(?P<way>{_WAY})\s+than\s+(?P<right>.+)")
_TIMES = re.compile(
    rf"(?:(?P<bound>{_BOUND})\s+)?(?P<number>{_NUMBER})\s*(?:times|x)\s+"
    rf"(?:(?P<way>{_WAY})(?:\s+than)?\s+)?(?P<right>.+)"
)
_ORDERS = re.compile(
    rf"(?:about\s+)?(?P<number>{_NUMBER}|{'|'.join(_SMALL)})\s+orders?\s+of\s+magnitude\s+"
    rf"(?P<way>{_WAY})(?:\s+than)?\s+(?P<right>.+)"
)
_ORDER = re.compile(rf"(?P<way>{_WAY})\s+than\s+(?P<right>.+)")
_VALUE = re.compile(rf"(?:(?P<bound>{_BOUND})\s+)?(?P<number>{_NUMBER})(?:\s*(?P<unit>[A-Za-z/%µ]\S*))?")
_SIDES = re.compile(rf"(?:(?P<bound>{_BOUND})\s+)?(?P<right>[^\d\s+-].*)")


def parse(text: str) -> Sentence:
    """Read a sentence; raises SentenceError."""
    if len(text) > MOST_CHARACTERS:
        raise SentenceError(f"it has {len(text)} letters; {MOST_CHARACTERS} are the most")
    text = " ".join(text.split()).removesuffix(".")
    clauses: dict[str, str] = {}
    while (found := _CLAUSES.search(text)) is not None and found.lastgroup not in clauses:
        clauses[found.lastgroup or ""] = found[found.lastgroup or 0]
        text = text[: found.start()]
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise SentenceError("it does not say what 'is' how much")
    return Sentence(
        left=parts["left"],
        left_unit=_unit(parts["unit"]),
        says=_says(parts["rest"]),
        by=clauses.get("by", ""),
        over=clauses.get("over", ""),
        served=_SERVED.get(clauses.get("served", "")),
        is_as_measured="any" in clauses,
    )


def _says(rest: str) -> SaidValue | Proportion:
    for pattern, read in _READ:
        if found := pattern.fullmatch(rest):
            return read(found)
    raise SentenceError("what is said is no number, limit or comparison")


_Found = re.Match[str]


def _between(found: _Found) -> SaidValue:
    low, high = stated(found["low"]), stated(found["high"])
    half = min(low.half_digit, high.half_digit)
    return SaidValue(Accepted(low.value - half, high.value + half), _unit(found["unit"]))


def _value(found: _Found) -> SaidValue:
    bound = _BOUNDS.get(found["bound"] or "exactly", Bound.EXACT)
    return SaidValue(accepted(bound, stated(found["number"])), _unit(found["unit"]))


def _alike(found: _Found) -> Proportion:
    return Proportion(Lean.MORE, Bound.ABOUT, Stated(0, 0), CountedIn.PERCENT, found["right"], is_equality=True)


def _within(found: _Found) -> SaidValue | Proportion:
    share = stated(found["number"])
    if share.value <= 0:
        raise SentenceError("'within' takes a share above 0")
    if value := _VALUE.fullmatch(found["right"]):
        middle = stated(value["number"]).value
        half = abs(middle) * share.value / 100
        return SaidValue(Accepted(middle - half, middle + half), _unit(value["unit"]))
    return Proportion(Lean.MORE, Bound.ABOUT, share, CountedIn.PERCENT, found["right"], is_equality=True)


def _orders(found: _Found) -> Proportion:
    number = stated(_SMALL.get(found["number"], found["number"]))
    within = Stated(number.value, _ORDERS_WITHIN)
    return Proportion(_WAYS[found["way"]], Bound.EXACT, within, CountedIn.ORDERS, found["right"])


def _order(found: _Found) -> Proportion:
    return Proportion(_WAYS[found["way"]], Bound.MORE, Stated(0, 0), CountedIn.PERCENT, found["right"], is_order=True)


def _to_another(found: _Found) -> Proportion:
    bound = _BOUNDS.get(found["bound"] or "exactly", Bound.EXACT)
    return Proportion(Lean.MORE, bound, Stated(1, _AS_PRINTED), CountedIn.TIMES, found["right"])


def _proportion(found: _Found, scale: CountedIn) -> Proportion:
    bound = _BOUNDS.get(found["bound"] or "exactly", Bound.EXACT)
    way = _WAYS[found["way"]] if found["way"] else Lean.MORE
    number = stated(found["number"])
    if number.value < 0 or (scale is CountedIn.TIMES and number.value == 0):
        raise SentenceError("how much more or less is a number above 0")
    return Proportion(way, bound, number, scale, found["right"])


def stated(text: str) -> Stated:
    """Read a number with what its last digit leaves open."""
    text = text.replace(",", "")
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return Stated(float(text), 0.5 * 10.0 ** (int(exponent or 0) - digits))


def _unit(name: str | None) -> StatedUnit | None:
    if not name:
        return None
    if (found := UNITS.get(name)) is None:
        raise SentenceError(f"'{name[:20]}' is no unit that is known, such as MiB/s, IOPS, ms or %")
    return found


_READ: tuple[tuple[re.Pattern[str], Callable[[_Found], SaidValue | Proportion]], ...] = (
    (_BETWEEN, _between),
    (_AS, _alike),
    (_WITHIN, _within),
    (_SHARE, lambda found: _proportion(found, CountedIn.PERCENT)),
    (_ORDERS, _orders),
    (_TIMES, lambda found: _proportion(found, CountedIn.TIMES)),
    (_VALUE, _value),
    (_ORDER, _order),
    (_SIDES, _to_another),
)
"""In the order in which they are asked: what would be taken for something shorter first."""
