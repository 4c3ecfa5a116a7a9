"""Define a figure: a chart with title, text and its values as a table."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.report.axes import Layered


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers under a figure: headings, then rows whose first cell names the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its words and its numbers."""

    slug: str
    """For file names and anchors: letters, digits and hyphens."""
    title: str
    caption: str
    alt_text: str
    chart: Layered
    table: Table
    is_dense: bool = False
    """Thousands of shapes: better drawn as pixels than as elements."""
    is_over_time: bool = False
    """Its axis is that of time, from the start of the phase: it is above others that have the same."""
    in_space: str = ""
    """The same as a surface, in SVG; empty: there is none."""


def sentence(parts: Iterable[str]) -> str:
    """Put parts together as one sentence."""
    return "; ".join(parts) + "."
