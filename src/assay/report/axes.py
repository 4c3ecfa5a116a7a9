"""Ticks, labels and inline data that figures share. Default tick labels collide at the right end (METHOD 6.2, 3)."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.report import theme
from assay.report import vega_lite as vl

LATENCY_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs'"
    " : format(datum.value, '~g') + ' ns'"
)
"""Vega expression that prints nanoseconds on a log axis."""

_STEPS = (1, 2, 5)
_LEAST_TICK_PX = 13
"""Between labels one upon the other."""


def linear_ticks(end: float, most: int = 6) -> list[float]:
    """Give round values from 0 to `end`, at most `most` steps apart."""
    if end <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(end / most))
    step = next(power * factor for factor in (*_STEPS, 10, 20) if power * factor * most >= end)
    return [round(i * step, 9) for i in range(math.floor(end / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Give the decades between two bounds, with 2 and 5 between them where there is room."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1,) if last - first > 2 else _STEPS
    values = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


def dense_log_ticks(low: float, high: float, length_px: float) -> list[float]:
    """Give 1, 2 and 5 of each decade, where labels upon each other have room for that; else the decades."""
    values = [factor * 10.0**power for power in range(-3, 16) for factor in _STEPS]
    inside = [value for value in values if low * 0.999 <= value <= high * 1.001]
    return inside if len(inside) * _LEAST_TICK_PX <= length_px else log_ticks(low, high)


def enclosing_steps(low: float, high: float) -> tuple[float, float]:
    """Give the steps of 1, 2 and 5 that enclose two values, a factor of five apart at least."""
    steps = [factor * 10.0**power for power in range(-3, 16) for factor in _STEPS]
    first = max(i for i, step in enumerate(steps) if step <= low * 1.0001)
    last = min(i for i, step in enumerate(steps) if step >= high * 0.9999)
    return steps[first], steps[max(last, first + 2)]


def decades_covering(low: float, high: float) -> tuple[float, float]:
    """Give the powers of ten that enclose two values, at least one decade apart."""
    first = math.floor(math.log10(low) + 1e-9)
    last = max(math.ceil(math.log10(high) - 1e-9), first + 1)
    return 10.0**first, 10.0**last


def spread(positions: Sequence[float], least: float) -> list[float]:
    """Move labels apart so that neighbours differ by `least`; order and middle are kept (lesson 5)."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    moved = [positions[i] for i in order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + least)
    shift = sum(moved) / len(moved) - sum(positions) / len(positions) if moved else 0.0
    result = [0.0] * len(positions)
    for place, i in enumerate(order):
        result[i] = moved[place] - shift
    return result


@dataclass(frozen=True, slots=True)
class Layered:
    """Charts over each other in Assay's dress."""

    layers: Sequence[vl.Chart]
    height: float
    independent_colours: bool = False
    """Whether a layer has a colour scale of its own; else they share one."""

    def to_dict(self) -> dict[str, Any]:
        """Give the Vega-Lite specification."""
        datasets: dict[str, Any] = {}
        names: dict[int, str] = {}
        return {
            "$schema": vl.SCHEMA_URL,
            "config": theme.config(),
            "width": theme.WIDTH_PX,
            "height": self.height,
            "layer": [layer.to_dict(datasets, names) for layer in self.layers],
            "datasets": datasets,
        } | ({"resolve": {"scale": {"color": "independent"}}} if self.independent_colours else {})


_NAME_PX = 15
"""Height of a line's name above the picture."""


def names_above(named: Sequence[tuple[str, str]]) -> list[vl.Chart]:
    """Write the names of lines above the picture, the first on top, each in its colour."""
    layers: list[vl.Chart] = []
    for at, (name, ink) in enumerate(named):
        place: dict[str, Any] = {"align": "left", "baseline": "middle", "x": 0, "y": _NAME_PX * (at - len(named))}
        layer = vl.Chart(records([{"label": f"— {name}"}])).mark_text(color=ink, fontSize=11, **place)
        layers.append(layer.encode(text="label:N"))
    return layers


def records(rows: Iterable[Mapping[str, object]]) -> vl.Data:
    """Carry a few rows in the figure."""
    return vl.Data([dict(row) for row in rows])


def numeric_csv(columns: Mapping[str, Iterable[float]]) -> vl.Data:
    """Carry many numbers in the figure: CSV is a third of the size of JSON objects."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{value:.7g}" for value in row] for row in zip(*columns.values(), strict=True))
    parse = dict.fromkeys(columns, "number")
    return vl.Data(text.getvalue(), {"type": "csv", "parse": parse})
