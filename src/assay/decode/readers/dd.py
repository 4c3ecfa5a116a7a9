"""`dd`: its last line on standard error. Whether it read or wrote, and flushed, it does not say."""

import re
from collections.abc import Sequence

from assay.decode.claim import Claim, Doing

NAME = "dd"

_LINE = re.compile(r"^([0-9]{1,20}) bytes .*copied, ([0-9.]{1,20}(?:e[-+]?[0-9]{1,3})?) s(?:econds)?, ", re.MULTILINE)


def read(text: str) -> Sequence[Claim] | None:
    """Read the lines of one or more copies."""
    found = [(int(match[1]), float(match[2])) for match in _LINE.finditer(text)]
    return [
        Claim(test=f"copy {n}" if len(found) > 1 else "copy", action=Doing.COPY, bytes_per_s=size / s, set_bytes=size)
        for n, (size, s) in enumerate(found, 1)
        if s > 0
    ] or None
