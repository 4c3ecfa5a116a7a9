"""Format row numbers, and find the rows of a finding."""

from collections.abc import Collection, Sequence

from assay.analysis.repeats_by_label import by_label
from assay.results import Document

_MOST_RANGES = 4


def rows_words(rows: Sequence[int], prefix: str = "", *, most: int = _MOST_RANGES) -> str:
    """Write 1, 2, 3, 5 as `1-3, 5`; of many that lie apart the first, and how many others there are."""
    ranges: list[list[int]] = []
    for row in sorted(rows):
        if ranges and row == ranges[-1][-1] + 1:
            ranges[-1].append(row)
        else:
            ranges.append([row])
    others = sum(len(each) for each in ranges[most:])
    text = ", ".join(f"{each[0]}" if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in ranges[:most])
    return f"{prefix}{text} and {others} more" if others else f"{prefix}{text}"


def where_words(document: Document, rows: Collection[int], *, most: int = _MOST_RANGES) -> str:
    """Format the rows of results in the table: `row 1`, `rows 1-3`; of repeats `rows 1; 2, 3 (repeat 3)`.

    Args:
        document: The run.
        rows: Numbers of results, from 1.
        most: Ranges of rows that are written.
    """
    if not document.summaries:
        return rows_words(sorted(rows), "row " if len(rows) == 1 else "rows ", most=most)
    repeated = by_label(document.results).values()
    row_of = {result.label: row for row, same in enumerate(repeated, start=1) for result in same}
    repeats: dict[int, set[int]] = {}
    for row in rows:
        result = document.results[row - 1]
        repeats.setdefault(row_of[result.label], set()).add(result.repeat)
    alike: dict[tuple[int, ...], list[int]] = {}
    for row, some in repeats.items():
        every = some >= set(document.summaries[row - 1].repeats)
        alike.setdefault(() if every else tuple(sorted(some)), []).append(row)
    parts = [
        rows_words(same) + (f" (repeat{'s' if len(some) > 1 else ''} {_from_one(some)})" if some else "")
        for some, same in sorted(alike.items(), key=lambda pair: min(pair[1]))[:most]
    ]
    more = f" and {len(alike) - most} more" if len(alike) > most else ""
    return f"row{'s' if len(repeats) > 1 else ''} {'; '.join(parts)}{more}"


def _from_one(repeats: Collection[int]) -> str:
    return rows_words([repeat + 1 for repeat in repeats])
