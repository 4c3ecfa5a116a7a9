"""Draw each client's rate over time on one clock: a row per client, for each sum over clients.

A client's intervals are on a grid of its own. What it had done by an edge of a column is read off the line through the ends
of its intervals, so that the columns of a row hold all that it did, and a time in which nothing completed stays empty.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.arrays import FloatArray, IntArray
from assay.analysis.record import ClientRecord, PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.report import theme
from assay.report import vega_lite as vl
from assay.report.axes import Layered, linear_ticks, numeric_csv
from assay.report.clients.client_words import lost_of, spread_words, straggler_words
from assay.report.clients.clients_block import chosen
from assay.report.clients.sum_rows import SumRow, sum_rows
from assay.report.figure import Figure, Table, sentence
from assay.report.over_time import SAME_LEFT_EDGE, outside_window, time_axis
from assay.report.titles import slug_of
from assay.results import Document
from assay.units import format_names, format_number

MOST_ROWS = 200
"""Of more clients, neighbours by rate share a row."""
MOST_CELLS = 5000
"""METHOD 6.2, lesson 7: above this a figure gets heavy."""
MOST_COLUMNS = 150
MOST_MAPS = 12
_MOST_NAMES = 40
"""Rows with names."""
_ROW_PX = 13
_HEIGHT_PX = (90, 400)


@dataclass(frozen=True)
class ClientRows:
    """Rates of clients over time, of one sum."""

    names: tuple[str, ...]
    """Of the rows: of a client, or of the first and last of several."""
    row_of: Mapping[str, int]
    """Of each client."""
    edges_s: FloatArray
    """Of the columns, since the phase began, shape `(columns + 1,)`."""
    rates: FloatArray
    """In the unit of the sum, shape `(rows, columns)`; of several clients their mean."""
    most_of_a_row: int
    intervals_per_column: int


def draw(run: RunRecord, document: Document) -> Iterator[Figure]:
    """Draw a map for each sum; of very many those with a straggler, then the least even."""
    sums = sum_rows(document)
    places = {row.result.label: place for place, row in enumerate(sums, start=1)}
    for row in chosen(sums, MOST_MAPS):
        found = client_rows(run, row)
        if found is None:
            continue
        lost = _lost(run, document, row, found)
        words = [spread_words(row), straggler_words(row)]
        if lost:
            names = format_names([name for name, _ in lost])
            words.append(f"{names} {'was' if len(lost) == 1 else 'were'} lost")
        yield Figure(
            slug=f"clients-{places[row.result.label]:02d}-{slug_of(row.title)}",
            title=f"{row.title}: clients over time",
            caption=_caption(found, row, lost),
            alt_text=f"Heat map of each client's rate over time in {row.title}. " + sentence(filter(None, words)),
            chart=_chart(found, row, lost),
            table=_table(found, row),
            is_dense=True,
            is_over_time=True,
        )


# -- series ------------------------------------------------------------------------------------------------------------


def client_rows(run: RunRecord, sum_row: SumRow) -> ClientRows | None:
    """Put the clients of a sum on one clock; None where fewer than two of them recorded anything of its phase."""
    result = sum_row.result
    phase = next((p for p in run.phases if (p.phase.name, p.phase.repeat) == (result.phase, result.repeat)), None)
    of_name = run.members_by_name
    clients = [rate.client for rate in sum_row.found.rates if rate.client in of_name]
    if phase is None or len(clients) < 2:
        return None
    if len(clients) > MOST_ROWS:
        named = set(clients)
        clients = [rate.client for rate in sum_row.slowest_first if rate.client in named]
    groups = [group.tolist() for group in np.array_split(np.array(clients, dtype=object), min(len(clients), MOST_ROWS))]
    ends_ns = _ends(phase, [of_name[name] for name in clients], run.plan.sample_interval_s)
    edges_ns, merged = _columns(phase.start_ns, ends_ns, len(groups))
    rates = np.array(
        [np.mean([_rates(of_name[name], phase.index, sum_row, edges_ns) for name in each], axis=0) for each in groups]
    )
    lengths_s = np.diff(edges_ns) / NS_PER_S
    return ClientRows(
        names=tuple(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups),
        row_of={name: row for row, group in enumerate(groups) for name in group},
        edges_s=(edges_ns - phase.start_ns) / NS_PER_S,
        rates=rates / lengths_s / sum_row.unit.per_unit,
        most_of_a_row=max(map(len, groups)),
        intervals_per_column=merged,
    )


def done_by(begins_ns: IntArray, ends_ns: IntArray, done: IntArray, edges_ns: IntArray) -> FloatArray:
    """Give what was done by each edge, of intervals that do not overlap but where they end together.

    Args:
        begins_ns: Begin of each, shape `(n,)`, in the order of their ends.
        ends_ns: Their ends.
        done: What was done in each.
        edges_ns: Times that are asked about.
    """
    if not len(ends_ns):
        return np.zeros(len(edges_ns))
    last = np.append(np.diff(ends_ns) > 0, True)
    up_to = np.cumsum(done)[last].astype(np.float64)
    before = np.concatenate([[0.0], up_to[:-1]])
    times = np.column_stack([begins_ns[last], ends_ns[last]]).ravel()
    # The grid is rounded: an interval may seem to begin an instant before the end of the one before.
    times = np.maximum.accumulate(times)
    done_by_then: FloatArray = np.interp(edges_ns, times, np.column_stack([before, up_to]).ravel())
    return done_by_then


def _ends(phase: PhaseRecord, clients: Sequence[ClientRecord], interval_s: float) -> list[int]:
    """Give the ends of the intervals of the sum, and of those beyond it while any client was at work."""
    ends = [interval.end_ns for interval in phase.grid if interval.end_ns > phase.start_ns]
    last_ns = max(
        (
            own.grid[-1].end_ns + client.shift_ns.get(phase.index, 0)
            for client in clients
            if (own := client.run.phases_by_index.get(phase.index)) is not None
        ),
        default=phase.start_ns,
    )
    interval_ns = max(1, round(interval_s * NS_PER_S))
    while not ends or ends[-1] + interval_ns / 2 < last_ns:
        ends.append((ends[-1] if ends else phase.start_ns) + interval_ns)
    return ends


def _columns(start_ns: int, ends_ns: Sequence[int], rows: int) -> tuple[IntArray, int]:
    """Give the edges of columns, and how many intervals are in one."""
    most = max(10, min(MOST_COLUMNS, MOST_CELLS // rows))
    merge = max(1, math.ceil(len(ends_ns) / most))
    kept = list(ends_ns[merge - 1 :: merge])
    if kept[-1:] != list(ends_ns[-1:]):
        kept += ends_ns[-1:]
    return np.array([start_ns, *kept], dtype=np.int64), merge


def _rates(client: ClientRecord, index: int, row: SumRow, edges_ns: IntArray) -> FloatArray:
    """Give what one client did in each column; nothing where it recorded nothing."""
    own = client.run.phases_by_index.get(index)
    rows = own.rows(row.result.job, row.result.operation) if own is not None else None
    if rows is None or not len(rows):
        return np.zeros(len(edges_ns) - 1)
    order = np.argsort(rows.t_ns, kind="stable")
    ends_ns = rows.t_ns[order] + client.shift_ns.get(index, 0)
    begins_ns = ends_ns - rows.column("dt_ns")[order]
    done = rows.column("bytes" if row.unit.of_bytes else "ops")[order]
    return np.diff(done_by(begins_ns, ends_ns, done, edges_ns))


def _lost(run: RunRecord, document: Document, row: SumRow, found: ClientRows) -> list[tuple[str, float]]:
    """Give the clients that were lost in the phase of a sum, and when, since it began."""
    begun = {(phase.phase.name, phase.phase.repeat): phase.start_ns for phase in run.phases}
    own_ns = begun[row.result.phase, row.result.repeat]
    since_s = (own_ns - min(begun.values())) / NS_PER_S
    return [
        (client.name, client.lost_s - since_s)
        for client in lost_of(document)
        if client.lost_s is not None
        and client.name in found.row_of
        and 0 <= client.lost_s - since_s <= found.edges_s[-1]
    ]


# -- words -------------------------------------------------------------------------------------------------------------


def _caption(found: ClientRows, row: SumRow, lost: Sequence[tuple[str, float]]) -> str:
    text = "A row a client."
    if found.most_of_a_row > 1:
        text = (
            f"{len(row.found.rates):,} clients by their rates, the slowest on top, up to {found.most_of_a_row} of them a"
            " row, which has their mean."
        )
    text += " The stronger the colour, the higher the rate at that time; blank: nothing. Pale: outside the window."
    if found.intervals_per_column > 1:
        text += f" A column gathers {found.intervals_per_column} intervals."
    if lost:
        whose = "a client of that row" if found.most_of_a_row > 1 else "the client"
        text += f" A cross: {whose} was lost."
    return text


def _table(found: ClientRows, row: SumRow) -> Table:
    lengths = np.diff(found.edges_s)
    rows = [
        (
            name,
            format_number(float((rates * lengths).sum() / lengths.sum())),
            format_number(float(rates.min())),
            format_number(float(rates.max())),
        )
        for name, rates in zip(found.names, found.rates, strict=True)
    ]
    return Table(("Client", f"Mean of the phase, {row.unit.label}", "Lowest column", "Highest column"), tuple(rows))


# -- chart -------------------------------------------------------------------------------------------------------------


def _chart(found: ClientRows, row: SumRow, lost: Sequence[tuple[str, float]]) -> Layered:
    rows, end_s = len(found.names), float(found.edges_s[-1])
    x = time_axis(end_s)
    names = json.dumps(found.names)
    shown = vl.Axis(labelExpr=f"{names}[datum.value]", labelLimit=96, ticks=False, domain=False, **SAME_LEFT_EDGE)
    unnamed = vl.Axis(labels=False, ticks=False, domain=False, title="clients", **SAME_LEFT_EDGE)
    y = vl.Y(
        "row:O",
        title=None,
        sort=None,
        scale=vl.Scale(domain=list(range(rows)), paddingInner=0.08 if rows <= _MOST_NAMES else 0, paddingOuter=0),
        axis=shown if rows <= _MOST_NAMES else unnamed,
    )
    least, most = _HEIGHT_PX
    layers = [
        _cells(found, row, x, y, names),
        *(outside_window(row.found.window_s, end_s, x) if row.found.window_s else ()),
        *_crosses(found, lost, x, y),
    ]
    return Layered(layers, max(least, min(most, _ROW_PX * rows)))


def _cells(found: ClientRows, sum_row: SumRow, x: vl.X, y: vl.Y, names: str) -> vl.Chart:
    row, column = np.nonzero(found.rates > 0)
    data = numeric_csv(
        {
            "t_s": found.edges_s[:-1][column],
            "right": found.edges_s[1:][column],
            "row": row,
            "rate": found.rates[row, column],
        }
    )
    most = float(found.rates.max()) or 1.0
    colour = vl.Color(
        "rate:Q",
        scale=vl.Scale(domain=[0, most], range=list(theme.HEAT_RANGE)),
        legend=vl.Legend(
            title=f"{sum_row.unit.label} of a client, {format_number(most)} at most",
            orient="top",
            direction="horizontal",
            values=linear_ticks(most, 4),
            format=",~r",
            titleLimit=0,
            gradientLength=200,
            gradientThickness=8,
        ),
    )
    tooltip = [
        vl.Tooltip("client:N"),
        vl.Tooltip("t_s:Q", title="from, s", format=".2f"),
        vl.Tooltip("rate:Q", title=sum_row.unit.label, format=",.3~r"),
    ]
    return (
        vl.Chart(data)
        .transform_calculate(client=f"{names}[datum.row]")
        .mark_rect()
        .encode(x=x, x2="right:Q", y=y, color=colour, tooltip=tooltip)
    )


def _crosses(found: ClientRows, lost: Sequence[tuple[str, float]], x: vl.X, y: vl.Y) -> list[vl.Chart]:
    if not lost:
        return []
    data = numeric_csv({"t_s": [t_s for _, t_s in lost], "row": [found.row_of[name] for name, _ in lost]})
    cross = vl.Chart(data).encode(x=x, y=y)
    return [
        cross.mark_point(shape="cross", angle=45, filled=True, size=70, opacity=1, color=theme.MARK, stroke=theme.PAPER)
    ]
