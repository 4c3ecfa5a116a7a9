"""Draw the rounds of a run, as SNIA SSS PTS asks for: results by round, and the measurement window with its limits."""

from collections.abc import Iterator, Sequence

from assay.analysis.repeats_by_label import by_label
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.figure import Figure, Table
from assay.report.over_repeats import unit_of
from assay.report.rounds_grid import round_values
from assay.results import Document, RoundsOutcome, TrackedRounds
from assay.units import format_number, format_percent

HEIGHT_PX = 220
_UNITS_NS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def draw(document: Document) -> Iterator[Figure]:
    """Draw a figure of all rounds, then one of the window for each result that has to be steady."""
    rounds = document.rounds
    if rounds is None or not rounds.done:
        return
    named = _converging(document, rounds)
    scale, unit = _scale(document, rounds, [value for _, values in named for value in values if value is not None])
    yield Figure(
        slug="rounds",
        title="Results by round",
        caption="Each line a result; the last rounds, which have a tint, are the measurement window.",
        alt_text=f"Lines of {len(named)} results over {rounds.done} rounds.",
        chart=_lines(rounds, named, scale, unit),
        table=Table(
            (f"Result, {unit}", *(str(place + 1) for place in range(rounds.done))),
            tuple((name, *(_number(value, scale) for value in values)) for name, values in named),
        ),
    )
    for place, one in enumerate(rounds.tracked, start=1):
        if rounds.window is not None and one.mean is not None and one.slope_share is not None:
            yield _window(document, rounds, one, place)


def _converging(document: Document, rounds: RoundsOutcome) -> list[tuple[str, Sequence[float | None]]]:
    """Give the results of the columns in which one has to be steady; without a table those that have to be."""
    tracked = {one.label for one in rounds.tracked}
    columns = {cell.column for cell in rounds.cells if cell.label in tracked}
    cells = {cell.label: f"{cell.row} {cell.column}" for cell in rounds.cells if cell.column in columns}
    names = {one.label: one.title for one in rounds.tracked} | cells
    same = by_label(document.results)
    return [(names[label], round_values(rounds, same[label])) for label in same if label in names]


def _scale(document: Document, rounds: RoundsOutcome, values: Sequence[float]) -> tuple[float, str]:
    if rounds.by == "latency":
        most = max(values, default=0.0)
        return next(each for each in _UNITS_NS if most >= each[0] or each[1] == "ns")
    label = rounds.tracked[0].label if rounds.tracked else ""
    unit = unit_of(by_label(document.results).get(label) or document.results)
    return (unit.per_unit, unit.label) if (rounds.by == "bytes") == unit.of_bytes else (1.0, "IOPS")


def _number(value: float | None, scale: float) -> str:
    return format_number(None if value is None else value / scale)


def _x(rounds: RoundsOutcome, first: int = 1) -> vl.X:
    domain = [first - 0.5, rounds.done + 0.5]
    ticks = list(range(first, rounds.done + 1))
    return vl.X(
        "round:Q",
        title="round",
        scale=vl.Scale(domain=domain, nice=False),
        axis=vl.Axis(values=ticks, format="d", grid=False),
    )


def _lines(
    rounds: RoundsOutcome, named: Sequence[tuple[str, Sequence[float | None]]], scale: float, unit: str
) -> Layered:
    points = records(
        {"round": place + 1, "value": value / scale, "result": name}
        for name, values in named
        for place, value in enumerate(values)
        if value is not None
    )
    y = vl.Y("value:Q", title=unit, axis=vl.Axis(tickCount=5), scale=vl.Scale(zero=True))
    color = vl.Color("result:N", title=None, sort=None, legend=vl.Legend(orient="bottom", columns=4))
    tooltip = [vl.Tooltip("result:N"), vl.Tooltip("round:Q"), vl.Tooltip("value:Q", title=unit, format=",.4~r")]
    layers = [_tint(rounds)] if rounds.window else []
    line = vl.Chart(points).mark_line(point=True).encode(x=_x(rounds), y=y, color=color, tooltip=tooltip)
    return Layered([*layers, line], HEIGHT_PX)


def _tint(rounds: RoundsOutcome) -> vl.Chart:
    first, last = rounds.window or (0, 0)
    data = records([{"from": first + 0.5, "to": last + 1.5}])
    return vl.Chart(data).mark_rect(color=theme.WINDOW_TINT).encode(x=vl.X("from:Q"), x2="to:Q")


def _window(document: Document, rounds: RoundsOutcome, one: TrackedRounds, place: int) -> Figure:
    first, last = rounds.window or (0, 0)
    values = one.values[first : last + 1]
    known = [value for value in values if value is not None]
    scale, unit = _scale(document, rounds, known)
    mean, slope = (one.mean or 0.0) / scale, one.slope_share or 0.0
    data = records(
        {"round": first + 1 + at, "value": value / scale} for at, value in enumerate(values) if value is not None
    )
    ends = ((first + 1, mean * (1 - slope / 2)), (last + 1, mean * (1 + slope / 2)))
    fitted = records({"round": at, "value": value} for at, value in ends)
    limits = records({"value": mean * (1 + side * rounds.range_share / 2)} for side in (-1, 0, 1))
    low = min(mean * (1 - rounds.range_share), *(value / scale for value in known))
    high = max(mean * (1 + rounds.range_share), *(value / scale for value in known))
    y = vl.Y("value:Q", title=unit, axis=vl.Axis(tickCount=5), scale=vl.Scale(domain=[low, high], nice=True))
    tooltip = [vl.Tooltip("round:Q"), vl.Tooltip("value:Q", title=unit, format=",.4~r")]
    x = _x(rounds, first + 1)
    steady = "steady" if rounds.is_steady else "not steady"
    numbers = (
        f"mean {format_number(mean)} {unit}, range {format_percent(one.range_share)} %,"
        f" slope {format_percent(slope)} % of the mean"
    )
    return Figure(
        slug=f"rounds-window-{place}",
        title=f"{one.title}: the measurement window",
        caption=(
            f"{numbers}: {steady}. The straight lines are the mean and {50 * rounds.range_share:.3g} % above and below it;"
            " the sloping one is that of least squares."
        ),
        alt_text=f"Points of rounds {first + 1} to {last + 1}; {numbers}.",
        chart=Layered(
            [
                vl.Chart(limits).mark_rule(color=theme.OUTSIDE, strokeDash=[4, 3]).encode(y=y),
                vl.Chart(fitted).mark_line(color=theme.MARK).encode(x=x, y=y),
                vl.Chart(data).mark_point(filled=True, size=60, color=theme.MEASURED).encode(x=x, y=y, tooltip=tooltip),
            ],
            HEIGHT_PX,
        ),
        table=Table(
            ("Round", unit),
            tuple((str(first + 1 + at), _number(value, scale)) for at, value in enumerate(values)),
        ),
    )
