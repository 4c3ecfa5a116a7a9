"""Draw the map of a surface of two sides: file size by record size, the ratio as colour and per cent.

Colours are of what is significant among all cells; a cell that is not is blank with a dot, one that does not count is grey.
A line between two cells is a cliff: the rate of a side changes there. On axes of log2, the usual ones of sizes, every cell
is as large; on linear ones a cell is as large as its sizes are, which shows how little of the range the small ones are.
"""

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from assay.compare.comparison import Comparison
from assay.compare.surfaces.landmarks import FILE, RECORD
from assay.compare.surfaces.surface import ComparedSurface, SurfaceCell
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.figure import Figure, Table
from assay.report.surface_text import cell_mark, change, format_size, short_size, surface_sentences
from assay.report.titles import slug_of
from assay.units import format_number

_CELL_PX = 30
_LINEAR_PX = 420
_LEAST_LABEL_PX = (27, 12)
"""Width and height of a cell that its label fits into."""
_LEAST_TICK_PX = (34, 13)
"""Between the labels of the axes along and up."""
_LEAST_END = math.log2(1.1)
_MOST_END = 2.0
"""Of the colours, in doublings: four times as much and more is the last colour."""
_DARK_FROM = 0.6
"""Of the colours' range, from where on words on them are bright."""
_SIZE_LABEL = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + 'G'"
    " : datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + 'M'"
    " : datum.value >= 1024 ? format(datum.value / 1024, '~g') + 'K' : format(datum.value, '~g')"
)


class MapScale(enum.StrEnum):
    """How the axes of sizes go up."""

    LOG2 = "log2"
    LINEAR = "linear"


def surface_figures(comparison: Comparison, scale: MapScale = MapScale.LOG2) -> Iterator[Figure]:
    """Draw every surface of every side that is held against the first."""
    for place, against in enumerate(comparison.against, 1):
        for surface in against.surfaces:
            yield surface_figure(surface, comparison.effect, scale, letter=chr(ord("A") + place))


def surface_figure(
    surface: ComparedSurface, effect: float, scale: MapScale = MapScale.LOG2, *, letter: str = "B"
) -> Figure:
    """Draw a surface.

    Args:
        surface: What was compared.
        effect: Difference that matters, as a share.
        scale: Of both axes.
        letter: Of the side that is held against A.
    """
    cells = {(cell.file_bytes, cell.record_bytes): cell for cell in surface.cells}
    rows = tuple(
        (short_size(file_bytes), *(cell_mark(cells.get((file_bytes, record))) for record in surface.records))
        for file_bytes in surface.files
    )
    return Figure(
        slug=f"surface-{letter.lower()}-{slug_of(surface.test)}" + ("-linear" if scale is MapScale.LINEAR else ""),
        title=f"{surface.test}: {letter} / A in per cents by file and record size",
        caption=f"Green: {letter} is faster, purple: slower; from twice on as a factor. Dot: not significant among all;"
        " grey and x: does not count; ~: fewer than three runs, and ?: to be checked. Line between cells: the rate of a side"
        " changes three times and more.",
        alt_text=f"{surface.test}, {letter} by A, {len(surface.cells)} cells by file size and record size. "
        + " ".join(surface_sentences(surface, effect)),
        chart=_chart(surface, scale),
        table=Table(("File", *(f"{short_size(record)} records" for record in surface.records)), rows),
    )


# -- axes --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _SizeAxis:
    """Where the cells of each size begin and end."""

    sizes: Sequence[int]
    scale: MapScale
    length_px: float

    def edges(self) -> list[float]:
        """Give where cells begin and end, one more than there are sizes, in bytes."""
        if self.scale is MapScale.LINEAR:
            between = [(low + high) / 2 for low, high in pairwise(self.sizes)]
            last = self.sizes[-1] + (self.sizes[-1] - between[-1] if between else self.sizes[-1])
            return [0.0, *between, float(last)]
        between = [math.sqrt(low * high) for low, high in pairwise(self.sizes)]
        first = self.sizes[0] ** 2 / between[0] if between else self.sizes[0] / math.sqrt(2)
        last = self.sizes[-1] ** 2 / between[-1] if between else self.sizes[-1] * math.sqrt(2)
        return [first, *between, last]

    def pixels(self, low: float, high: float) -> float:
        """Give the distance of two places."""
        edges = self.edges()
        if self.scale is MapScale.LINEAR:
            return self.length_px * (high - low) / (edges[-1] - edges[0])
        return self.length_px * math.log(high / low) / math.log(edges[-1] / edges[0])

    def ticks(self, least_px: float) -> list[int]:
        """Give the sizes that have room for their labels, the largest first."""
        shown: list[int] = []
        for size in reversed(self.sizes):
            if not shown or self.pixels(size, shown[-1]) >= least_px:
                shown.append(size)
        return shown

    def properties(self, title: str, least_px: float, *, is_down: bool = False) -> dict[str, Any]:
        """Give the properties of a channel of these sizes."""
        edges = self.edges()
        kind = {"type": "log", "base": 2} if self.scale is MapScale.LOG2 else {}
        return {
            "title": title,
            "scale": vl.Scale(domain=[edges[0], edges[-1]], nice=False, zero=False, reverse=is_down, **kind),
            "axis": vl.Axis(values=self.ticks(least_px), labelExpr=_SIZE_LABEL, grid=False, labelOverlap=False),
        }


# -- the picture -------------------------------------------------------------------------------------------------------


def _chart(surface: ComparedSurface, scale: MapScale) -> Layered:
    height = _CELL_PX * len(surface.files) if scale is MapScale.LOG2 else min(_LINEAR_PX, 90 * len(surface.files))
    along = _SizeAxis(surface.records, scale, theme.WIDTH_PX)
    up = _SizeAxis(surface.files, scale, height)
    boxes = _Boxes(
        dict(zip(surface.records, pairwise(along.edges()), strict=True)),
        dict(zip(surface.files, pairwise(up.edges()), strict=True)),
    )
    end = _end_of_colours(surface.cells)
    across = along.properties("record size", _LEAST_TICK_PX[0])
    down = up.properties("file size", _LEAST_TICK_PX[1], is_down=True)
    x, y = vl.X("left:Q", **across), vl.Y("top:Q", **down)
    base = vl.Chart(records(_cell_row(cell, boxes, end, along, up) for cell in surface.cells))
    tooltip = [vl.Tooltip(f"{name}:N") for name in ("file", "record", "A", "B", "ratio", "interval", "why")]
    boxed = base.encode(x=x, x2="right:Q", y=y, y2="bottom:Q", tooltip=tooltip)
    colours = vl.Scale(
        domain=[end * step / 3 for step in range(-3, 4)], range=list(theme.DIVERGING), interpolate="rgb", clamp=True
    )
    layers = [
        boxed.transform_filter("datum.fill === 'ratio'")
        .mark_rect(stroke=theme.PAPER, strokeWidth=0.5)
        .encode(color=vl.Color("doublings:Q", scale=colours, legend=None)),
        boxed.transform_filter("datum.fill === 'none'").mark_rect(
            color=theme.PAPER, stroke=theme.GRID, strokeWidth=0.5
        ),
        boxed.transform_filter("datum.fill === 'grey'").mark_rect(
            color=theme.UNTRUSTED, stroke=theme.PAPER, strokeWidth=0.5
        ),
        base.transform_filter("datum.has_room")
        .mark_text(fontSize=10)
        .encode(
            x=vl.X("across:Q", **across),
            y=vl.Y("down:Q", **down),
            text=vl.Text("label:N"),
            color=vl.Color("ink:N", scale=None),
        ),
    ]
    return Layered([*layers, *_cliff_rules(surface, boxes, x, y)], height, independent_colours=True)


@dataclass(frozen=True)
class _Boxes:
    """Where cells begin and end."""

    of_record: Mapping[int, tuple[float, float]]
    of_file: Mapping[int, tuple[float, float]]


def _end_of_colours(cells: Sequence[SurfaceCell]) -> float:
    """Give the doublings at which the colours end, the same on both sides."""
    most = max((abs(math.log2(cell.ratio)) for cell in cells if cell.ratio), default=0.0)
    return min(max(most, _LEAST_END), _MOST_END)


def _cell_row(cell: SurfaceCell, boxes: _Boxes, end: float, along: _SizeAxis, up: _SizeAxis) -> dict[str, object]:
    left, right = boxes.of_record[cell.record_bytes]
    top, bottom = boxes.of_file[cell.file_bytes]
    is_plain = cell.interval is not None and not cell.is_significant
    fill = "grey" if cell.ratio is None else "none" if is_plain else "ratio"
    doublings = 0.0 if cell.ratio is None else math.log2(cell.ratio)
    is_dark = fill == "ratio" and abs(doublings) >= _DARK_FROM * end
    room_px = (along.pixels(left, right), up.pixels(top, bottom))
    return {
        "left": left,
        "right": right,
        "top": top,
        "bottom": bottom,
        "across": _middle(left, right, along.scale),
        "down": _middle(top, bottom, up.scale),
        "fill": fill,
        "doublings": doublings,
        "label": cell_mark(cell),
        "ink": theme.ON_DARK_FILL if is_dark else theme.ON_LIGHT_FILL,
        "has_room": all(px >= least for px, least in zip(room_px, _LEAST_LABEL_PX, strict=True)),
        "file": format_size(cell.file_bytes),
        "record": format_size(cell.record_bytes),
        "A": _rate(cell.a),
        "B": _rate(cell.b),
        "ratio": "" if cell.ratio is None else f"{cell.ratio:.3f} ({change(cell.ratio)})",
        "interval": "" if cell.interval is None else f"{cell.interval[0]:.3f} to {cell.interval[1]:.3f}",
        "why": cell.why,
    }


def _middle(low: float, high: float, scale: MapScale) -> float:
    return (low + high) / 2 if scale is MapScale.LINEAR else math.sqrt(low * high)


def _rate(bytes_per_s: float | None) -> str:
    return "" if bytes_per_s is None else f"{format_number(bytes_per_s / (1 << 20))} MiB/s"


def _cliff_rules(surface: ComparedSurface, boxes: _Boxes, x: vl.X, y: vl.Y) -> Iterator[vl.Chart]:
    """Draw a line where a side falls or climbs, between the two cells."""
    upright, level = [], []
    for cliff in surface.cliffs:
        by_text = {
            "side": cliff.side,
            "words": f"{cliff.side} {format_number(max(cliff.factor, 1 / cliff.factor))} times",
        }
        if cliff.along == RECORD:
            top, bottom = boxes.of_file[cliff.at_bytes]
            upright.append(by_text | {"left": boxes.of_record[cliff.to_bytes][0], "top": top, "bottom": bottom})
        elif cliff.along == FILE:
            left, right = boxes.of_record[cliff.at_bytes]
            level.append(by_text | {"top": boxes.of_file[cliff.to_bytes][0], "left": left, "right": right})
    tooltip = [vl.Tooltip("words:N", title="cliff")]
    for rows, second in ((upright, {"y2": "bottom:Q"}), (level, {"x2": "right:Q"})):
        if rows:
            rule = vl.Chart(records(rows)).mark_rule(color=theme.INK, strokeWidth=2.5)
            yield rule.encode(x=x, y=y, tooltip=tooltip, **second)
