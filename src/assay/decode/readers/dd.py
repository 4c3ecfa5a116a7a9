"""`dd`: its last line on standard error. It does not report whether it read or wrote, and flushed."""

import itertools
import re
from collections.abc import Iterable

from assay.decode.claim import Claim, Doing

NAME = "dd"

_MOST_COPIES = 10_000

_LINE = re.compile(r"^([0-9]{1,20}) bytes .*copied, ([0-9.]{1,20}(?:e[-+]?[0-9]{1,3})?) s(?:econds)?, ", re.MULTILINE)


def read(text: str) -> Iterable[Claim] | None:
    """Read the lines of one or more copies."""
    found = list(itertools.islice(_LINE.finditer(text), _MOST_COPIES + 1))
    if len(found) > _MOST_COPIES:
        raise ValueError(f"it has more than {_MOST_COPIES} copies")
    return [
        Claim(test=f"copy {n}" if len(found) > 1 else "copy", action=Doing.COPY, bytes_per_s=size / s, set_bytes=size)
        for n, (size, s) in enumerate(((int(match[1]), float(match[2])) for match in found), 1)
        if s > 0
    ] or None
