"""Read regions such as `sweet: file<=2M & record<=32K`, and weights of file sizes."""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay.errors import InputError
from assay.units import parse_bytes

MOST_REGIONS: Final = 20
MOST_WEIGHTS: Final = 200
_MOST_CHARACTERS = 200
_BOUND = re.compile(r"\s*(file|record)\s*(<=|>=|<|>|=)\s*([0-9.]+\s*[A-Za-z]*)\s*", re.ASCII)
_SIGNS: Mapping[str, Callable[[int, int], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq,
}  # fmt: skip
_WEIGHT = re.compile(r"\s*([0-9.]+\s*[A-Za-z]*)\s*[:=,;\s]\s*([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True)
class SizeBound:
    """A size of a cell, and what it is held against."""

    of: str
    """`file` or `record`."""
    sign: str
    size_bytes: int


@dataclass(frozen=True)
class Region:
    """A box of a surface."""

    name: str
    bounds: tuple[SizeBound, ...]

    def holds(self, file_bytes: int, record_bytes: int) -> bool:
        """Whether a cell lies in it."""
        sizes = {"file": file_bytes, "record": record_bytes}
        return all(_SIGNS[bound.sign](sizes[bound.of], bound.size_bytes) for bound in self.bounds)


def parse_region(text: str) -> Region:
    """Read a region.

    Raises:
        InputError: it is none; the message explains what one looks like.
    """
    name, colon, bounds = text.partition(":")
    found = [_BOUND.fullmatch(part) for part in bounds.split("&")] if len(text) <= _MOST_CHARACTERS else [None]
    if not colon or not name.strip() or None in found:
        raise InputError(
            f"--region '{text[:_MOST_CHARACTERS]}': write a name, then bounds of file and record with <=, <, =, > or >=,"
            " such as 'sweet: file<=2M & record<=32K'"
        )
    return Region(name.strip(), tuple(SizeBound(one[1], one[2], parse_bytes(one[3])) for one in found if one))


@dataclass(frozen=True)
class Weights:
    """How files spread over sizes: a share for each size; together 1."""

    shares: tuple[tuple[int, float], ...]

    def of_rows(self, files: Sequence[int]) -> tuple[dict[int, float], float]:
        """Give each row the share of the files of its size.

        A share goes to the row whose size is nearest, as a factor; one that is more than a factor of two away from every row
        goes to none.

        Returns:
            Share by file size, and what went to some row.
        """
        found: dict[int, float] = {}
        for size_bytes, share in self.shares:
            nearest = min(files, key=lambda file_bytes: abs(math.log2(file_bytes / size_bytes)))
            if abs(math.log2(nearest / size_bytes)) <= 1:
                found[nearest] = found.get(nearest, 0.0) + share
        return found, sum(found.values())


def parse_weights(text: str, where: str) -> Weights:
    """Read weights: `64K:0.5, 1M:0.3, 16M:0.2`, or a line each; shares, per cents or numbers of files.

    Raises:
        InputError: it is none; the message explains what they look like.
    """
    shares = dict[int, float]()
    for part in _parts(text):
        found = _WEIGHT.fullmatch(part)
        if found is None:
            raise InputError(f"{where}: '{part[:60]}' is no size with its share, such as 64K:0.5")
        size_bytes = parse_bytes(found[1])
        if size_bytes <= 0:
            raise InputError(f"{where}: '{part[:60]}': files of no size are on no surface")
        shares[size_bytes] = shares.get(size_bytes, 0.0) + float(found[2])
        if len(shares) > MOST_WEIGHTS:
            raise InputError(f"{where}: these are more than {MOST_WEIGHTS} sizes")
    whole = sum(shares.values())
    if whole <= 0:
        raise InputError(f"{where}: no size has a share; such as 64K:0.5,1M:0.3,16M:0.2 is wanted")
    return Weights(tuple((size_bytes, share / whole) for size_bytes, share in sorted(shares.items())))


def _parts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = line.partition("#")[0]
        # A comma is between entries where there is a colon, and between a size and its share where there is none.
        parts = bare.split(",") if ":" in bare or "=" in bare else [bare]
        yield from (part.strip() for part in parts if part.strip())
