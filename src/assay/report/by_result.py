"""What the figures over all results share: one row a result.

Its title is above its bar, so that figures read the same at any width and no axis of names eats the room. A result
that is not trusted is grey and marked.
"""

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.verdict import is_usable
from assay.results import Result

ROW_PX = 44


def rows(count: int) -> vl.Y:
    """Place rows by their numbers."""
    # All rows by name: layers that omit some (such as those without p99) must not reorder the others.
    return vl.Y("row:O", axis=None, sort=None, scale=vl.Scale(domain=list(range(count)), paddingOuter=0.05))


def row(i: int, result: Result, title: str) -> dict[str, object]:
    """Number, name and colour of a result's row."""
    doubt = "" if is_usable(result) else " (not trusted)"
    ink = theme.MEASURED if is_usable(result) else theme.UNTRUSTED
    return {"row": i, "title": title + doubt, "ink": ink}


def titles(base: vl.Chart, count: int, dy: int = -9) -> vl.Chart:
    """Write each result's name above its bar."""
    mark = base.mark_text(align="left", baseline="middle", x=2, dy=dy, color=theme.INK)
    words: vl.Chart = mark.encode(y=rows(count), text=vl.Text("title:N"))
    return words
