"""All clients of a run in a terminal: of each sum a row a client, the slowest first, then who they are."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from assay.console import PlainConsole
from assay.outward import one_line
from assay.report.clients.client_words import lost_words, since, starts_words, who_words
from assay.report.clients.sum_rows import SumRow, sum_rows
from assay.report.limited_by import limit_words
from assay.report.terminal_table import STYLES
from assay.report.wrapping import cut, fill, wrap
from assay.results import ClientOfRun, ClientRate, Document, Result
from assay.units import ABSENT, format_ns, format_number, format_percent

MOST_ROWS = 50
"""Clients that each have a row; of more, the ends."""
SLOWEST, FASTEST = 20, 5
_NAME, _RATE, _SHARE, _LIMIT = 20, 12, 9, 20
_HOST, _CLOCK = 16, 11
_IN_A_PIPE_COLUMNS = 120


def render_clients(document: Document, console: PlainConsole) -> None:
    """Print them."""
    width = console.width if console.is_terminal else _IN_A_PIPE_COLUMNS
    console.print(Text("\n").join(clients_table(document, width)), soft_wrap=True)


def clients_table(document: Document, width: int) -> list[Text]:
    """Lay them out, no wider than a terminal."""
    own = {result.label: result for result in document.results if result.client is not None}
    lines = [Text(who_words(document), style="bold")]
    lines += [Text(part, style="bold red") for text in lost_words(document) for part in wrap(one_line(text), width)]
    for row in sum_rows(document):
        lines += [Text(), *_of_sum(row, own, width)]
    lines += [Text(), *_who_they_are(document.clients, width)]
    if text := starts_words(document):
        lines += [Text(), *(Text(part) for part in wrap(f"starts: {text}", width))]
    return lines


def ends(ordered: Sequence[ClientRate]) -> tuple[Sequence[ClientRate], Sequence[ClientRate], Sequence[ClientRate]]:
    """Part clients, the slowest first, into those that are shown, those between that are not, and the fastest."""
    if len(ordered) <= MOST_ROWS:
        return ordered, (), ()
    return ordered[:SLOWEST], ordered[SLOWEST:-FASTEST], ordered[-FASTEST:]


def _of_sum(row: SumRow, own: dict[str, Result], width: int) -> list[Text]:
    what = "sum of" if row.is_sum else "no sum, each by itself of"
    heading = f"row {row.row}  {one_line(row.title)}, {what} {row.found.clients:,} clients"
    columns = (
        fill("client", _NAME)
        + f"{row.unit.label:>{_RATE}}{'share':>{_SHARE}}{'by median':>{_SHARE + 2}}  "
        + fill("limited by", _LIMIT)
    )
    lines = [Text(cut(heading, width), style="bold"), Text(cut(columns + "trust", width), style="bold")]
    slowest, between, fastest = ends(row.slowest_first)
    lines += [_row(row, rate, own.get(rate.label), width) for rate in slowest]
    if between:
        text = f"… {len(between):,} between, {row.rate_text(between[0])} to {row.rate_text(between[-1])} {row.unit.label} …"
        lines.append(Text(cut(text, width), style="dim"))
    lines += [_row(row, rate, own.get(rate.label), width) for rate in fastest]
    return lines


def _row(row: SumRow, rate: ClientRate, result: Result | None, width: int) -> Text:
    by_median = row.by_median(rate)
    by = ABSENT if by_median is None else f"{format_percent(by_median)} %"
    share = ABSENT if rate.share is None else f"{format_percent(rate.share)} %"
    limit = (limit_words(result) if result else "") or "-"
    start = (
        fill(cut(rate.client, _NAME - 1), _NAME)
        + f"{row.rate_text(rate):>{_RATE}}{share:>{_SHARE}}{by:>{_SHARE + 2}}  "
        + fill(cut(limit, _LIMIT - 1), _LIMIT)
    )
    if result is None:
        return Text(cut(start + "-", width))
    why = ", ".join(reason.text for reason in result.trust.reasons)
    level = result.trust.level
    rest = width - len(start) - len(level.value) - 2
    parts: list[str | tuple[str, str]] = [start, (level.value, STYLES[level])]
    return Text.assemble(*parts, f"  {cut(why, rest)}" if why and rest > 1 else "")


def _lost(client: ClientOfRun, room: int) -> str:
    """Format when a client was lost, and why if there is room."""
    if client.lost_s is None:
        return "-"
    when = since(client)
    text = f"{when}, {one_line(client.lost_reason or '')}"
    return text if cell_len(text) <= room else when


def _who_they_are(clients: Sequence[ClientOfRun], width: int) -> list[Text]:
    heading = (
        fill("client", _NAME) + fill("host", _HOST) + f"{'offset':>{_CLOCK}}{'±':>{_CLOCK}}{'ppm':>{_SHARE}}  lost"
    )
    ranked = sorted(clients, key=lambda client: client.lost_s is None)
    lines = [Text(cut(heading, width), style="bold")]
    for client in ranked[:MOST_ROWS]:
        clock = client.clock
        offset, bound = (ABSENT, ABSENT) if clock is None else (format_ns(clock.offset_ns), format_ns(clock.bound_ns))
        drift = ABSENT if clock is None or clock.drift_ppm is None else format_number(clock.drift_ppm)
        role = f" ({client.role})" if client.role != "load" else ""
        line = fill(cut(f"{client.name}{role}", _NAME - 1), _NAME) + fill(
            cut(one_line(client.hostname), _HOST - 1), _HOST
        )
        line += f"{offset:>{_CLOCK}}{bound:>{_CLOCK}}{drift:>{_SHARE}}  "
        lines.append(Text(cut(line + _lost(client, width - len(line)), width)))
    if len(clients) > MOST_ROWS:
        lines.append(Text(f"… and {len(clients) - MOST_ROWS:,} more, none of them lost", style="dim"))
        if any(client.lost_s is not None for client in ranked[MOST_ROWS:]):
            lines[-1] = Text(f"… and {len(clients) - MOST_ROWS:,} more", style="dim")
    return lines
