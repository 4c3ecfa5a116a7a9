"""RVTools: what a VMware environment has, of its workbook (.xlsx) or the CSV of its sheet vInfo. It has no IOPS.

What its columns call MB are MiB. Templates are no machines.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assay.captures.csv_table import delimiter_of, rows_of
from assay.captures.decimal_text import parse_number
from assay.captures.inventory import Inventory
from assay.captures.opened import Note
from assay.captures.workbook_cells import WorkbookCells
from assay.errors import InputError

NAME: Final = "RVTools"
_SHEETS: Final = ("vInfo", "tabvInfo")
_NEEDED: Final = frozenset({"VM", "Powerstate", "Host"})
_UNIT = re.compile(r"(Provisioned|In Use) (MB|MiB)", re.IGNORECASE)
_MIB: Final = 1024.0 * 1024.0
_THOUSANDS = re.compile(r"\d{1,3}(?:[,.' \xa0\u202f]\d{3})+")


def recognise(head: Sequence[str]) -> bool:
    """Know the CSV of vInfo by its columns."""
    return bool(head) and set(next(rows_of(head[:1], delimiter_of(head[0])), [])) >= _NEEDED


def read_workbook(path: str, note: Note) -> Inventory:
    """Read the sheet vInfo of a workbook.

    Raises:
        InputError: It has no such sheet, or cannot be read.
    """
    workbook = WorkbookCells(path)
    for name in _SHEETS:
        if (rows := workbook.rows(name)) is not None:
            return _inventory(([cell.strip() for cell in row] for row in rows), path, note)
    raise InputError(
        f"{path}: is a workbook without the sheet vInfo, so it is not of RVTools; other tables are read as CSV"
    )


def read_export(lines: Iterable[str], note: Note) -> Inventory:
    """Read the CSV of the sheet vInfo; raises InputError where nothing is in it."""
    iterator = iter(lines)
    head = next(iterator, "")
    delimiter = delimiter_of(head)
    return _inventory(rows_of(_with(head, iterator), delimiter), "vInfo", note)


def _with(head: str, lines: Iterator[str]) -> Iterator[str]:
    yield head
    yield from lines


def _inventory(rows: Iterator[list[str]], path: str, note: Note) -> Inventory:
    head = next(rows, [])
    if not set(head) >= _NEEDED:
        raise InputError(f"{path}: vInfo has no columns {', '.join(sorted(_NEEDED))}")
    sums = _Sums(head)
    for row in rows:
        sums.take(row + [""] * (len(head) - len(row)))
    if not sums.vms:
        raise InputError(f"{path}: vInfo has no virtual machine")
    if sums.templates:
        note(f"templates are left out: {sums.templates}")
    if sums.unread:
        note(f"sizes that are no numbers are left out, so the sums are too small: {sums.unread}")
    totals = sums.totals
    return Inventory(len(sums.hosts), sums.vms, sums.vms_on, totals.get("provisioned"), totals.get("in use"))


class _Sums:
    """Adds up the rows of vInfo."""

    def __init__(self, head: Sequence[str]) -> None:
        self._at = {name: number for number, name in reversed(list(enumerate(head)))}
        units = ((_UNIT.fullmatch(name), number) for name, number in self._at.items())
        self._sizes = {unit[1].lower(): number for unit, number in units if unit is not None}
        self.hosts: set[str] = set()
        self.vms = self.vms_on = self.templates = self.unread = 0
        self.totals = dict.fromkeys(self._sizes, 0.0)

    def take(self, cells: Sequence[str]) -> None:
        """Take a row."""
        if not cells[self._at["VM"]]:
            return
        if "Template" in self._at and cells[self._at["Template"]].lower() in {"true", "1"}:
            self.templates += 1
            return
        self.vms += 1
        self.vms_on += cells[self._at["Powerstate"]].lower() == "poweredon"
        if cells[self._at["Host"]]:
            self.hosts.add(cells[self._at["Host"]])
        for name, number in self._sizes.items():
            size = _mib(cells[number])
            if size is None:
                self.unread += 1
            else:
                self.totals[name] += size * _MIB


def _mib(text: str) -> float | None:
    if _THOUSANDS.fullmatch(text):  # sizes are whole numbers of MiB
        text = re.sub(r"\D", "", text)
    try:
        size = parse_number(text)
    except ValueError:
        return None
    return size if size >= 0 else None
