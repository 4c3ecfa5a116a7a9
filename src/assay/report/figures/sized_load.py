"""Draw a sizing: the captured load with what is sustained, and the disks that each candidate takes."""

from collections.abc import Iterator

import numpy as np

from assay.analysis.arrays import FloatArray
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.figure import Figure, Table
from assay.report.sizing_words import at_words
from assay.sizing.demand import runs_of
from assay.sizing.size_answer import CapturedLoad, SizeAnswer
from assay.units import format_number

HEIGHT_PX = 220
_MOST_POINTS = 1500
"""Of a line; longer series are drawn as the mean and the highest of as many parts."""
_HOUR_S = 3600.0


def draw(answer: SizeAnswer) -> Iterator[Figure]:
    """Draw the load over time, where it was captured, then a bar for each candidate."""
    if answer.load.captured is not None:
        yield _over_time(answer, answer.load.captured)
    if any(one.disks for one in answer.candidates):
        yield _bars(answer)


def _over_time(answer: SizeAnswer, captured: CapturedLoad) -> Figure:
    total, demand = captured.total, captured.demand
    iops, step_s = total.columns["iops"], total.step_s
    parts = np.array_split(np.arange(total.steps), min(total.steps, _MOST_POINTS))
    rows = [
        {"hour": float(part[0]) * step_s / _HOUR_S, "mean": _mean(iops[part]), "most": _most(iops[part])}
        for part in parts
        if np.isfinite(iops[part]).any()
    ]
    tints = [{"from": begin * step_s / _HOUR_S, "to": end * step_s / _HOUR_S} for begin, end in runs_of(demand.core)]
    x = vl.X(
        "hour:Q",
        title=f"hours since {at_words(total.begin_s)} UTC",
        axis=vl.Axis(grid=False),
        scale=vl.Scale(domain=[0, total.steps * step_s / _HOUR_S], nice=False),
    )
    y = vl.Y("mean:Q", title="IOPS", axis=vl.Axis(tickCount=5), scale=vl.Scale(zero=True))
    tooltip = [vl.Tooltip("hour:Q", format=".2f"), vl.Tooltip("mean:Q", title="IOPS", format=",.4~r")]
    target = records([{"mean": answer.load.iops}])
    data = records(rows)
    layers = [
        vl.Chart(records(tints)).mark_rect(color=theme.WINDOW_TINT).encode(x=vl.X("from:Q"), x2="to:Q"),
        *(
            [vl.Chart(data).mark_line(color=theme.OUTSIDE).encode(x=x, y=vl.Y("most:Q"))]
            if len(parts) < total.steps
            else []
        ),
        vl.Chart(data).mark_line(color=theme.MEASURED).encode(x=x, y=y, tooltip=tooltip),
        vl.Chart(target).mark_rule(color=theme.MARK, strokeDash=[6, 3]).encode(y=y),
    ]
    highest = " The grey line is the highest sample of each part." if len(parts) < total.steps else ""
    return Figure(
        slug="load",
        title="The captured load",
        caption=f"What is sustained has a tint; the dashed line is what is sized for: {answer.load.is_of}.{highest}",
        alt_text=f"A line of IOPS over time; disks are sized for {format_number(answer.load.iops)} IOPS.",
        chart=Layered(layers, HEIGHT_PX),
        table=Table(
            ("Hour", "mean IOPS", "highest IOPS"),
            tuple((f"{row['hour']:.2f}", format_number(row["mean"]), format_number(row["most"])) for row in rows),
        ),
    )


def _bars(answer: SizeAnswer) -> Figure:
    found = [one for one in answer.candidates if one.disks]
    kinds = list(dict.fromkeys(one.disk.name for one in found))
    rows = [
        {"name": f"{one.disk.name} {one.raid.name}", "disks": one.total or 0, "kind": one.disk.name} for one in found
    ]
    chart = (
        vl.Chart(records(rows))
        .mark_bar()
        .encode(
            x=vl.X("disks:Q", title="disks and spares", axis=vl.Axis(tickMinStep=1), scale=vl.Scale(zero=True)),
            y=vl.Y("name:N", title=None, sort=None),
            color=vl.Color(
                "kind:N", title=None, sort=None, scale=vl.Scale(domain=kinds, range=[*theme.SERIES][: len(kinds)])
            ),
            tooltip=[vl.Tooltip("name:N"), vl.Tooltip("disks:Q")],
        )
    )
    return Figure(
        slug="disks",
        title="Disks by kind and RAID level",
        caption="Spares are in the bars.",
        alt_text=f"A bar for each of {len(found)} combinations.",
        chart=Layered([chart], 28.0 * len(found) + 20),
        table=Table(
            ("Combination", "disks", "spares"),
            tuple((str(row["name"]), str(one.disks), str(one.spares)) for row, one in zip(rows, found, strict=True)),
        ),
    )


def _mean(values: FloatArray) -> float:
    return float(np.nanmean(values))


def _most(values: FloatArray) -> float:
    return float(np.nanmax(values))
