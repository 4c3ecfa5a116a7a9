"""How evenly did the clients share each sum? From the slowest to the fastest, each by the median of all."""

from collections.abc import Iterator, Sequence

from assay.analysis.record import RunRecord
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, records
from assay.report.by_result import ROW_PX, rows
from assay.report.clients.client_words import jain_words, spread_words, straggler_words
from assay.report.clients.clients_block import chosen
from assay.report.clients.told_sums import ToldSum, told_sums
from assay.report.figure import Figure, Table, sentence
from assay.results import ClientRate, Document
from assay.units import ABSENT, format_number

MOST_SUMS = 40
MOST_STROKES = 50
"""Clients of a sum that are drawn: the slowest, the fastest, and between them at even ranks."""


def draw(_run: RunRecord, document: Document) -> Iterator[Figure]:
    """Draw a row a sum of which the median client did something."""
    sums = [told for told in told_sums(document) if len(told.found.rates) > 1 and told.median > 0]
    if not sums:
        return
    shown = chosen(sums, MOST_SUMS)
    caption = "A bar from the slowest to the fastest client, a stroke a client, by the median of all; 1: all alike."
    if len(shown) < len(sums):
        caption += f" The {len(shown)} of {len(sums):,} sums that are the least even."
    if any(len(told.found.rates) > MOST_STROKES for told in shown):
        caption += f" Of more than {MOST_STROKES} clients the slowest, the fastest and some between are drawn."
    told_parts = (part for told in shown for part in (f"{told.title}: {spread_words(told)}", straggler_words(told)))
    yield Figure(
        slug="clients-fairness",
        title="Rates of the clients by their median",
        caption=caption,
        alt_text="Bars of how even the clients' rates are. " + sentence(filter(None, told_parts)),
        chart=_chart(shown),
        table=_table(sums),
    )


def thinned(told: ToldSum) -> list[ClientRate]:
    """Choose clients to draw, the slowest and the fastest among them."""
    ordered = told.slowest_first
    if len(ordered) <= MOST_STROKES:
        return ordered
    step = (len(ordered) - 1) / (MOST_STROKES - 1)
    return [ordered[round(i * step)] for i in range(MOST_STROKES)]


def _table(sums: Sequence[ToldSum]) -> Table:
    rows_told = []
    for told in sums:
        slowest, fastest = told.slowest_first[0], told.slowest_first[-1]
        straggler = told.found.straggler
        rows_told.append(
            (
                told.title,
                f"{told.found.clients:,}",
                f"{told.told(slowest)} ({slowest.client})",
                format_number(told.median),
                f"{told.told(fastest)} ({fastest.client})",
                told.unit.label,
                ABSENT if told.found.jain is None else f"{told.found.jain:.3f}{told.of_operations}",
                ABSENT if told.times is None else format_number(told.times),
                "none" if straggler is None else f"{straggler.client}: {straggler.cause}",
            )
        )
    heads = ("Sum", "Clients", "Slowest", "Median", "Fastest", "Unit", "Jain", "Fastest by slowest", "Straggler")
    return Table(heads, tuple(rows_told))


def _chart(shown: Sequence[ToldSum]) -> Layered:
    strokes, bars = [], []
    for i, told in enumerate(shown):
        straggler = told.found.straggler.client if told.found.straggler else None
        for rate in thinned(told):
            ink = theme.MARK if rate.client == straggler else theme.MEASURED
            strokes.append({"row": i, "by": told.by_median(rate) or 0.0, "client": rate.client, "ink": ink})
        slowest, fastest = told.slowest_first[0], told.slowest_first[-1]
        bars.append(
            {
                "row": i,
                "from": told.by_median(slowest) or 0.0,
                "to": told.by_median(fastest) or 0.0,
                "title": f"{told.title}{jain_words(told, ': ')}",
            }
        )
    most = max(1.0, *(float(stroke["by"]) for stroke in strokes))  # type: ignore[arg-type]
    x = vl.X(
        "by:Q",
        title="rate by the median of the clients",
        scale=vl.Scale(domain=[0, 1.04 * most], nice=False),
        axis=vl.Axis(values=linear_ticks(most, 5), grid=True),
    )
    y = rows(len(shown))
    of_bars, of_strokes = vl.Chart(records(bars)).encode(y=y), vl.Chart(records(strokes)).encode(y=y)
    tooltip = [vl.Tooltip("client:N"), vl.Tooltip("by:Q", title="by the median", format=".3~r")]
    layers = [
        of_bars.mark_bar(height=12, yOffset=8, color=theme.WINDOW_TINT).encode(x=vl.X("from:Q"), x2="to:Q"),
        vl.Chart(records([{"by": 1.0}])).mark_rule(color=theme.MUTED_INK, strokeDash=[3, 3]).encode(x=x),
        of_strokes.mark_tick(thickness=1.6, height=14, yOffset=8).encode(
            x=x, color=vl.Color("ink:N", scale=None), tooltip=tooltip
        ),
        of_bars.mark_text(align="left", baseline="middle", x=2, dy=-9, color=theme.INK).encode(text=vl.Text("title:N")),
    ]
    return Layered(layers, ROW_PX * len(shown))
