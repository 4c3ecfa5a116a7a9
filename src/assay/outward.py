"""Escape text that others wrote, before Assay prints it: one function per kind of output.

Names, titles, notes, errors, facts and models of devices come from files, machines and people that nobody has looked at.
What a terminal, a browser or a spreadsheet would obey instead of showing is replaced by U+FFFD: control characters (C0 but
line end and tab, DEL, C1), the overrides of writing direction (Unicode TR 9) and what is no character. Programs get the text
as it is, in JSON's own escapes.
"""

import html
import re
from typing import Any

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_SHOWN = "\N{REPLACEMENT CHARACTER}"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@")


def plain(text: str) -> str:
    """Give text that a terminal shows and does not obey."""
    return _OBEYED.sub(_SHOWN, text)


def one_line(text: str) -> str:
    """Give plain text for a line or a cell of its own, which a line end in a name does not make two."""
    return plain("; ".join(text.splitlines()))


def markup(text: str) -> str:
    """Give text for the inside of an element or a quoted attribute of HTML, SVG or XML."""
    return html.escape(plain(text), quote=True)


def drawn(spec: Any) -> Any:
    """Give the specification of a figure with every text in it plain."""
    if isinstance(spec, str):
        return plain(spec)
    if isinstance(spec, dict):
        return {plain(key): drawn(value) for key, value in spec.items()}
    return [drawn(value) for value in spec] if isinstance(spec, list | tuple) else spec


def json_text(encoded: str) -> str:
    """Write what a terminal would obey in JSON's own escapes: it can only be inside of texts, and means the same."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)


def csv_cell(text: str) -> str:
    """Give a text for a cell of a CSV line whose format has no quotes: one cell, and no formula."""
    return spreadsheet_text(re.sub(r"[,;\"\t\n]", " ", plain(text)).strip())


def spreadsheet_text(text: str) -> str:
    """Give a text for a cell that a spreadsheet shows and does not obey.

    Spreadsheets take a cell for a formula that begins with `=`, `+`, `-` or `@`, and one after blanks, a tab or line end too
    (OWASP, "CSV Injection"); a quote in front makes it a text. A number stays one.
    """
    cell = plain(text)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell
