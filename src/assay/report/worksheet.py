"""Write a worksheet as a file: cells of text and numbers, as BIFF2 (Excel 2.1, what IOzone writes) or as .xlsx.

BIFF2 is a stream of records: two bytes number, two bytes length, then the content (OpenOffice's documentation of the
Excel file format, 3.1 and 5). Readers of .xls know it to this day. An .xlsx is a ZIP archive of a few XML parts
(ECMA-376 part 1); text is in the cells themselves.
"""

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

from assay.outward import markup, plain

Entry = tuple[int, int, str | float]
"""Row and column from 0, and the value."""

XLSX = ".xlsx"
_LONGEST_TEXT = 255
_BIFF_BOF, _BIFF_EOF, _BIFF_NUMBER, _BIFF_LABEL = 0x0009, 0x000A, 0x0003, 0x0004
_BIFF_VERSION, _BIFF_WORKSHEET = 2, 0x0010
_ATTRIBUTES = bytes(3)


def write_worksheet(entries: Sequence[Entry], suffix: str) -> bytes:
    """Make the file of a worksheet: `.xlsx` by that suffix, BIFF2 by every other."""
    return xlsx(entries) if suffix.lower() == XLSX else biff2(entries)


def biff2(entries: Sequence[Entry]) -> bytes:
    """Make a BIFF2 stream; text is cut to 255 bytes, which is all that a cell holds."""
    made = [_record(_BIFF_BOF, struct.pack("<HH", _BIFF_VERSION, _BIFF_WORKSHEET))]
    for row, column, value in entries:
        place = struct.pack("<HH", row, column) + _ATTRIBUTES
        if isinstance(value, str):
            text = plain(value).encode("cp1252", "replace")[:_LONGEST_TEXT]
            # A field of fixed length, padded: what IOzone writes, and readers look at the length byte alone.
            made.append(_record(_BIFF_LABEL, place + bytes([len(text)]) + text.ljust(_LONGEST_TEXT + 1, b"\0")))
        else:
            made.append(_record(_BIFF_NUMBER, place + struct.pack("<d", value)))
    made.append(_record(_BIFF_EOF, b""))
    return b"".join(made)


def _record(number: int, content: bytes) -> bytes:
    return struct.pack("<HH", number, len(content)) + content


_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml"'
        ' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml"'
        ' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/>'
        "</sheets></workbook>"
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
    ),
}
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The same cells give the same bytes: a ZIP archive's own clock starts here."""


def xlsx(entries: Sequence[Entry]) -> bytes:
    """Make an .xlsx of one sheet."""
    return xlsx_package({**_PARTS, "xl/worksheets/sheet1.xml": _sheet(entries)})


def xlsx_package(parts: Mapping[str, str]) -> bytes:
    """Pack the XML of parts, by their names, into the archive that an .xlsx is."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(zipfile.ZipInfo(name, _EARLIEST), _XML + content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def _sheet(entries: Sequence[Entry]) -> str:
    rows: dict[int, dict[int, str | float]] = {}
    for row, column, value in entries:
        rows.setdefault(row, {})[column] = value
    lines = (
        f'<row r="{row + 1}">'
        + "".join(xlsx_cell(row, column, value) for column, value in sorted(cells.items()))
        + "</row>"
        for row, cells in sorted(rows.items())
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def xlsx_cell(row: int, column: int, value: str | float, style: str = "") -> str:
    """Give a cell of a sheet; a text is shown and never a formula. `style` is an attribute, with the blank before it."""
    place = f"{column_letters(column)}{row + 1}"
    if isinstance(value, str):
        return f'<c r="{place}"{style} t="inlineStr"><is><t xml:space="preserve">{markup(value)}</t></is></c>'
    return f'<c r="{place}"{style}><v>{value!r}</v></c>'


def column_letters(column: int) -> str:
    """Name a column: A, B, ... Z, AA, AB."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
