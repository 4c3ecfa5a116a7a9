"""Fit text to a width in terminal cells."""

import re

from rich.cells import cell_len

_BREAKS = re.compile(
    r"\s+(?!%)(?!(?<=[0-9]\s)(?:ns|µs|ms|s|min|h|B|[KMGTPE]iB|MiB/s|ops/s|IOPS|J|mJ|kJ|W)(?![A-Za-z0-9]))"
)
"""Blanks that a line may end at: a number and its unit stay together, as in "85 %" and "12.3 ms"."""
_NEAR = 0.6
"""A blank is near where so much of the text comes before it."""


def fill(text: str, width: int) -> str:
    """Pad to a width in terminal cells."""
    return text + " " * max(0, width - cell_len(text))


def wrap(text: str, width: int) -> list[str]:
    """Break at blanks; a word that is longer than a line is broken where it must. A line has room for one cell at least."""
    lines, width = [""], max(width, 1)
    for word in _BREAKS.split(text.strip()):
        rest = word
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(rest) > width:
            lines.append("")
        while cell_len(rest) > width:
            lines[-1:] = [rest[:width], ""]
            rest = rest[width:]
        lines[-1] = f"{lines[-1]} {rest}" if lines[-1] else rest
    return [line for line in lines if line] or [""]


def cut(text: str, width: int) -> str:
    """Shorten to a width in cells, at a blank where one is near; what was left out shows as an ellipsis."""
    if cell_len(text) <= width:
        return text
    kept = ""
    for letter in text:
        if cell_len(kept) + cell_len(letter) > width - 1:
            break
        kept += letter
    at_blank = kept.rpartition(" ")[0]
    if cell_len(at_blank) >= cell_len(kept) * _NEAR:
        kept = at_blank
    return kept.rstrip(" ,;:·") + "…" if width > 0 else ""
