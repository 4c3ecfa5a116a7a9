"""Draw how evenly the clients shared each sum: slowest to fastest, as a share of the median."""

from collections.abc import Iterator, Sequence

from assay.analysis.record import RunRecord
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, records
from assay.report.by_result import ROW_PX, rows
from assay.report.clients.client_words import jain_words, spread_words, straggler_words
from assay.report.clients.clients_block import chosen
from assay.report.clients.sum_rows import SumRow, sum_rows
from assay.report.figure import Figure, Table, sentence
from assay.results import ClientRate, Document
from assay.units import ABSENT, format_number

MOST_SUMS = 40
MOST_STROKES = 50
"""Clients of a sum that are drawn: the slowest, the fastest, and between them at even ranks."""


def draw(_run: RunRecord, document: Document) -> Iterator[Figure]:
    """Draw a row a sum of which the median client did something."""
    sums = [row for row in sum_rows(document) if len(row.found.rates) > 1 and row.median > 0]
    if not sums:
        return
    shown = chosen(sums, MOST_SUMS)
    caption = "A bar from the slowest to the fastest client, a stroke a client, by the median of all; 1: all alike."
    if len(shown) < len(sums):
        caption += f" The {len(shown)} of {len(sums):,} sums that are the least even."
    if any(len(row.found.rates) > MOST_STROKES for row in shown):
        caption += f" Of more than {MOST_STROKES} clients the slowest, the fastest and some between are drawn."
    parts = (part for row in shown for part in (f"{row.title}: {spread_words(row)}", straggler_words(row)))
    yield Figure(
        slug="clients-fairness",
        title="Rates of the clients by their median",
        caption=caption,
        alt_text="Bars of how even the clients' rates are. " + sentence(filter(None, parts)),
        chart=_chart(shown),
        table=_table(sums),
    )


def thinned(row: SumRow) -> list[ClientRate]:
    """Choose clients to draw, the slowest and the fastest among them."""
    ordered = row.slowest_first
    if len(ordered) <= MOST_STROKES:
        return ordered
    step = (len(ordered) - 1) / (MOST_STROKES - 1)
    return [ordered[round(i * step)] for i in range(MOST_STROKES)]


def _table(sums: Sequence[SumRow]) -> Table:
    rows_shown = []
    for row in sums:
        slowest, fastest = row.slowest_first[0], row.slowest_first[-1]
        straggler = row.found.straggler
        rows_shown.append(
            (
                row.title,
                f"{row.found.clients:,}",
                f"{row.rate_text(slowest)} ({slowest.client})",
                format_number(row.median),
                f"{row.rate_text(fastest)} ({fastest.client})",
                row.unit.label,
                ABSENT if row.found.jain is None else f"{row.found.jain:.3f}{row.of_operations}",
                ABSENT if row.times is None else format_number(row.times),
                "none" if straggler is None else f"{straggler.client}: {straggler.cause}",
            )
        )
    heads = ("Sum", "Clients", "Slowest", "Median", "Fastest", "Unit", "Jain", "Fastest by slowest", "Straggler")
    return Table(heads, tuple(rows_shown))


def _chart(shown: Sequence[SumRow]) -> Layered:
    strokes, bars = [], []
    for i, text in enumerate(shown):
        straggler = text.found.straggler.client if text.found.straggler else None
        for rate in thinned(text):
            ink = theme.MARK if rate.client == straggler else theme.MEASURED
            strokes.append({"row": i, "by": text.by_median(rate) or 0.0, "client": rate.client, "ink": ink})
        slowest, fastest = text.slowest_first[0], text.slowest_first[-1]
        bars.append(
            {
                "row": i,
                "from": text.by_median(slowest) or 0.0,
                "to": text.by_median(fastest) or 0.0,
                "title": f"{text.title}{jain_words(text, ': ')}",
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
