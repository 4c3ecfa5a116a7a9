"""PostMark's verbose report: whole seconds, and rates that are whole numbers."""

import re
from collections.abc import Iterable, Iterator

from assay.decode.claim import Circumstances, Claim, Doing

NAME = "postmark"

_UNITS = {"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20}
_COUNTS = (
    (
        "transactions",
        r"([0-9]{1,18}) seconds of transactions \(([0-9]{1,18}) per second\)",
        Doing.MIXED,
        "transactions/*",
    ),
    (
        "creation alone",
        r"Creation alone: ([0-9]{1,18}) files \(([0-9]{1,18}) per second\)",
        Doing.CREATE,
        "create/create",
    ),
    (
        "deletion alone",
        r"Deletion alone: ([0-9]{1,18}) files \(([0-9]{1,18}) per second\)",
        Doing.DELETE,
        "delete/delete",
    ),
)
"""Of each: its name, where its rate is, and how `assay postmark` calls phase and operation."""
_VERSION = re.compile(r"^PostMark v([0-9.]{1,20})", re.MULTILINE)
_DATA = re.compile(r"([0-9.]{1,20}) (\w+) (read|written) \(([0-9.]{1,20}) (\w+) per second\)")


def read(text: str) -> Iterable[Claim] | None:
    """Read a report."""
    if "seconds of transactions (" not in text or "Creation alone" not in text:
        return None
    version = _VERSION.search(text)
    return _figures(text, Circumstances(version=version[1] if version else None))


def _figures(text: str, during: Circumstances) -> Iterator[Claim]:
    for name, pattern, action, place in _COUNTS:
        for match in re.finditer(pattern, text):
            yield Claim(
                test=name,
                action=action,
                ops_per_s=float(match[2]),
                is_flushed=False,
                place=tuple(place.split("/")),
                workers=1,
                queue_depth=1,
                during=during,
                **({"seconds": float(match[1])} if name == "transactions" else {"ops": int(match[1])}),
            )
    for match in _DATA.finditer(text):
        if match[2] not in _UNITS or match[5] not in _UNITS:
            raise ValueError(f"its unit '{match[5]}' is not one of {', '.join(_UNITS)}")
        action = Doing.READ if match[3] == "read" else Doing.WRITE
        size, rate = float(match[1]) * _UNITS[match[2]], float(match[4]) * _UNITS[match[5]]
        yield Claim(
            test=f"data {match[3]}",
            action=action,
            bytes_per_s=rate,
            set_bytes=int(size),
            is_flushed=False,
            moved_bytes=int(size),
            during=during,
        )
