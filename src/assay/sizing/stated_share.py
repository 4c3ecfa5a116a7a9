"""Read shares from the command line: `30%` or `0.3`."""

import re
from typing import Final

from assay.errors import InputError

_SHARE: Final = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,6})?)\s*(%?)")


MOST_FREE: Final = 0.99
"""Of headroom and what caches take: something must be left."""


def parse_share(text: str, option: str, *, most: float = 1.0) -> float:
    """Read a share, as per cent or as a fraction.

    Raises:
        InputError: It is none, or above `most`.
    """
    match = _SHARE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{option} '{text[:20]}': write a share such as 30% or 0.3")
    share = float(match[1]) / (100 if match[2] else 1)
    if share > most:
        raise InputError(f"{option} {text}: {most:.0%} is the most; write 30% or 0.3")
    return share
