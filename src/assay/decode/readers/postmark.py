"""PostMark's verbose report: whole seconds, and rates that are whole numbers."""

import re
from collections.abc import Sequence

from assay.decode.claim import Claim, Doing

NAME = "postmark"

_UNITS = {"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20}
_COUNTS = (
    ("transactions", r"seconds of transactions \(([0-9]{1,18}) per second\)", Doing.MIXED),
    ("creation alone", r"Creation alone: [0-9]{1,18} files \(([0-9]{1,18}) per second\)", Doing.CREATE),
    ("deletion alone", r"Deletion alone: [0-9]{1,18} files \(([0-9]{1,18}) per second\)", Doing.DELETE),
)
_DATA = re.compile(r"([0-9.]{1,20}) (\w+) (read|written) \(([0-9.]{1,20}) (\w+) per second\)")


def read(text: str) -> Sequence[Claim] | None:
    """Read a report."""
    if "seconds of transactions (" not in text or "Creation alone" not in text:
        return None
    found = [
        Claim(test=name, action=action, ops_per_s=float(match[1]), is_flushed=False)
        for name, pattern, action in _COUNTS
        if (match := re.search(pattern, text)) is not None
    ]
    for match in _DATA.finditer(text):
        if match[2] not in _UNITS or match[5] not in _UNITS:
            raise ValueError(f"its unit '{match[5]}' is none of {', '.join(_UNITS)}")
        action = Doing.READ if match[3] == "read" else Doing.WRITE
        size, rate = float(match[1]) * _UNITS[match[2]], float(match[4]) * _UNITS[match[5]]
        found.append(
            Claim(test=f"data {match[3]}", action=action, bytes_per_s=rate, set_bytes=int(size), is_flushed=False)
        )
    return found
