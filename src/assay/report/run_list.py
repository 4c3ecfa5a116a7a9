"""Lay out a list of runs: two lines per run on a narrow terminal, one on a wide one and in a pipe.

    RUN                                            NAME      TAGS
      LOAD          TARGET            WHEN          RATE        TRUST           STATE
    20261121T210058Z-random-read-45b625c7          baseline  nvme old
      random-read   /mnt/scr…/data    Nov 21 21:00  8,233 IOPS   7 yes 2 weak    exit 3

Columns are as wide as their texts; on a narrow terminal the target is shortened first, in its middle, then the load. No
word is wrapped, and no id shortened. The usual state (sealed, exit code 0, the user's own) is not printed.
"""

import datetime as dt
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from assay.bundle.catalog import SEALED, RunSummary
from assay.outward import one_line
from assay.units import format_number

_GAP = "  "
_INDENT = "  "
_ELLIPSIS = "…"
_LEAST_CELLS = 5
"""Width to which columns are shortened, so that id, name and tags fit into 80 columns."""
_MOST_CELLS = 120
"""To which it is in any case: one load with a name of megabytes is to widen no other line."""
_SHORTENED = ("TARGET", "LOAD", "TAGS", "NAME", "RATE", "STATE")
"""Columns that give way, the first first."""
_OF_RUN = ("RUN", "NAME", "TAGS")
_OF_WORK = ("LOAD", "TARGET", "WHEN", "RATE", "TRUST", "STATE")
_STORAGE = ("storage", "virtual_disk", "server", "unknown")
"""What served a rate that is printed without a note."""


def lines(found: Sequence[RunSummary], width: int | None, now: dt.datetime) -> Iterator[str]:
    """Lay a list out.

    Args:
        found: The runs, in order.
        width: Columns of the terminal; None: as many as it takes.
        now: The local time.
    """
    rows = [_cells(run, now) for run in found]
    used = {
        column: max(cell_len(column), *(cell_len(row[column]) for row in rows))
        for column in (*_OF_RUN, *_OF_WORK)
        if any(row[column] for row in rows)
    }
    layouts = [[column for column in columns if column in used] for columns in (_OF_RUN, _OF_WORK)]
    head = {column: column for column in used}
    one = [*layouts[0], *layouts[1]]
    if width is None or _total(one, used) <= width:
        for row in (head, *rows):
            yield _line(row, one, used)
        return
    for columns, room in zip(layouts, (width, width - len(_INDENT)), strict=True):
        used |= _fitted(columns, used, room)
    for row in (head, *rows):
        yield _line(row, layouts[0], used)
        yield _INDENT + _line(row, layouts[1], used)


def _cells(run: RunSummary, now: dt.datetime) -> dict[str, str]:
    cells = {
        "RUN": run.run_id,
        "NAME": run.name or "",
        "TAGS": " ".join(run.tags),
        "LOAD": run.load,
        "TARGET": run.target,
        "WHEN": when(run.started_utc, now),
        "RATE": _rate(run),
        "TRUST": " ".join(f"{count} {level}" for level, count in (run.trust or {}).items() if count),
        "STATE": _state(run),
    }
    return {column: shortened(one_line(text), _MOST_CELLS) for column, text in cells.items()}


def when(utc: str, now: dt.datetime) -> str:
    """Format a local time as `ls -l` does: with the time of day or else the year."""
    if not utc:
        return ""
    began = dt.datetime.fromisoformat(utc).astimezone()
    if began.year != now.year:
        return f"{began:%Y-%m-%d}"
    return f"{began:%H:%M}" if began.date() == now.date() else f"{began:%b %d %H:%M}"


def _rate(run: RunSummary) -> str:
    if run.head is None:
        return ""
    rate = f"{format_number(run.head.value)} {run.head.unit}"
    return rate if run.head.measures in _STORAGE else f"{rate} ({run.head.measures.replace('_', ' ')})"


def _state(run: RunSummary) -> str:
    if run.state != SEALED:
        return f"{run.state} of user {run.owner}" if run.owner else run.state
    ended = f"exit {run.exit_code}" if run.exit_code else ""
    owner = f"of user {run.owner}" if run.owner else ""
    return " ".join(word for word in ("foreign" if run.is_foreign else "", ended, owner) if word)


def _total(columns: Sequence[str], used: dict[str, int]) -> int:
    return sum(used[column] for column in columns) + len(_GAP) * (len(columns) - 1)


def _fitted(columns: Sequence[str], used: dict[str, int], room: int) -> dict[str, int]:
    """Narrow columns until they fit, as far as that goes."""
    widths = {column: used[column] for column in columns}
    for column in _SHORTENED:
        if (over := _total(columns, widths) - room) <= 0:
            break
        if column in widths:
            widths[column] = min(widths[column], max(_LEAST_CELLS, widths[column] - over))
    return widths


def _line(row: dict[str, str], columns: Sequence[str], widths: dict[str, int]) -> str:
    cells = (set_cell_size(shortened(row[column], widths[column]), widths[column]) for column in columns)
    return _GAP.join(cells).rstrip()


def shortened(text: str, cells: int) -> str:
    """Take out of the middle what does not fit into `cells` cells."""
    if cell_len(text) <= cells:
        return text
    rest = max(0, cells - cell_len(_ELLIPSIS))
    begin = set_cell_size(text, rest // 2).rstrip()
    end = text[-2 * cells :]
    while cell_len(end) > rest - rest // 2:
        end = end[1:]
    return f"{begin}{_ELLIPSIS}{end}"
