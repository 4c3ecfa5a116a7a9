"""A table of any program, by the columns that the user named (`--columns`).

Between cells are commas, semicolons or tabs; a comma stands before decimals only where it is not between cells. A row ends
the interval that begins with the row before of the same host and device.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.clock import Clock
from assay.captures.column_map import DEVICE, HOST, TIME, MappedColumn
from assay.captures.csv_table import delimiter_of, rows_of
from assay.captures.decimal_text import parse_number
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.captures.sysstat_columns import ALL_DEVICES
from assay.units import format_names

NAME: Final = "table by --columns"
_MOST_HEAD: Final = 50
"""Lines above the head, such as titles."""
_MOST_NAMED: Final = 20


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all rows.

    Raises:
        ValueError: A column is not in the file.
    """
    wanted = {column.header for column in asked.columns.values()}
    first = list(itertools.islice(lines, _MOST_HEAD))
    for number, line in enumerate(first):
        delimiter = delimiter_of(line)
        head = next(rows_of([line], delimiter), [])
        if wanted <= set(head):
            table = _Table(head, delimiter, asked, rows)
            table.read(rows_of(itertools.chain(first[number + 1 :], lines), delimiter))
            return
    head = max((next(rows_of([line], delimiter_of(line)), []) for line in first), key=len, default=[])
    missing = sorted(wanted - set(head)) or sorted(wanted)
    raise ValueError(f"its head has no column '{missing[0]}'; there are {format_names(head, _MOST_NAMED)}")


class _Table:
    """Reads row by row, and keeps the time before of each device."""

    def __init__(self, head: Sequence[str], delimiter: str, asked: Asked, rows: SampleRows) -> None:
        self._asked = asked
        self._rows = rows
        self._has_decimal_commas = delimiter != ","
        self._cells = len(head)
        self._at = {name: head.index(column.header) for name, column in asked.columns.items()}
        self._clocks: dict[tuple[str, str], Clock] = {}
        self._before: dict[tuple[str, str], float] = {}
        self._without_interval = 0
        self._backwards = 0
        self._unread = 0
        doubled = [column.header for column in asked.columns.values() if head.count(column.header) > 1]
        if doubled:
            raise ValueError(f"it has the column '{doubled[0]}' more than once")

    def read(self, table: Iterator[list[str]]) -> None:
        """Add the samples of rows."""
        for cells in table:
            try:
                if len(cells) != self._cells:
                    raise ValueError("a row is cut off")  # noqa: TRY301 - as one with a wrong number
                self._take(cells)
            except ValueError:
                self._unread += 1
        if self._without_interval:
            self._rows.note(
                "the first row of each device is left out, because its interval is unknown (--interval):"
                f" {self._without_interval}"
            )
        if self._backwards:
            self._rows.note(
                "rows whose time is not after that of the row before are left out:"
                f" {self._backwards}; sort the table by time"
            )
        if self._unread:
            self._rows.note(f"rows that are cut off, or have no time or a wrong number, are left out: {self._unread}")

    def _take(self, cells: Sequence[str]) -> None:
        columns = self._asked.columns
        host = cells[self._at[HOST]] if HOST in columns else ""
        device = (cells[self._at[DEVICE]] if DEVICE in columns else "") or ALL_DEVICES
        key = host, device
        end_s = self._end_s(key, cells[self._at[TIME]], columns[TIME])
        before_s = self._before.get(key)
        self._before[key] = end_s
        sample = DeviceSample(end_s, self._asked.interval_s or (end_s - before_s if before_s is not None else 0.0))
        for name, column in columns.items():
            text = cells[self._at[name]]
            if column.field and text:
                setattr(sample, column.field, self._number(text) * column.unit)
        if not sample.seconds and before_s is None:
            self._without_interval += 1
            return
        if sample.seconds <= 0:
            self._backwards += 1
            return
        layer = Layer.SYSTEM if DEVICE not in columns else Layer.DISK
        self._rows.add(host, device, layer, sample)

    def _end_s(self, key: tuple[str, str], text: str, column: MappedColumn) -> float:
        if column.unit:
            return self._number(text) * column.unit
        clock = self._clocks.setdefault(key, Clock(self._asked, self._rows.note))
        return clock.read(text)

    def _number(self, text: str) -> float:
        text = text.removesuffix("%").strip()
        if "," in text and not self._has_decimal_commas:
            raise ValueError("a comma may be between thousands, or before decimals")
        return parse_number(text)
