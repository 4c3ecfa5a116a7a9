"""A matrix of rates as a surface in space: the picture that spreadsheets draw, as SVG that needs no script.

Sizes are at equal distances, record sizes to the right and file sizes to the left; both grow towards the reader. The
height is the rate on a scale from 0, and the colour that of the map: a patch has that of its corners' mean. Patches are
drawn from the back to the front, each over what lies behind it, so a hill hides what is behind it: the map has every
number. A patch has the corners that were measured, three or four.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.outward import markup
from assay.report import theme
from assay.report.axes import linear_ticks
from assay.tools.iozone.matrix import Cell
from assay.units import format_number

HEIGHT_PX = 190.0
"""Height of the top of the scale."""
_WIDEST_PX = 470.0
_LONGEST_STEP_PX = 90.0
_RIGHT_PX, _DOWN_PX = math.cos(math.radians(30)), math.sin(math.radians(30))
_ROOM = {"left": 100.0, "right": 100.0, "top": 14.0, "bottom": 62.0}
_FEWEST = 2
"""Sizes of each kind that span a surface."""
_CORNERS = 3
_MOST_TICKS = 4
_LINE_PX = 11
"""Height of a line of text."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Patch:
    """A piece of the surface between neighbouring cells."""

    corners: tuple[Cell, ...]
    points: tuple[Point, ...]
    """Where the corners are drawn."""
    colour: str


@dataclass(frozen=True)
class Surface:
    """A matrix laid out in space; lengths in pixels, downwards and to the right."""

    values: Mapping[Cell, float]
    files: Sequence[int]
    sizes: Sequence[int]
    domain: tuple[float, float]
    """Values of the lightest and of the darkest colour."""

    @property
    def is_drawn(self) -> bool:
        """Whether there is a surface: with a single row or column, or with holes all over, there is none."""
        return min(len(self.files), len(self.sizes)) >= _FEWEST and bool(self.patches)

    @functools.cached_property
    def top(self) -> float:
        """Value at the top of the scale."""
        ticks = linear_ticks(max(self.values.values()), _MOST_TICKS)
        step = ticks[1] if len(ticks) > 1 else 1.0
        return math.ceil(max(self.values.values()) / step - 1e-9) * step

    @property
    def step(self) -> float:
        """Length of an edge of the floor's grid."""
        spans = len(self.files) + len(self.sizes) - 2
        return min(_LONGEST_STEP_PX, _WIDEST_PX / (_RIGHT_PX * spans))

    def at(self, file: float, size: float, value: float = 0.0) -> Point:
        """Place a point: by its positions among the file and the record sizes, and its value above the floor."""
        x = _ROOM["left"] + (len(self.files) - 1 + size - file) * _RIGHT_PX * self.step
        y = _ROOM["top"] + HEIGHT_PX + (file + size) * _DOWN_PX * self.step
        return x, y - HEIGHT_PX * value / self.top

    @functools.cached_property
    def patches(self) -> list[Patch]:
        """The surface in the order in which it is drawn: what is farthest from the reader first."""
        places = itertools.product(range(len(self.files) - 1), range(len(self.sizes) - 1))
        found = (self._patch(file, size) for file, size in sorted(places, key=lambda place: (sum(place), place)))
        return [patch for patch in found if patch is not None]

    def _patch(self, file: int, size: int) -> Patch | None:
        around = ((file, size), (file, size + 1), (file + 1, size + 1), (file + 1, size))
        cells = [(f, s, Cell(self.files[f], self.sizes[s])) for f, s in around]
        there = [(f, s, cell) for f, s, cell in cells if cell in self.values]
        if len(there) < _CORNERS:
            return None
        values = [self.values[cell] for _, _, cell in there]
        return Patch(
            corners=tuple(cell for _, _, cell in there),
            points=tuple(self.at(f, s, value) for (f, s, _), value in zip(there, values, strict=True)),
            colour=colour_of(sum(values) / len(values), self.domain),
        )


def colour_of(value: float, domain: tuple[float, float]) -> str:
    """Give the colour of a value: the map's colours at equal distances of the logarithm, straight lines in between."""
    low, high = domain
    share = math.log(value / low) / math.log(high / low) if high > low else 0.5
    position = min(max(share, 0.0), 1.0) * (len(theme.HEAT_RANGE) - 1)
    left = min(int(position), len(theme.HEAT_RANGE) - 2)
    pairs = zip(_channels(theme.HEAT_RANGE[left]), _channels(theme.HEAT_RANGE[left + 1]), strict=True)
    return "rgb({}, {}, {})".format(*(round(a + (b - a) * (position - left)) for a, b in pairs))


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def svg(surface: Surface, *, name_of: Callable[[int], str], unit: str, words: str) -> str:
    """Draw a surface; empty where there is none.

    Args:
        surface: What to draw.
        name_of: Words for a size in KiB.
        unit: Of the values.
        words: What those read who cannot see it.
    """
    if not surface.is_drawn:
        return ""
    corner_x, _ = surface.at(0, len(surface.sizes) - 1)
    _, corner_y = surface.at(len(surface.files) - 1, len(surface.sizes) - 1)
    width, height = corner_x + _ROOM["right"], corner_y + _ROOM["bottom"]
    body = [*_floor(surface), *_scale(surface, unit), *_surface(surface, name_of, unit), *_sizes(surface, name_of)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{markup(words)}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
        f' font-family="{theme.FONT}" font-size="11" fill="{theme.INK}">{"".join(body)}</svg>'
    )


def _surface(surface: Surface, name_of: Callable[[int], str], unit: str) -> Iterable[str]:
    for patch in surface.patches:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in patch.points)
        corners = "; ".join(
            f"{name_of(cell.record_kib)} in {name_of(cell.file_kib)}: {format_number(surface.values[cell])} {unit}"
            for cell in patch.corners
        )
        yield (
            f'<polygon points="{points}" fill="{patch.colour}" stroke="{theme.PAPER}" stroke-width="0.8"'
            f' stroke-linejoin="round"><title>{markup(corners)}</title></polygon>'
        )


def _floor(surface: Surface) -> Iterable[str]:
    last_file, last_size = len(surface.files) - 1, len(surface.sizes) - 1
    for file in range(last_file + 1):
        yield _line(surface.at(file, 0), surface.at(file, last_size), theme.GRID)
    for size in range(last_size + 1):
        yield _line(surface.at(0, size), surface.at(last_file, size), theme.GRID)


def _scale(surface: Surface, unit: str) -> Iterable[str]:
    """Draw the heights on the walls behind the surface, and their numbers at the left."""
    last_file, last_size = len(surface.files) - 1, len(surface.sizes) - 1
    for value in linear_ticks(surface.top, _MOST_TICKS):
        left, back, right = (surface.at(f, s, value) for f, s in ((last_file, 0), (0, 0), (0, last_size)))
        yield _line(left, back, theme.GRID) + _line(back, right, theme.GRID)
        yield _text(left[0] - 6, left[1] + 4, format_number(value) if value else "0", "end")
    for file, size in ((last_file, 0), (0, 0), (0, last_size)):
        yield _line(surface.at(file, size), surface.at(file, size, surface.top), theme.GRID)
    _, y = surface.at(last_file, 0, surface.top)
    yield _text(4, y - 14, unit, "start", theme.MUTED_INK)


def _sizes(surface: Surface, name_of: Callable[[int], str]) -> Iterable[str]:
    """Name the sizes along the two edges in front: all of them, or every second one where they are close."""
    last_file, last_size = len(surface.files) - 1, len(surface.sizes) - 1
    every = 1 if surface.step * _DOWN_PX >= _LINE_PX else 2
    for size in range(0, last_size + 1, every):
        x, y = surface.at(last_file, size)
        yield _text(x - 5, y + 19, name_of(surface.sizes[size]), "end")
    for file in range(0, last_file + 1, every):
        x, y = surface.at(file, last_size)
        yield _text(x + 5, y + 19, name_of(surface.files[file]), "start")
    for (x, y), words, anchor in (
        (surface.at(last_file, last_size / 2), "record size", "end"),
        (surface.at(last_file / 2, last_size), "file size", "start"),
    ):
        aside = -62 if anchor == "end" else 62
        yield _text(x + aside, y + 40, words, anchor, theme.MUTED_INK)


def _line(begin: Point, end: Point, colour: str) -> str:
    return (
        f'<line x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{colour}"'
        ' stroke-width="1"/>'
    )


def _text(x: float, y: float, words: str, anchor: str, colour: str = theme.INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{markup(words)}</text>'
