"""Draw small SVG pictures for a table row: the rate over time, and the latency distribution.

They need no JavaScript. Colours come from the page's style sheet, so that they follow light and dark. All latency strips of
a table share one logarithmic scale, so that rows can be compared; the heading has its ticks.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.outward import markup
from assay.report.axes import decades_covering
from assay.report.figures.timeline import Rates
from assay.report.numbers import rate, span_s
from assay.results import LatencyNs, Result
from assay.units import format_ns

_WIDTH = 130
_HEIGHT = 28
_STRIP_WIDTH = 160
_STRIP_MARGIN = 6
_MOST_POINTS = 75
_ROOM_PER_LABEL = 44
"""Units that the label of a tick takes."""


def sparkline(series: Rates, result: Result) -> str:
    """Draw the rate over the whole phase, from zero; the window that the number is from is shaded."""
    end_s = float(series.end_s[-1])
    by = math.ceil(len(series.mean) / _MOST_POINTS)
    firsts = np.arange(0, len(series.mean), by)
    lowest, highest = (f.reduceat(series.mean, firsts) for f in (np.minimum, np.maximum))
    top = max(float(series.highest.max()) if by == 1 else float(highest.max()), 1e-9)
    starts = series.start_s[firsts] / end_s * _WIDTH
    # The lowest of each step is drawn too: a stall of one interval in an hour must not vanish.
    points = []
    for x, low, high in zip(starts, lowest, highest, strict=True):
        points += [(x, high)] if high == low else [(x, high), (x, low)]
    path = "".join(
        f"{'M' if i == 0 else 'L' if x == points[i - 1][0] else f'H{x:.1f}L'}{x:.1f} {_up(y, top):.1f}"
        for i, (x, y) in enumerate(points)
    )
    left, right = (min(max(t / end_s, 0.0), 1.0) * _WIDTH for t in result.window_s or (0.0, end_s))
    inside = series.inside(result.window_s)
    words = "Rate over time"
    if len(inside) and result.window_s is not None:
        low, high = float(series.lowest[inside].min()), float(series.highest[inside].max())
        words += (
            f": in the window {span_s(*result.window_s)} between {rate(low, series.unit)} and {rate(high, series.unit)}"
        )
    return (
        f'<svg class="spark" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img"'
        f' aria-label="{markup(words)}"><title>{markup(words)}</title>'
        f'<rect class="window" x="{left:.1f}" y="0" width="{max(right - left, 0.5):.1f}" height="{_HEIGHT}"/>'
        f'<path class="line" d="{path}H{_WIDTH}"/></svg>'
    )


def _up(value: float, top: float) -> float:
    return 2 + (1 - value / top) * (_HEIGHT - 4)


@dataclass(frozen=True)
class StripScale:
    """The logarithmic scale that the latency strips of a table share."""

    low_ns: float
    high_ns: float

    @classmethod
    def of(cls, spreads: Iterable[LatencyNs | None]) -> "StripScale":
        """Enclose everything that strips show."""
        found = [v for one in spreads if one for v in (one.p50, one.p99, one.max) if v]
        return cls(*decades_covering(min(found, default=1e3), max(found, default=1e6)))

    def place(self, value_ns: float) -> float:
        """Give the place of a value along the strip."""
        share = math.log(max(value_ns, self.low_ns) / self.low_ns) / math.log(self.high_ns / self.low_ns)
        return _STRIP_MARGIN + share * (_STRIP_WIDTH - 2 * _STRIP_MARGIN)

    def decades(self) -> list[float]:
        """Give the powers of ten, every second or third of them where they are many."""
        first, last = round(math.log10(self.low_ns)), round(math.log10(self.high_ns))
        room = max(_STRIP_WIDTH // _ROOM_PER_LABEL, 1)
        return [10.0**power for power in range(first, last + 1, math.ceil((last - first + 1) / room))]

    def axis(self) -> str:
        """Draw the ticks, for the heading."""
        labels = []
        for value in self.decades():
            x = self.place(value)
            anchor = "start" if x < 2 * _STRIP_MARGIN else "end" if x > _STRIP_WIDTH - 2 * _STRIP_MARGIN else "middle"
            words = format_ns(value).replace(".00 ", " ").replace(".0 ", " ")
            labels.append(
                f'<path class="tick" d="M{x:.1f} 13V16"/><text x="{x:.1f}" y="10" text-anchor="{anchor}">{words}</text>'
            )
        return (
            f'<svg class="strip" viewBox="0 0 {_STRIP_WIDTH} 16" width="{_STRIP_WIDTH}" height="16" role="img"'
            f' aria-label="Scale of the latency strips, logarithmic">{"".join(labels)}</svg>'
        )

    def strip(self, spreads: Sequence[tuple[str, LatencyNs]]) -> str:
        """Draw p50, p99 and the slowest of one or two spreads, one below the other."""
        height = 16 * len(spreads)
        parts = [f'<path class="tick" d="M{self.place(v):.1f} 0V{height}"/>' for v in self.decades()]
        texts = []
        for at, (name, spread) in enumerate(spreads):
            parts.append(self._one(spread, 16 * at + 8))
            values = ((key, getattr(spread, key)) for key in ("p50", "p99", "max"))
            texts.append(f"{name}: " + ", ".join(f"{key} {format_ns(value)}" for key, value in values))
        words = markup("; ".join(texts))
        return (
            f'<svg class="strip" viewBox="0 0 {_STRIP_WIDTH} {height}" width="{_STRIP_WIDTH}" height="{height}" role="img"'
            f' aria-label="{words}"><title>{words}</title>{"".join(parts)}</svg>'
        )

    def _one(self, spread: LatencyNs, y: int) -> str:
        p50, p99, slowest = ((None if v is None else self.place(v)) for v in (spread.p50, spread.p99, spread.max))
        parts = []
        if p50 is not None and (end := p99 if p99 is not None else slowest) is not None:
            # Without a p99 it is not known where most operations lie.
            parts.append(f'<path class="{"most" if p99 is not None else "few"}" d="M{p50:.1f} {y}H{end:.1f}"/>')
        if p99 is not None and slowest is not None:
            parts.append(f'<path class="few" d="M{p99:.1f} {y}H{slowest:.1f}"/>')
        if p50 is not None:
            parts.append(f'<circle class="p50" cx="{p50:.1f}" cy="{y}" r="3"/>')
        if p99 is not None:
            parts.append(f'<path class="p99" d="M{p99:.1f} {y - 4}V{y + 4}"/>')
        if slowest is not None:
            parts.append(f'<circle class="max" cx="{slowest:.1f}" cy="{y}" r="2.5"/>')
        return "".join(parts)
