"""IOzone's surfaces, drawn: file size by record size, the rate as colour with its number in the cell; children as bars.

One map a test, all on one colour scale, so that tests can be compared. A cell that was left out is white (METHOD 6.2,
lesson 6). The three-dimensional surface that spreadsheets draw hides what is behind it, so it is folded up
below its map.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, records
from assay.report.figure import Figure, Table
from assay.report.numbers import IOPS, MIB_PER_S
from assay.report.verdict import Doubts
from assay.tools.iozone import single
from assay.tools.iozone.columns import Column
from assay.tools.iozone.isometric import Surface, svg
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.values import Measured
from assay.units import ABSENT, KIB, format_bytes, format_number

_KIB_PER_MIB = 1024
_CELL_PX = 30
_BAR_PX = 26
_TIMING = (
    " Rates are by IOzone's own timing, as in its text: all records by the time spent in the calls that it times, with -e"
    " and -c flush and close too. Those of the results are by the time that passed in their window, with what lies between"
    " calls: making what is written, above all. On cached data that is much."
)


def figures(measured: Measured, doubts: Doubts) -> Sequence[Figure]:
    """Draw the surfaces, with what is less than trusted marked, or the sums of the children."""
    if measured.settings.is_throughput:
        return tuple(_bars(measured))
    return tuple(_surfaces(measured, doubts))


# -- one stream --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Numbers:
    """What a map shows."""

    values: dict[Cell, float]
    doubted: dict[Cell, bool]
    """Cells that are less than trusted, and whether their numbers are used all the same."""

    def is_usable(self, cell: Cell) -> bool:
        return self.doubted.get(cell, True)

    def marked(self, cell: Cell) -> str:
        """Print a number; one that is weak has a ring, one that is not trusted is in brackets."""
        number = format_number(self.values.get(cell))
        return number if cell not in self.doubted else f"{number}°" if self.doubted[cell] else f"({number})"

    def mark_legend(self) -> str:
        """Explain the marks in use."""
        weak, bad = sum(self.doubted.values()), sum(not is_usable for is_usable in self.doubted.values())
        marks = [f" °: weak ({weak} cells)."] if weak else []
        marks += [f" Grey and in brackets: not trusted ({bad} cells)."] if bad else []
        return "".join(marks) + (" The warnings give the reasons." if marks else "")


def _surfaces(measured: Measured, doubts: Doubts) -> Iterator[Figure]:
    cells = measured.settings.matrix.cells()
    by_column = {column: _cell_values(measured, column, cells) for column in measured.settings.measured()}
    shown = [value for values in by_column.values() for value in values.values()]
    if not shown:
        return
    domain = (min(shown), max(shown))
    timing = _TIMING
    for column, values in by_column.items():
        if values:
            mine = {
                cell: doubts[place]
                for cell in values
                if (place := (single.phase_name(column, cell), column.key)) in doubts
            }
            yield _surface(measured, column, _Numbers(values, mine), domain, timing)
            timing = ""


def _cell_values(measured: Measured, column: Column, cells: Sequence[Cell]) -> dict[Cell, float]:
    per_unit = 1 if _is_counted(measured) else _KIB_PER_MIB
    found = ((cell, measured.value(column, cell)) for cell in cells)
    return {cell: value / per_unit for cell, value in found if value}


def _is_counted(measured: Measured) -> bool:
    return measured.settings.ops_per_s or measured.settings.microseconds


def _unit(measured: Measured) -> str:
    if measured.settings.microseconds:
        return "µs per operation"
    return (IOPS if measured.settings.ops_per_s else MIB_PER_S).label


def _surface(
    measured: Measured,
    column: Column,
    numbers: _Numbers,
    domain: tuple[float, float],
    timing: str,
) -> Figure:
    values = numbers.values
    unit, name = _unit(measured), column.key.replace("-", " ")
    files = list(dict.fromkeys(cell.file_kib for cell in values))
    sizes = sorted({cell.record_kib for cell in values})
    low, high = min(values, key=lambda cell: values[cell]), max(values, key=lambda cell: values[cell])
    words = (
        f"{name.capitalize()}: {len(values)} cells of {unit} by file size and record size. Lowest"
        f" {format_number(values[low])} with {_cell_words(low)}; highest {format_number(values[high])} with"
        f" {_cell_words(high)}.{numbers.mark_legend()}"
    )
    rows = [
        (_size(file_kib), *(numbers.marked(Cell(file_kib, record_kib)) for record_kib in sizes)) for file_kib in files
    ]
    return Figure(
        slug=f"iozone-{column.key}",
        title=f"{name}: {unit} by file and record size",
        caption="Higher is darker; all tests share the scale of colours. Blank: left out."
        + numbers.mark_legend()
        + timing,
        alt_text=words,
        chart=_map(numbers, files, sizes, domain, unit),
        table=Table(("File", *(f"{_size(record_kib)} records" for record_kib in sizes)), tuple(rows)),
        in_space=svg(Surface(values, files, sizes, domain), name_of=_size, unit=unit, words=words),
    )


def _map(numbers: _Numbers, files: list[int], sizes: list[int], domain: tuple[float, float], unit: str) -> Layered:
    middle = (domain[0] * domain[1]) ** 0.5
    data = records(
        {
            "file": _size(cell.file_kib),
            "record": _size(cell.record_kib),
            "value": value,
            "label": numbers.marked(cell),
            "ink": theme.ON_DARK_FILL if numbers.is_usable(cell) and value > middle else theme.ON_LIGHT_FILL,
            "usable": numbers.is_usable(cell),
        }
        for cell, value in numbers.values.items()
    )
    low, high = domain if domain[1] > domain[0] else (domain[0] * 0.9, domain[0] * 1.1)
    scale = vl.Scale(type="log", domain=[low, high], range=list(theme.HEAT_RANGE), interpolate="rgb")
    base = vl.Chart(data).encode(
        x=vl.X("record:O", title="record size", sort=[_size(size) for size in sizes], axis=vl.Axis(labelAngle=0)),
        y=vl.Y("file:O", title="file size", sort=[_size(size) for size in files]),
    )
    tooltip = [vl.Tooltip("file:N"), vl.Tooltip("record:N"), vl.Tooltip("label:N", title=unit)]
    known = base.transform_filter("datum.usable").mark_rect()
    filled = known.encode(color=vl.Color("value:Q", scale=scale, legend=None), tooltip=tooltip)
    grey = base.transform_filter("!datum.usable").mark_rect(color=theme.OUTSIDE).encode(tooltip=tooltip)
    labels = base.mark_text(fontSize=10).encode(text=vl.Text("label:N"), color=vl.Color("ink:N", scale=None))
    return Layered([filled, grey, labels], _CELL_PX * len(files), independent_colours=True)


def _size(size_kib: int) -> str:
    return format_bytes(size_kib * KIB).replace(".00 ", " ").replace(".0 ", " ")


def _cell_words(cell: Cell) -> str:
    return f"{_size(cell.record_kib)} records in a {_size(cell.file_kib)} file"


# -- throughput --------------------------------------------------------------------------------------------------------


def _bars(measured: Measured) -> Iterator[Figure]:
    unit = (IOPS if measured.settings.ops_per_s else MIB_PER_S).label
    per_unit = 1 if measured.settings.ops_per_s else _KIB_PER_MIB
    for at, count in enumerate(measured.settings.counts):
        rows = []
        for load in measured.settings.loads():
            sums = measured.sums(load, count)
            if sums is not None and sums.total is not None and sums.parent is not None:
                amounts = [child.amount for child in sums.children]
                most = max(amounts, default=0.0)
                even = min(amounts) / most if most else None
                rows.append((load.title, sums.total / per_unit, sums.parent / per_unit, even))
        if rows:
            yield _bar_figure(rows, count, unit, f"iozone-children-{at + 1}-{count}")


def _bar_figure(rows: Sequence[tuple[str, float, float, float | None]], count: int, unit: str, slug: str) -> Figure:
    children = "1 child" if count == 1 else f"{count} children"
    table = tuple(
        (title, format_number(total), format_number(parent), ABSENT if even is None else f"{100 * even:.0f} %")
        for title, total, parent, even in rows
    )
    return Figure(
        slug=slug,
        title=f"Throughput of {children}, {unit}",
        caption="Bar: the sum of the children's own rates. Stroke: what all did by the time of all. Far apart, the"
        " children did not run together." + _TIMING,
        alt_text=f"Throughput of {children}. "
        + "; ".join(f"{r[0]}: children {r[1]} {unit}, parent {r[2]}, least work by most {r[3]}" for r in table)
        + ".",
        chart=_bar_chart(rows, unit),
        table=Table(("Test", f"Children, {unit}", f"Parent, {unit}", "Least / most work of a child"), table),
    )


def _bar_chart(rows: Sequence[tuple[str, float, float, float | None]], unit: str) -> Layered:
    data = records(
        {"test": title, "total": total, "parent": parent, "label": format_number(total)}
        for title, total, parent, _ in rows
    )
    top = max(max(row[1], row[2]) for row in rows) or 1.0
    scale = vl.Scale(domain=[0, 1.16 * top], nice=False)
    x = vl.X("total:Q", title=unit, scale=scale, axis=vl.Axis(values=linear_ticks(top, 5), format=",~r"))
    base = vl.Chart(data).encode(y=vl.Y("test:N", title=None, sort=None))
    bars = base.mark_bar(color=theme.MEASURED).encode(x=x)
    labels = base.mark_text(align="left", dx=6, fontWeight="bold").encode(x=x, text=vl.Text("label:N"))
    strokes = base.mark_tick(color=theme.PERCENTILE_COLOURS["p50"], thickness=3, size=_BAR_PX - 6)
    return Layered([bars, strokes.encode(x=vl.X("parent:Q", scale=scale)), labels], _BAR_PX * len(rows))
