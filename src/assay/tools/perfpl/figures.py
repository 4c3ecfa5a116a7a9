"""The figures of perf.pl: the rate of each iteration, and where the time of a file went."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, records
from assay.report.figure import Figure, Table
from assay.tools.perfpl.settings import WRITE
from assay.units import format_ns, format_number

_HEIGHT_PX = 200
_MOST_LABELLED = 30
_PART_COLOURS = ("#2166ac", "#e6a117", "#7b3294", "#5aae61")


def iteration_figures(
    *,
    numbers: Sequence[int],
    rates: npt.NDArray[np.float64],
    warm_up: int,
    words: str,
    total: float,
    parts: Mapping[str, Sequence[float]],
    writes_per_file: int,
) -> tuple[Figure, Figure]:
    """Draw the iterations.

    Args:
        numbers: Iterations, from 1.
        rates: MiB/s of each, by the engine's clock.
        warm_up: How many of the first differ from the final level.
        words: The description of the rates.
        total: Total work by total time, MiB/s.
        parts: Mean latency in ns of each operation, by iteration.
        writes_per_file: Writes of each file: a file has one of every other operation.
    """
    return _rates(numbers, rates, warm_up, words, total), _parts(numbers, parts, writes_per_file)


def _x(numbers: Sequence[int]) -> vl.X:
    every = max(1, len(numbers) // _MOST_LABELLED + 1)
    return vl.X("iteration:O", title="iteration", axis=vl.Axis(values=list(numbers[::every]), labelAngle=0))


def _rates(numbers: Sequence[int], rates: npt.NDArray[np.float64], warm_up: int, words: str, total: float) -> Figure:
    rows = [
        {"iteration": number, "rate": float(rate), "ink": theme.OUTSIDE if at < warm_up else theme.MEASURED}
        for at, (number, rate) in enumerate(zip(numbers, rates, strict=True))
    ]
    top = 1.15 * float(rates.max())
    y = vl.Y(
        "rate:Q",
        title="MiB/s",
        scale=vl.Scale(domain=[0, top], nice=False),
        axis=vl.Axis(values=linear_ticks(top, 5), format=",~r"),
    )
    bars = vl.Chart(records(rows)).mark_bar().encode(x=_x(numbers), y=y, color=vl.Color("ink:N", scale=None))
    base = vl.Chart(records([{"rate": total, "label": f"total work by total time: {format_number(total)} MiB/s"}]))
    rule = base.mark_rule(color=theme.INK, strokeDash=[5, 3]).encode(y=y)
    label: dict[str, Any] = {"align": "left", "baseline": "bottom", "x": 4, "dy": -3, "fontWeight": "bold"}
    halo = base.mark_text(stroke=theme.PAPER, strokeWidth=3, strokeJoin="round", **label).encode(
        y=y, text=vl.Text("label:N")
    )
    name = base.mark_text(color=theme.INK, **label).encode(y=y, text=vl.Text("label:N"))
    grey = f" Grey: the first {warm_up}, which differ from the rest." if warm_up else ""
    return Figure(
        slug="perfpl-iterations",
        title="Rate of each iteration",
        caption=f"By the engine's clock.{grey} {words}",
        alt_text=f"Bars of {len(numbers)} iterations between {format_number(float(rates.min()))} and"
        f" {format_number(float(rates.max()))} MiB/s. {words}",
        chart=Layered([bars, rule, halo, name], _HEIGHT_PX),
        table=Table(
            ("Iteration", "MiB/s", "Differs from the rest"),
            tuple(
                (str(number), format_number(float(rate)), "yes" if at < warm_up else "no")
                for at, (number, rate) in enumerate(zip(numbers, rates, strict=True))
            ),
        ),
    )


def _parts(numbers: Sequence[int], parts: Mapping[str, Sequence[float]], writes_per_file: int) -> Figure:
    of_file = {
        name: [mean * (writes_per_file if name == WRITE else 1) for mean in means] for name, means in parts.items()
    }
    rows = [
        {"iteration": number, "operation": name, "us": of_file[name][at] / 1e3, "order": order}
        for order, name in enumerate(of_file)
        for at, number in enumerate(numbers)
    ]
    colour = vl.Color(
        "operation:N",
        scale=vl.Scale(domain=list(of_file), range=list(_PART_COLOURS[: len(of_file)])),
        legend=vl.Legend(title=None, orient="top", direction="horizontal", symbolType="square"),
    )
    y = vl.Y("us:Q", title="µs of a file, mean", stack="zero", axis=vl.Axis(tickCount=5, format=",~r"))
    bars = vl.Chart(records(rows)).mark_bar().encode(x=_x(numbers), y=y, color=colour, order=vl.Order("order:Q"))
    last = ", ".join(f"{name} {format_ns(values[-1])}" for name, values in of_file.items())
    heads = tuple(f"{name}, of a file" for name in of_file)
    return Figure(
        slug="perfpl-parts",
        title="Where the time of a file goes",
        caption="Mean time of a file in each operation, all its writes together, without what lies between them.",
        alt_text=f"Stacked bars of {len(numbers)} iterations. In the last: {last}.",
        chart=Layered([bars], _HEIGHT_PX),
        table=Table(
            ("Iteration", *heads),
            tuple(
                (str(number), *(format_ns(values[at]) for values in of_file.values()))
                for at, number in enumerate(numbers)
            ),
        ),
    )
