"""The figure of vdbench: the response-time curve, mean response time over the rate that was reached."""

from collections.abc import Sequence

from assay.report.figure import Figure, Table
from assay.tools.charts import Axis, Series, lines
from assay.tools.vdbench.columns import columns_of
from assay.tools.vdbench.measured import MeasuredRun
from assay.units import format_number

_MOST_CURVES = 6
"""In one picture."""
_LEAST_POINTS = 2


def figures(measured: Sequence[MeasuredRun]) -> Sequence[Figure]:
    """Draw the curves of each rd: six loops of it in one picture, further ones in further pictures."""
    found = []
    for name in dict.fromkeys(each.run.rd.name for each in measured if each.run.of):
        curves = _curves([each for each in measured if each.run.rd.name == name])
        for begin in range(0, len(curves), _MOST_CURVES):
            some = dict(list(curves.items())[begin : begin + _MOST_CURVES])
            found.append(
                _figure(name, begin // _MOST_CURVES, some, [each for each in measured if each.run.rd.name == name])
            )
    return tuple(found)


def _curves(measured: Sequence[MeasuredRun]) -> dict[str, tuple[tuple[float, float], ...]]:
    """Group points by the run at most that they are shares of: the points and that run, by their rate."""
    points: dict[str, list[tuple[float, float]]] = {}
    for each in measured:
        values = columns_of(each)[1](each.mean) if each.mean else {}
        rate, response = values.get("rate"), values.get("resp")
        if rate and response is not None:
            points.setdefault(each.run.of or each.run.name, []).append((float(rate), float(response)))
    return {most: tuple(sorted(found)) for most, found in points.items() if len(found) >= _LEAST_POINTS}


def _figure(
    name: str, number: int, curves: dict[str, tuple[tuple[float, float], ...]], measured: Sequence[MeasuredRun]
) -> Figure:
    loops = {each.run.name: each.run.loops for each in measured}
    series = [Series(loops.get(most) or name, points) for most, points in curves.items()]
    rows = []
    for each in measured:
        if (each.run.of or each.run.name) not in curves or each.mean is None:
            continue
        values = columns_of(each)[1](each.mean)
        asked = "max" if each.rate_per_s is None else format_number(each.rate_per_s)
        share = f"{each.run.share:g} %" if each.run.of else "max"
        numbers = (format_number(values[key]) for key in ("rate", "resp"))
        rows.append((each.run.loops or name, share, asked, *numbers))
    ends = [points[-1] for points in curves.values()]
    return Figure(
        slug=f"vdbench-curve-{name}-{number + 1}".lower(),
        title=f"Response-time curve of {name}",
        caption="Mean response time, issue to completion, over the rate that was reached; each point is a run at a share of"
        " the highest rate. Where the line turns up, more load only waits longer.",
        alt_text=f"Response time over rate up to {format_number(max(x for x, _ in ends))} operations a second, where it is"
        f" {format_number(max(y for _, y in ends))} ms.",
        chart=lines(series, Axis("operations per second"), Axis("response time, ms")),
        table=Table(("Loops", "Share", "Asked, 1/s", "Reached, 1/s", "Response, ms"), tuple(rows)),
    )
