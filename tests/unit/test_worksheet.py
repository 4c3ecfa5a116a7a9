"""Worksheets, read back record by record and part by part as their format descriptions say."""

import io
import struct
import zipfile
from xml.etree import ElementTree as ET

from assay.report.worksheet import Entry, write_worksheet

ENTRIES: list[Entry] = [(0, 0, "iozone -a <&> é"), (1, 0, " "), (3, 1, 4.0), (3, 27, 1884399.25)]
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def biff_cells(content: bytes) -> list[Entry]:
    """Read a BIFF2 stream: number and length of a record, then row, column, three attributes, value."""
    found: list[Entry] = []
    at = 0
    numbers = []
    while at < len(content):
        number, length = struct.unpack_from("<HH", content, at)
        body = content[at + 4 : at + 4 + length]
        assert len(body) == length
        numbers.append(number)
        if number == 4:
            row, column = struct.unpack_from("<HH", body)
            found.append((row, column, body[8 : 8 + body[7]].decode("cp1252")))
        elif number == 3:
            row, column, value = struct.unpack("<HH3xd", body)
            found.append((row, column, value))
        at += 4 + length
    assert (numbers[0], numbers[-1]) == (0x09, 0x0A)
    return found


def test_a_biff2_worksheet_holds_its_cells() -> None:
    content = write_worksheet(ENTRIES, ".xls")

    assert biff_cells(content) == ENTRIES
    assert content[:8] == bytes.fromhex("0900040002001000")


def test_a_long_text_is_cut_to_what_a_cell_holds() -> None:
    [(_, _, text)] = biff_cells(write_worksheet([(0, 0, "x" * 300)], ""))

    assert text == "x" * 255


def test_an_xlsx_worksheet_holds_its_cells() -> None:
    content = write_worksheet(ENTRIES, ".XLSX")

    with zipfile.ZipFile(io.BytesIO(content)) as package:
        assert package.testzip() is None
        parts = {name: ET.fromstring(package.read(name)) for name in package.namelist()}  # noqa: S314 - made above
    sheet = parts["xl/worksheets/sheet1.xml"]
    cells = {cell.attrib["r"]: "".join(cell.itertext()) for cell in sheet.iter(f"{MAIN}c")}
    assert cells == {"A1": "iozone -a <&> é", "A2": " ", "B4": "4.0", "AB4": "1884399.25"}


def test_the_same_cells_give_the_same_bytes() -> None:
    assert write_worksheet(ENTRIES, ".xlsx") == write_worksheet(ENTRIES, ".xlsx")
