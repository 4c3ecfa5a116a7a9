"""Draw the ratio of each result to that of the first side, with its interval and the band of irrelevant differences.

The axis is logarithmic: half as much is as far from 1 as twice as much. Colours repeat the words (METHOD 6.1: green
and purple, distinguishable without red): green better, purple worse, grey all else; of latency less is better.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from assay.compare.comparison import Against, Comparison, Row
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.by_result import rows as places
from assay.report.comparison.comparison_words import ratio_text, row_name
from assay.report.figure import Figure, Table, sentence
from assay.units import ABSENT
from assay.verdicts import ComparisonVerdict

_ROW_PX = 58
_ROWS_OF_A_FIGURE = 40
MOST_ROWS = 240
_INKS = {ComparisonVerdict.BETTER: theme.SERIES[2], ComparisonVerdict.WORSE: theme.SERIES[3]}
_TICKS: tuple[tuple[float, ...], ...] = (
    tuple(1 + i * 0.002 for i in range(-10, 11)),
    tuple(1 + i * 0.01 for i in range(-10, 11)),
    tuple(1 + i * 0.02 for i in range(-10, 11)),
    tuple(1 + i * 0.05 for i in range(-10, 21)),
    (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.75, 2),
    (0.25, 0.33, 0.5, 0.7, 1, 1.4, 2, 3, 4),
    (0.1, 0.2, 0.5, 1, 2, 5, 10),
    (0.01, 0.1, 1, 10, 100),
)
_MOST_TICKS = 8


def draw(comparison: Comparison, against: Against, letter: str) -> Iterator[Figure]:
    """Draw the numbers of a side; nothing where none has a ratio."""
    drawn = against.rows[:MOST_ROWS]
    if not any(row.ratio is not None for row in drawn):
        return
    domain = _domain(drawn, comparison.effect)
    for number, first in enumerate(range(0, len(drawn), _ROWS_OF_A_FIGURE), 1):
        some = drawn[first : first + _ROWS_OF_A_FIGURE]
        part = f", part {number}" if len(drawn) > _ROWS_OF_A_FIGURE else ""
        parts = [(row_name(row), *_figures(row)) for row in some]
        yield Figure(
            slug=f"ratios-{letter.lower()}" + (f"-{number}" if part else ""),
            title=f"{letter} / A: ratio of each number{part}",
            caption=f"Dot: the ratio. Bar: where it lies with 95 % confidence; dashed: from the least to the largest of two"
            f" runs. Shaded: less than {100 * comparison.effect:g} %, which does not matter. Green: better, purple: worse.",
            alt_text=f"Ratios of {letter} to A. "
            + sentence(f"{name}: {ratio} ({between}), {verdict}" for name, ratio, between, verdict in parts),
            chart=chart(some, comparison.effect, domain),
            table=Table(("Number", f"{letter} / A", "95 %", "Verdict"), tuple(parts)),
        )


def _figures(row: Row) -> tuple[str, str, str]:
    ends = row.interval or row.range
    between = f"{ends[0]:.3f} to {ends[1]:.3f}" + ("" if row.interval else ", of two runs") if ends else ABSENT
    return ABSENT if row.ratio is None else f"{row.ratio:.3f}", between, row.verdict.words


def _domain(rows: Sequence[Row], effect: float) -> tuple[float, float]:
    """Enclose 1, what does not matter, and every ratio with its interval, with some room."""
    values = [1 - min(2 * effect, 0.5), 1 + 2 * effect]
    for row in rows:
        values += [] if row.ratio is None else [row.ratio, *(row.interval or row.range or ())]
    room = (max(values) / min(values)) ** 0.04
    return min(values) / room, max(values) * room


def ticks(low: float, high: float) -> list[float]:
    """Give round ratios between two, 1 among them."""
    for wanted in _TICKS:
        inside = [round(value, 6) for value in wanted if low <= value <= high]
        # What begins or ends inside the axis leaves room that has no ticks at all.
        is_whole = wanted[0] <= low * 1.3 and wanted[-1] >= high / 1.3
        if is_whole and 3 <= len(inside) <= _MOST_TICKS:
            return inside
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(math.ceil((last - first) / _MOST_TICKS), 1)
    return sorted({1.0, *(10.0**power for power in range(first, last + 1) if power % step == 0)})


def chart(rows: Sequence[Row], effect: float, domain: tuple[float, float]) -> Layered:
    """Draw rows, each with its words above."""
    shared = {
        "title": "ratio to A",
        "scale": vl.Scale(type="log", domain=list(domain), nice=False),
        "axis": vl.Axis(values=ticks(*domain), format=".4~g", grid=True),
    }
    x = vl.X("ratio:Q", **shared)
    band = vl.Chart(records([{"ratio": 1 - effect, "high": 1 + effect}])).mark_rect(color=theme.WINDOW_TINT)
    one = vl.Chart(records([{"ratio": 1}])).mark_rule(color=theme.INK)
    named = [_row(i, row) for i, row in enumerate(rows)]
    base = vl.Chart(records(named)).encode(y=places(len(named)))
    colour = vl.Color("ink:N", scale=None)
    layers = [band.encode(x=x, x2="high:Q"), one.encode(x=x)]
    for is_interval, dash in (("true", [1, 0]), ("false", [4, 3])):
        bars = base.transform_filter(f"isValid(datum.low) && datum.is_interval === {is_interval}")
        rule = bars.mark_rule(strokeWidth=3, strokeDash=dash, yOffset=14)
        layers.append(rule.encode(x=vl.X("low:Q", **shared), x2="high:Q", color=colour))
    dots = base.transform_filter("isValid(datum.ratio)").mark_point(filled=True, size=80, opacity=1, yOffset=14)
    layers.append(dots.encode(x=x, color=colour, tooltip=[vl.Tooltip("name:N"), vl.Tooltip("words:N")]))
    place: dict[str, Any] = {"align": "left", "baseline": "middle", "x": 2}
    layers.append(base.mark_text(dy=-16, color=theme.INK, **place).encode(text=vl.Text("name:N")))
    words = base.mark_text(dy=-1, fontWeight="bold", **place)
    layers.append(words.encode(text=vl.Text("words:N"), color=colour))
    return Layered(layers, _ROW_PX * len(named))


def _row(i: int, row: Row) -> dict[str, object]:
    low, high = row.interval or row.range or (None, None)
    return {
        "row": i,
        "name": row_name(row),
        "words": f"{ratio_text(row)}, {row.verdict.words}",
        "ink": _INKS.get(row.verdict, theme.MUTED_INK),
        "ratio": row.ratio,
        "low": low,
        "high": high,
        "is_interval": row.interval is not None,
    }
