"""Bonnie++'s figures: a bar for the rate of each test, and its slowest operation next to it.

What bonnie++ hides because it took less than half a second is drawn too, pale and with its time, so that it is not taken for
a steady rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, records
from assay.report.figure import Figure, Table
from assay.tools.bonnie.measured import MeasuredPass, MeasuredTest
from assay.tools.bonnie.plan import FILE_TESTS, IO_TESTS
from assay.units import KIB, format_ns, format_number, format_seconds

_WORDS = {
    "putc_write": "write bytes",
    "block_write": "write blocks",
    "rewrite": "rewrite blocks",
    "getc_read": "read bytes",
    "block_read": "read blocks",
    "random_seeks": "seeks",
    "seq_create": "create, in order",
    "seq_stat": "stat, as listed",
    "seq_delete": "remove, as listed",
    "ran_create": "create, shuffled",
    "ran_stat": "stat, shuffled",
    "ran_delete": "remove, shuffled",
}
_BAR_PX = 24
_LATENCY_END = 2.4
"""The axis is longer than the longest bar by this factor: its number and the slowest operation use that room."""


@dataclass(frozen=True)
class _Part:
    """Tests that share a unit."""

    slug: str
    title: str
    tests: tuple[str, ...]
    unit: str
    scale: float
    """Amounts of a test in one of the unit."""


_PARTS = (
    _Part("bonnie-file", "Bonnie++: one file", tuple(t for t in IO_TESTS if t != "random_seeks"), "MiB/s", KIB),
    _Part("bonnie-seeks", "Bonnie++: random seeks", ("random_seeks",), "seeks/s", 1.0),
    _Part("bonnie-files", "Bonnie++: small files", FILE_TESTS, "files/s", 1.0),
)


def figures_of(everything: Sequence[MeasuredPass]) -> list[Figure]:
    """Draw each part that has a test; with several runs a bar for each of them."""
    figures = []
    for part in _PARTS:
        rows = [
            (number, one.tests[name])
            for name in part.tests
            for number, one in enumerate(everything, 1)
            if name in one.tests
        ]
        if rows:
            figures.append(_figure(part, rows, several=len(everything) > 1))
    return figures


def _figure(part: _Part, rows: Sequence[tuple[int, MeasuredTest]], *, several: bool) -> Figure:
    named = [(_WORDS[test.name] + (f", run {number}" if several else ""), test) for number, test in rows]
    cells = tuple(
        (
            name,
            f"{format_number(test.rate / part.scale)} {part.unit}",
            f"{test.cpu_percent} %",
            format_ns(test.slowest_ns),
            format_seconds(test.seconds),
        )
        for name, test in named
    )
    caption = "Rate over the whole test, and its slowest single operation."
    if any(test.is_hidden for _, test in named):
        caption += " Pale: the test took less than 0.5 s, which bonnie++ does not show; measure longer (-s, -n)."
    words = "; ".join(f"{name}: {rate}, slowest {slowest}, took {took}" for name, rate, _, slowest, took in cells)
    return Figure(
        slug=part.slug,
        title=part.title,
        caption=caption,
        alt_text=f"{part.title}. {words}.",
        chart=_chart(part, named),
        table=Table(("Test", "Rate", "CPU", "Slowest operation", "Took"), cells),
    )


def _chart(part: _Part, named: Sequence[tuple[str, MeasuredTest]]) -> Layered:
    top = max([1e-9, *(test.rate / part.scale for _, test in named)])
    data = records(_row(part, name, test) for name, test in named)
    order = [name for name, _ in named]
    y = vl.Y("test:N", title=None, sort=order, axis=vl.Axis(labelLimit=0, domain=False, ticks=False))
    scale = vl.Scale(domain=[0, _LATENCY_END * top], nice=False)
    ticks = linear_ticks(top, most=4)
    x = vl.X("rate:Q", title=part.unit, scale=scale, axis=vl.Axis(values=ticks, grid=False, titleAnchor="start"))
    base = vl.Chart(data)
    bars = base.mark_bar(height={"band": 0.7}).encode(x=x, y=y, color=vl.Color("ink:N", scale=None))
    numbers = base.mark_text(align="left", dx=4).encode(x=x, y=y, text=vl.Text("label:N"))
    return Layered([bars, numbers], _BAR_PX * len(named))


def _row(part: _Part, name: str, test: MeasuredTest) -> dict[str, object]:
    took = f" in {format_seconds(test.seconds)}" if test.is_hidden else ""
    return {
        "test": name,
        "rate": test.rate / part.scale,
        "label": f"{format_number(test.rate / part.scale)}{took}, slowest {format_ns(test.slowest_ns)}",
        "ink": theme.UNTRUSTED if test.is_hidden else theme.MEASURED,
    }
