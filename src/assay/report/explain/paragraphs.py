"""Lay out paragraphs in a terminal: a label, then the text, within the width."""

from collections.abc import Iterable

from rich.text import Text

from assay.outward import one_line
from assay.report.wrapping import fill, wrap

LABEL_WIDTH = 10


def paragraph(label: str, texts: Iterable[str], width: int) -> list[Text]:
    """Return the lines of a paragraph: each text starts a line; none if all are empty."""
    parts = [part for text in texts if text for part in wrap(one_line(text), width - LABEL_WIDTH)]
    return rows(label, parts)


def rows(label: str, parts: Iterable[str]) -> list[Text]:
    """Put lines that are laid out already next to the label."""
    labels = [label]
    return [Text.assemble((fill(labels.pop() if labels else "", LABEL_WIDTH), "bold"), part) for part in parts]


def aligned(cells: Iterable[tuple[str, ...]], *, numbers: Iterable[int] = ()) -> list[str]:
    """Lay rows of cells out in columns as wide as their widest; `numbers` are the columns that end in line."""
    table = [tuple(one_line(cell) for cell in row) for row in cells]
    right = set(numbers)
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
