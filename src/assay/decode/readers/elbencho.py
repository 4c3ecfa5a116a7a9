"""elbencho's CSV file: one row a phase, the names of the columns in the first."""

import csv
from collections.abc import Iterator, Mapping, Sequence

from assay.decode.claim import Claim, Doing

NAME = "elbencho"

_FIRST, _NEEDED = "ISO date,", ("operation", "threads", "IOPS [last]", "MiB/s [last]")
_ACTIONS = {
    "READ": Doing.READ,
    "WRITE": Doing.WRITE,
    "MKDIRS": Doing.CREATE,
    "STAT": Doing.STAT,
    "RMFILES": Doing.DELETE,
    "RMDIRS": Doing.DELETE,
}
_MIB = 1 << 20


def read(text: str) -> Sequence[Claim] | None:
    """Read every row, by the rate at the end of the slowest thread."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(_FIRST):
        return None
    rows = csv.DictReader(lines)
    missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
    if missing:
        raise ValueError(f"its column '{missing[0]}' is missing")
    return [figure for row in rows for figure in _of_row(row)]


def _of_row(row: Mapping[str, str | None]) -> Iterator[Claim]:
    operation = (row.get("operation") or "").upper()
    # Names of a header that was repeated, phases that move nothing (SYNC, DROPCACHES).
    if operation not in _ACTIONS:
        return
    moved, iops, entries = (_number(row.get(name)) for name in ("MiB/s [last]", "IOPS [last]", "entries/s [last]"))
    total = _number(row.get("MiB [last]"))
    workers = [_number(row.get(name)) or 1 for name in ("hosts", "threads", "IO depth")]
    yield Claim(
        test=operation,
        action=_ACTIONS[operation],
        bytes_per_s=moved * _MIB if moved else None,
        ops_per_s=iops or entries,
        set_bytes=int(total * _MIB) if total else None,
        clients=int(workers[0]),
        outstanding=int(workers[0] * workers[1] * workers[2]),
        is_direct=row.get("direct IO") == "1",
        is_flushed=False if _ACTIONS[operation] is Doing.WRITE else None,
    )


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < 1e15 else None
