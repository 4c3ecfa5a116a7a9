"""Write a workbook as an .xlsx file: sheets with fixed bold headings, a filter, and fitted columns.

ECMA-376 part 1: the parts of a package (12.3), worksheets (18.3), styles (18.8). Text is in the cells themselves and is
never a formula; what is not known is an empty cell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from assay.outward import markup
from assay.report.output import write_whole
from assay.report.worksheet import column_letters, xlsx_cell, xlsx_package

Cell = str | float | None

MOST_ROWS = (1 << 20) - 1
"""Most rows of a sheet without its headings; more go to another sheet."""
_LONGEST_TEXT = 32_767
_WIDTHS = (8, 60)
"""Least and largest width of a column, in digits."""
_LOOKED_AT = 200
"""Rows that determine the width of a column."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEADING = ' s="1"'
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs></styleSheet>'
)


@dataclass(frozen=True)
class Sheet:
    """A table with headings."""

    name: str
    """Up to 31 letters, without any of `[]:*?/\\`, another for each sheet."""
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]


def write_workbook(sheets: Sequence[Sheet], path: Path) -> Path:
    """Write a workbook, replacing a file of that name, and give its path; raises InputError and RunError."""
    return write_whole(path, workbook(sheets))


def workbook(sheets: Sequence[Sheet]) -> bytes:
    """Make a workbook; the same sheets give the same bytes."""
    parts = [part for sheet in sheets for part in _parted(sheet)]
    numbers = range(1, len(parts) + 1)
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPE}.worksheet+xml"/>' for n in numbers
    )
    listed = "".join(
        f'<sheet name="{markup(sheet.name)}" sheetId="{n}" r:id="rId{n}"/>'
        for n, sheet in zip(numbers, parts, strict=True)
    )
    related = "".join(
        f'<Relationship Id="rId{n}" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    return xlsx_package(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{overrides}</Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f'<Relationship Id="rId1" Type="{_DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}"><sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{related}'
            f'<Relationship Id="rId{len(parts) + 1}" Type="{_DOCUMENT}/styles" Target="styles.xml"/></Relationships>',
            "xl/styles.xml": _STYLES,
            **{f"xl/worksheets/sheet{n}.xml": _sheet(sheet) for n, sheet in zip(numbers, parts, strict=True)},
        }
    )


def _parted(sheet: Sheet) -> list[Sheet]:
    """Put the rows that a sheet has no room for on further ones."""
    firsts = range(0, max(len(sheet.rows), 1), MOST_ROWS)
    return [
        Sheet(
            sheet.name if number == 1 else f"{sheet.name} {number}",
            sheet.columns,
            sheet.rows[first : first + MOST_ROWS],
        )
        for number, first in enumerate(firsts, 1)
    ]


def _sheet(sheet: Sheet) -> str:
    widths = "".join(
        f'<col min="{i}" max="{i}" width="{_width(sheet, i - 1)}" customWidth="1"/>'
        for i in range(1, len(sheet.columns) + 1)
    )
    head = "".join(xlsx_cell(0, column, text, _HEADING) for column, text in enumerate(sheet.columns))
    lines = [f'<row r="1">{head}</row>']
    for number, cells in enumerate(sheet.rows, 1):
        shown = "".join(
            xlsx_cell(number, column, value[:_LONGEST_TEXT] if isinstance(value, str) else value)
            for column, value in enumerate(cells)
            if _is_known(value)
        )
        lines.append(f'<row r="{number + 1}">{shown}</row>')
    area = f"A1:{column_letters(len(sheet.columns) - 1)}{len(sheet.rows) + 1}"
    return (
        f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2"'
        f' activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>{widths}</cols>'
        f'<sheetData>{"".join(lines)}</sheetData><autoFilter ref="{area}"/></worksheet>'
    )


def _is_known(value: Cell) -> TypeGuard[str | float]:
    return isinstance(value, str) or (value is not None and math.isfinite(value))


def _width(sheet: Sheet, column: int) -> int:
    texts = [sheet.columns[column], *(_text(row[column]) for row in sheet.rows[:_LOOKED_AT])]
    least, most = _WIDTHS
    return min(max(least, *(len(text) + 2 for text in texts)), most)


def _text(value: Cell) -> str:
    return value if isinstance(value, str) else "" if value is None else f"{value:.6g}"
