"""Draw when each client began each phase, after the agreed time, with the error bounds."""

from collections.abc import Iterator, Sequence

from assay.analysis.record import RunRecord
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, records
from assay.report.by_result import ROW_PX, rows
from assay.report.clients.client_words import starts_words
from assay.report.figure import Figure, Table
from assay.results import ClientStart, Document, StartOfPhase
from assay.units import format_ns

MOST_PHASES = 40
"""Phases that are drawn: those with the largest skew."""
MOST_POINTS = 50
"""Clients of a phase that are drawn: the first, the last, and between them at even ranks."""
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def draw(_run: RunRecord, document: Document) -> Iterator[Figure]:
    """Draw a row a phase that several clients began."""
    several = [start for start in document.starts if len(start.starts) > 1]
    if not several:
        return
    ranked = sorted(range(len(several)), key=lambda i: -several[i].skew_ns)[:MOST_PHASES]
    shown = [several[i] for i in sorted(ranked)]
    caption = (
        "Each dot a client, by the leader's clock; the line through it is what its clock's reading leaves open. Dots whose"
        " lines meet are not known to differ."
    )
    if len(shown) < len(several):
        caption += f" The {len(shown)} of {len(several):,} phases with the largest skew."
    if any(len(start.starts) > MOST_POINTS for start in shown):
        caption += f" Of more than {MOST_POINTS} clients the first, the last and some between are drawn."
    yield Figure(
        slug="clients-starts",
        title="Start of each client after the time agreed",
        caption=caption,
        alt_text=f"Dots of the starts of the clients in {len(shown)} phases: {starts_words(document)}.",
        chart=_chart(shown),
        table=_table(several),
    )


def thinned(starts: Sequence[ClientStart]) -> list[ClientStart]:
    """Choose clients to draw, the first and the last to begin among them."""
    ordered = sorted(starts, key=lambda start: start.late_ns)
    if len(ordered) <= MOST_POINTS:
        return ordered
    step = (len(ordered) - 1) / (MOST_POINTS - 1)
    return [ordered[round(i * step)] for i in range(MOST_POINTS)]


def _named(start: StartOfPhase) -> str:
    return start.phase + (f" (repeat {start.repeat + 1})" if start.repeat else "")


def _table(several: Sequence[StartOfPhase]) -> Table:
    parts = []
    for start in several:
        first, last = (pick(start.starts, key=lambda one: one.late_ns) for pick in (min, max))
        parts.append(
            (
                _named(start),
                f"{len(start.starts):,}",
                format_ns(start.skew_ns),
                f"± {format_ns(start.bound_ns)}",
                f"{first.client}, {format_ns(first.late_ns)} ± {format_ns(first.bound_ns)}",
                f"{last.client}, {format_ns(last.late_ns)} ± {format_ns(last.bound_ns)}",
            )
        )
    return Table(("Phase", "Clients", "Skew", "Bound", "First", "Last"), tuple(parts))


def _chart(shown: Sequence[StartOfPhase]) -> Layered:
    points = [(i, one) for i, start in enumerate(shown) for one in thinned(start.starts)]
    furthest = max(abs(one.late_ns) + one.bound_ns for _, one in points)
    scale_ns, unit = next((each for each in _UNITS if furthest >= each[0]), (1.0, "ns"))
    low = min(0.0, *((one.late_ns - one.bound_ns) / scale_ns for _, one in points))
    high = max((one.late_ns + one.bound_ns) / scale_ns for _, one in points)
    x = vl.X(
        "late:Q",
        title=f"after the time agreed, {unit}",
        scale=vl.Scale(domain=[low, max(high, low + 1e-3)], nice=True),
        axis=vl.Axis(grid=True, tickCount=5),
    )
    data = records(
        {
            "row": row,
            "late": one.late_ns / scale_ns,
            "from": (one.late_ns - one.bound_ns) / scale_ns,
            "to": (one.late_ns + one.bound_ns) / scale_ns,
            "client": one.client,
        }
        for row, one in points
    )
    named = records(
        {"row": i, "title": f"{_named(start)}: {format_ns(start.skew_ns)} ± {format_ns(start.bound_ns)}"}
        for i, start in enumerate(shown)
    )
    y = rows(len(shown))
    tooltip = [vl.Tooltip("client:N"), vl.Tooltip("late:Q", title=f"late, {unit}", format=",.3~r")]
    base = vl.Chart(data).encode(y=y)
    words = vl.Chart(named).mark_text(align="left", baseline="middle", x=2, dy=-9, color=theme.INK)
    layers = [
        base.mark_rule(color=theme.OUTSIDE, yOffset=8).encode(x=vl.X("from:Q"), x2="to:Q"),
        base.mark_point(filled=True, size=45, opacity=0.8, color=theme.MEASURED, yOffset=8).encode(
            x=x, tooltip=tooltip
        ),
        words.encode(y=y, text=vl.Text("title:N")),
    ]
    return Layered(layers, ROW_PX * len(shown))
