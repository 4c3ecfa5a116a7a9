"""Read untrusted JSON: shallow, with numbers of a bounded length.

The decoder itself checks types, UTF-8 and what a field may be; what it would take to pieces without end is refused here.
"""

import re
from typing import TypeVar

import msgspec

T = TypeVar("T")

DEEPEST = 100
"""Levels of lists and objects; the deepest Plan that a front end makes has a dozen."""
LONGEST_NUMBER = 24
"""Digits in a row: 20 hold the largest number of 64 bits, 17 any fraction."""

# Always a match from a quote on, and never a second try: text that ends within a string would take for ever.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
_LONG = re.compile(rb"[0-9]{%d}" % (LONGEST_NUMBER + 1))
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def decode(data: bytes, kind: type[T]) -> T:
    """Decode a document.

    Raises:
        ValueError: it is none of that kind; the message explains why, and where.
    """
    bare = _STRING.sub(b"", data)
    if _LONG.search(bare):
        raise ValueError(f"a number of more than {LONGEST_NUMBER} digits")
    if _is_deep(bare.translate(None, delete=_NO_BRACKETS)):
        raise ValueError(f"nested more than {DEEPEST} deep")
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _is_deep(brackets: bytes) -> bool:
    """Whether brackets are nested too deep; what has none to match is for the decoder to find."""
    for _ in range(DEEPEST):
        outer = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(outer) == len(brackets):
            return False
        brackets = outer
    return bool(brackets)
