"""IO500: the summary of its results, a line each: `[RESULT] NAME VALUE UNIT : time SECONDS seconds`.

Where it broke the rules `[INVALID]` is at the end. GiB/s are binary, kIOPS are thousands. The scores are geometric means
of these and no measurement, so they are left out.
"""

import itertools
import re
from collections.abc import Iterable

from assay.decode.claim import Circumstances, Claim, Doing

NAME = "io500"

_RESULT = re.compile(
    r"^[ \t]*\[RESULT\] +([a-z0-9-]{1,60}) +([0-9.]{1,30}) (GiB/s|kIOPS) *: *time ([0-9.]{1,30}) seconds *(\[INVALID\])?",
    re.MULTILINE | re.IGNORECASE,
)
_VERSION = re.compile(r"^[ \t]*IO500 version (\S{1,60})", re.MULTILINE)
_GIB = 1 << 30
_ACTIONS = (
    ("-write", Doing.WRITE),
    ("-read", Doing.READ),
    ("-stat", Doing.STAT),
    ("-delete", Doing.DELETE),
    ("find", Doing.STAT),
)


def read(text: str) -> Iterable[Claim] | None:
    """Read every result."""
    found = _RESULT.finditer(text)
    if (first := next(found, None)) is None:
        return None
    version = _VERSION.search(text)
    during = Circumstances(version=version[1].removeprefix("io500-") if version else None)
    return (_figure(match, during) for match in itertools.chain([first], found))


def _figure(match: re.Match[str], during: Circumstances) -> Claim:
    name, seconds = match[1], _number(match[4])
    is_of_data = match[3].lower() == "gib/s"
    action = next((doing for ending, doing in _ACTIONS if name.endswith(ending)), Doing.MIXED)
    if action is Doing.WRITE and not is_of_data:
        action = Doing.CREATE
    value = _number(match[2])
    return Claim(
        test=name,
        action=action,
        bytes_per_s=value * _GIB if is_of_data else None,
        ops_per_s=None if is_of_data else value * 1000,
        outstanding=None,
        seconds=seconds or None,
        objection="it is marked [INVALID]: the run broke the rules of IO500" if match[5] else "",
        during=during,
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is no number") from error
