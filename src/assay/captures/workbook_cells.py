"""Read the cells of a sheet of an .xlsx workbook, which anybody may have made: bounded, and without what XML can expand."""

import re
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Final

from assay.errors import InputError

MOST_ENTRY: Final = 256 << 20
"""Bytes of an unpacked part: a sheet of 20,000 machines has 60 MiB."""
_MOST_ENTRIES: Final = 2_000
_MOST_CELLS: Final = 20_000_000
_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATED: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_COLUMN = re.compile(r"([A-Z]{1,3})\d{1,7}", re.ASCII)


class WorkbookCells:
    """An open workbook."""

    def __init__(self, path: str) -> None:
        """Open it, and read the names of its sheets.

        Raises:
            InputError: It is no workbook, or larger than any.
        """
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
            if len(self._archive.infolist()) > _MOST_ENTRIES:
                raise self._refused("has too many parts")
            self._sheets = self._sheet_parts()
            self._texts = list(self._shared_texts())
        except (
            zipfile.BadZipFile,
            zlib.error,
            KeyError,
            ET.ParseError,
            OSError,
            EOFError,
            NotImplementedError,
        ) as error:
            raise self._refused(f"is no workbook that can be read: {error}") from error

    def rows(self, sheet: str) -> Iterator[list[str]] | None:
        """Give the rows of a sheet, each as the texts of its cells; None where there is no such sheet."""
        part = self._sheets.get(sheet.lower())
        return None if part is None else self._rows(part)

    def _rows(self, part: str) -> Iterator[list[str]]:
        cells = 0
        try:
            with self._open(part) as file:
                for element in self._elements(file):
                    if element.tag != f"{_MAIN}row":
                        continue
                    row: list[str] = []
                    for cell in element.iter(f"{_MAIN}c"):
                        cells += 1
                        column = _column_of(cell.get("r", "")) if cell.get("r") else len(row)
                        if cells > _MOST_CELLS or column >= 16_384:
                            raise self._refused("has more cells than any sheet")
                        row += [""] * (column - len(row) + 1)
                        row[column] = self._text(cell)
                    element.clear()
                    yield row
        except (zipfile.BadZipFile, zlib.error, ET.ParseError, EOFError, KeyError, NotImplementedError) as error:
            raise self._refused(f"has a sheet that cannot be read: {error}") from error

    def _text(self, cell: ET.Element) -> str:
        if cell.get("t") == "inlineStr":
            return "".join(text.text or "" for text in cell.iter(f"{_MAIN}t"))
        value = cell.findtext(f"{_MAIN}v") or ""
        if cell.get("t") == "s":
            return self._texts[int(value)] if value.isdecimal() and int(value) < len(self._texts) else ""
        return value

    def _sheet_parts(self) -> dict[str, str]:
        parts = {
            related.get("Id"): related.get("Target", "")
            for related in self._document("xl/_rels/workbook.xml.rels").iter()
        }
        sheets = {}
        for sheet in self._document("xl/workbook.xml").iter(f"{_MAIN}sheet"):
            target = parts.get(sheet.get(_RELATED)) or ""
            sheets[sheet.get("name", "").lower()] = (
                target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
            )
        return sheets

    def _shared_texts(self) -> Iterator[str]:
        if "xl/sharedStrings.xml" in self._archive.namelist():
            with self._open("xl/sharedStrings.xml") as file:
                for element in self._elements(file):
                    if element.tag == f"{_MAIN}si":
                        yield "".join(text.text or "" for text in element.iter(f"{_MAIN}t"))
                        element.clear()

    def _document(self, part: str) -> ET.Element:
        with self._open(part) as file:
            elements = list(self._elements(file))
        if not elements:
            raise self._refused(f"has an empty part {part[:80]}")
        return elements[-1]

    def _elements(self, file: IO[bytes]) -> Iterator[ET.Element]:
        """Parse a part piece by piece; a document type, which could define what expands, is refused."""
        parser: ET.XMLPullParser[Any] = ET.XMLPullParser(["end"])
        read = 0
        while piece := file.read(1 << 16):
            read += len(piece)
            if read > MOST_ENTRY:
                raise self._refused(f"has a part of more than {MOST_ENTRY >> 20} MiB")
            if b"<!DOCTYPE" in piece or b"<!ENTITY" in piece:
                raise self._refused("has a document type, which no workbook has")
            parser.feed(piece)
            for event in parser.read_events():
                element = event[-1]
                if isinstance(element, ET.Element):
                    yield element
        parser.close()

    def _open(self, part: str) -> IO[bytes]:
        entry = self._archive.getinfo(part)
        if entry.flag_bits & 1:
            raise self._refused("is encrypted")
        return self._archive.open(entry)

    def _refused(self, why: str) -> InputError:
        return InputError(f"{self._path}: {why}")


def _column_of(place: str) -> int:
    match = _COLUMN.fullmatch(place)
    if match is None:
        return 1 << 20
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1
