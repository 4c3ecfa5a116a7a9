"""Draw a working set: hits by cache size, blocks used over time, and what tiers serve."""

from collections.abc import Iterator

from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.figure import Figure, Table
from assay.report.workingset_words import policy_name
from assay.units import format_bytes, format_percent
from assay.workingset.cache_sizes import WorkingSet
from assay.workingset.engine_answer import UsedBlocks

HEIGHT_PX = 240
_GIB = float(1 << 30)
_MOST_POINTS = 1500
"""Of a line over time; more windows are drawn as the highest of as many parts."""
_HOUR_S = 3600.0
_NAMES = {60: "1 min", 600: "10 min", 3600: "60 min"}


def draw(answer: WorkingSet) -> Iterator[Figure]:
    """Draw the curve, then working sets over time, then tiers by period."""
    yield _curve(answer)
    if any(len(windows.used) > 1 for windows in answer.curve.windows):
        yield _over_time(answer)
    if answer.found.tiers is not None and len(answer.found.tiers.periods) > 1:
        yield _tiers(answer)


def _curve(answer: WorkingSet) -> Figure:
    block = answer.question.block_bytes
    rows = [
        {
            "gib": one.blocks * block / _GIB,
            "hit": 100 * one.hit,
            "low": 100 * one.low,
            "high": 100 * one.high,
            "name": "LRU",
        }
        for one in answer.curve.served
    ]
    others = [
        {"gib": size * block / _GIB, "hit": 100 * hit, "name": policy_name(one.name)}
        for one in (answer.policies.hits if answer.policies is not None else ())
        if one.name != "lru"
        for size, hit in zip(answer.policies.sizes if answer.policies is not None else (), one.hits, strict=True)
        if hit is not None
    ]
    x = vl.X("gib:Q", title="cache, GiB", scale=vl.Scale(type="log", nice=False), axis=vl.Axis(format="~g", grid=False))
    y = vl.Y("hit:Q", title="accesses served, %", scale=vl.Scale(domain=[0, 100]))
    tooltip = [vl.Tooltip("gib:Q", title="GiB", format=".4~g"), vl.Tooltip("hit:Q", title="%", format=".1f")]
    names = ["LRU", *dict.fromkeys(str(row["name"]) for row in others)]
    color = vl.Color("name:N", title=None, sort=None, scale=vl.Scale(domain=names, range=[*theme.SERIES][: len(names)]))
    layers = []
    if answer.is_sampled:
        band = vl.Chart(records(rows)).mark_area(color=theme.WINDOW_TINT)
        layers.append(band.encode(x=x, y=vl.Y("low:Q"), y2="high:Q"))
    layers.append(vl.Chart(records([*rows, *others])).mark_line().encode(x=x, y=y, color=color, tooltip=tooltip))
    ws90 = answer.curve.ws90
    if ws90 is not None:
        mark = vl.Chart(records([{"gib": ws90.blocks * block / _GIB}]))
        layers.append(mark.mark_rule(color=theme.MARK, strokeDash=[6, 3]).encode(x=x))
    band_words = " The tint is the 95 % interval." if answer.is_sampled else ""
    return Figure(
        slug="curve",
        title="Accesses served by the size of the cache",
        caption=f"The dashed line is the smallest cache with 90 % of the best hit ratio.{band_words}",
        alt_text=f"A curve of hit ratios that ends at {format_percent(answer.best.hit)} %.",
        chart=Layered(layers, HEIGHT_PX),
        table=Table(
            ("Cache", "serves %", "from %", "to %"),
            tuple(
                (
                    format_bytes(one.blocks * block),
                    format_percent(one.hit),
                    format_percent(one.low),
                    format_percent(one.high),
                )
                for one in answer.curve.served
            ),
        ),
    )


def _over_time(answer: WorkingSet) -> Figure:
    block = answer.question.block_bytes
    shown = [windows for windows in answer.curve.windows if len(windows.used) > 1]
    rows = [
        {"hour": hour, "gib": blocks * block / _GIB, "name": _NAMES[windows.seconds]}
        for windows in shown
        for hour, blocks in _points(windows)
    ]
    names = [_NAMES[windows.seconds] for windows in shown]
    chart = (
        vl.Chart(records(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=vl.X("hour:Q", title="hours", axis=vl.Axis(grid=False), scale=vl.Scale(nice=False)),
            y=vl.Y("gib:Q", title="different blocks, GiB", scale=vl.Scale(zero=True)),
            color=vl.Color(
                "name:N", title=None, sort=None, scale=vl.Scale(domain=names, range=[*theme.SERIES][: len(names)])
            ),
            tooltip=[vl.Tooltip("hour:Q", format=".2f"), vl.Tooltip("gib:Q", title="GiB", format=".4~g")],
        )
    )
    return Figure(
        slug="windows",
        title="Working set over time",
        caption="Different blocks that each window of 1, 10 and 60 minutes used; of many windows the highest of each part.",
        alt_text=f"A line for windows of {', '.join(names)}.",
        chart=Layered([chart], HEIGHT_PX),
        table=Table(
            ("Window", "hour", "GiB"),
            tuple((str(row["name"]), f"{row['hour']:.2f}", f"{row['gib']:.4g}") for row in rows),
        ),
    )


def _points(windows: UsedBlocks) -> Iterator[tuple[float, float]]:
    """Give hour and blocks of each window, with those without requests as 0; of many, the highest of each part."""
    first, last = windows.used[0][0], windows.used[-1][0]
    step = -(-(last - first + 1) // _MOST_POINTS)
    parts: dict[int, float] = {}
    for number, blocks in windows.used:
        part = (number - first) // step
        parts[part] = max(parts.get(part, 0.0), blocks)
    hours = step * windows.seconds / _HOUR_S
    for part in sorted(parts):
        yield part * hours, parts[part]
        if part + 1 not in parts:
            yield (part + 1) * hours, 0.0


def _tiers(answer: WorkingSet) -> Figure:
    tiers = answer.found.tiers
    assert tiers is not None  # noqa: S101 - the caller looked
    of = {"whole devices": "devices", "extents": "extents", "block cache": "cache"}
    rows = [
        {"period": place + 1, "served": 100 * share, "name": name}
        for place, one in enumerate(tiers.periods)
        for name, field in of.items()
        if (share := getattr(one, field)) is not None
    ]
    chart = (
        vl.Chart(records(rows))
        .mark_line(point=True)
        .encode(
            x=vl.X("period:Q", title="period", axis=vl.Axis(grid=False, tickMinStep=1)),
            y=vl.Y("served:Q", title="accesses served, %", scale=vl.Scale(domain=[0, 100])),
            color=vl.Color(
                "name:N", title=None, sort=None, scale=vl.Scale(domain=list(of), range=[*theme.SERIES][: len(of)])
            ),
        )
    )
    return Figure(
        slug="tiers",
        title="Fast storage by period",
        caption=f"{format_bytes(tiers.fast_bytes)} of {format_bytes(tiers.capacity_bytes)} are fast.",
        alt_text="A line for devices, extents and a cache of blocks.",
        chart=Layered([chart], HEIGHT_PX),
        table=Table(
            ("Period", "served by", "%"),
            tuple((str(row["period"]), str(row["name"]), f"{row['served']:.1f}") for row in rows),
        ),
    )
