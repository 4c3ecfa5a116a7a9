"""Write the clients of a run on the page: names, shares of the sums, balance and starts."""

from collections.abc import Sequence

from assay.analysis.record import RunRecord
from assay.analysis.set_views import OBSERVER
from assay.outward import markup
from assay.report import figures
from assay.report.clients.client_words import (
    clocks_words,
    lost_words,
    since,
    spread_words,
    starts_words,
    straggler_words,
    who_words,
)
from assay.report.clients.clients_block import chosen
from assay.report.clients.sum_rows import SumRow, sum_rows
from assay.report.limited_by import limit_words
from assay.report.page.drawn_figure import figure_markup
from assay.results import ClientOfRun, ClientRate, Document, Result
from assay.units import ABSENT, format_ns, format_number
from assay.verdicts import TrustLevel

MOST_ROWS = 200
"""Clients that have a row: nobody reads more, and a page of a thousand would be heavy."""
MOST_OPEN = 30
"""Clients up to which the table is unfolded."""
MOST_SUMS = 8
"""Sums that have a column."""
_LEVELS = tuple(TrustLevel)
"""The best first."""


def clients_section(run: RunRecord, document: Document) -> str:
    """Give the section; nothing where one client measured.

    Args:
        run: What was recorded.
        document: The whole of it, with each client's own results.
    """
    if not document.clients:
        return ""
    sums = sum_rows(document)
    parts = [f"<p>{markup(who_words(document))}.</p>"]
    parts += [f'<p class="bad">Lost: {markup(words)}.</p>' for words in lost_words(document)]
    parts += [_sum_text(row) for row in chosen(sums, MOST_SUMS)]
    named = (("Starts", starts_words(document)), ("Clocks", clocks_words(document)))
    parts += [f"<p>{key}: {markup(words)}.</p>" for key, words in named if words]
    drawn = "".join(figure_markup(figure) for figure in figures.clients_figures(run, document))
    return (
        f'<section aria-labelledby="clients"><h2 id="clients">Clients</h2>{"".join(parts)}'
        f'{_table(document, sums)}<div class="figures flow">{drawn}</div></section>'
    )


def _sum_text(row: SumRow) -> str:
    straggler = straggler_words(row)
    also = f' <span class="warn">{markup(straggler[:1].upper() + straggler[1:])}.</span>' if straggler else ""
    return f"<p>{markup(row.title)}: {markup(spread_words(row))}.{also}</p>"


def _table(document: Document, sums: Sequence[SumRow]) -> str:
    columns = chosen(sums, MOST_SUMS)
    rated = {(row.row, row.result.repeat, rate.client): rate for row in sums for rate in row.found.rates}
    own: dict[str, list[Result]] = {}
    for result in document.results:
        if result.client is not None:
            own.setdefault(result.client, []).append(result)
    heads = [("Client", True), ("Host", True), *((f"{row.title}, {row.unit.label}", False) for row in columns)]
    heads += [
        ("Limited by", True),
        ("Trust", True),
        ("Offset", False),
        ("Bound", False),
        ("ppm", False),
        ("Lost", True),
    ]
    rank = _rank(sums)
    last = float("inf")
    ranked = sorted(document.clients, key=lambda client: (client.lost_s is None, rank.get(client.name, last)))
    kept = {client.name for client in ranked[:MOST_ROWS]}
    shown = [client for client in document.clients if client.name in kept]
    rows = []
    for client in shown:
        of_sums = [(row, rated.get((row.row, row.result.repeat, client.name))) for row in columns]
        rows.append(_row(client, of_sums, own.get(client.name, [])))
    left = (
        [] if len(columns) == len(sums) else [f"{len(columns)} of {len(sums):,} sums: those that are the least even."]
    )
    if len(shown) < len(document.clients):
        left.append(
            f"{len(shown)} of {len(document.clients):,} clients: the lost and the slowest; assay export --csv has all."
        )
    left.append("Rates are over the window of each sum; where there is none, over each client's own.")
    left.append(
        "Limits are of all results of a client, trust is that of the worst. Offset: of the clock, before the leader's."
    )
    head = "".join(f'<th scope="col"{_words(is_words)}>{markup(name)}</th>' for name, is_words in heads)
    table = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Clients"><table class="sortable"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="muted">{" ".join(map(markup, left))}</p>'
    )
    if len(shown) <= MOST_OPEN:
        return table
    return f"<details><summary>The table of {len(shown):,} clients</summary>{table}</details>"


def _rank(sums: Sequence[SumRow]) -> dict[str, float]:
    """Give the lowest rate of each client by the median of a sum."""
    lowest: dict[str, float] = {}
    for row in sums:
        for rate in row.found.rates:
            by_median = row.by_median(rate)
            if by_median is not None:
                lowest[rate.client] = min(by_median, lowest.get(rate.client, by_median))
    return lowest


def _row(client: ClientOfRun, of_sums: Sequence[tuple[SumRow, ClientRate | None]], own: Sequence[Result]) -> str:
    limits = ", ".join(dict.fromkeys(words for result in own if (words := limit_words(result)))) or "-"
    levels = [result.trust.level for result in own]
    trust = max(levels, key=_LEVELS.index).value if levels else "-"
    clock = client.clock
    host = client.hostname if client.address in {"", client.hostname} else f"{client.hostname} ({client.address})"
    lost = "-" if client.lost_s is None else f"{since(client)}: {client.lost_reason or ABSENT}"
    cells = [_cell(host, is_words=True)]
    cells += [
        _cell(text.rate_text(rate), text.value(rate)) if rate is not None else _cell(ABSENT, -1.0)
        for text, rate in of_sums
    ]
    cells += [_cell(limits, is_words=True), _cell(trust, is_words=True)]
    if clock is None:
        cells += [_cell(ABSENT)] * 3
    else:
        drift = clock.drift_ppm
        cells += [
            _cell(format_ns(clock.offset_ns), clock.offset_ns),
            _cell(f"± {format_ns(clock.bound_ns)}", clock.bound_ns),
            _cell(ABSENT if drift is None else format_number(drift), drift),
        ]
    role = f" ({markup(client.role)})" if client.role == OBSERVER else ""
    return f'<tr><th scope="row">{markup(client.name)}{role}</th>{"".join(cells)}{_cell(lost, is_words=True)}</tr>'


def _cell(text: str, by: float | None = None, *, is_words: bool = False) -> str:
    return f"<td{_words(is_words)}{'' if by is None else f' data-by={chr(34)}{by:.9g}{chr(34)}'}>{markup(text)}</td>"


def _words(is_words: bool) -> str:
    return ' class="words"' if is_words else ""
