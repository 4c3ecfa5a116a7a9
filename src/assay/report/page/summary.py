"""Write the table of all results: a row per result or test, with small pictures of rate and latency."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.outward import markup
from assay.report.figures.timeline import rates
from assay.report.limited_by import marked_limit
from assay.report.numbers import headline, interval_ends, is_with_flush, rate, rate_unit
from assay.report.page.anchors import Places, card_anchor, struck, trust_text
from assay.report.page.grouping import SummaryRow
from assay.report.page.thumbnails import StripScale, sparkline
from assay.report.page.tiles import counts_text, range_text
from assay.report.recording import Recording
from assay.report.verdict import is_usable
from assay.results import LatencyNs, Result
from assay.units import ABSENT, format_ns

_MOST_PICTURES = 200
"""Rows that have small pictures."""


@dataclass(frozen=True)
class _Cell:
    html: str
    number: float | None = None
    """What a reader sorts by; None: the text."""
    is_words: bool = False

    def written(self) -> str:
        kind = ' class="words"' if self.is_words else ""
        by = "" if self.number is None else f' data-by="{self.number:.9g}"'
        return f"<td{kind}{by}>{self.html}</td>"


def summary_table(recording: Recording, results: Sequence[Result], rows: Sequence[SummaryRow], places: Places) -> str:
    """Give the table; a number that is not trusted is struck through and linked to why."""
    if not rows:
        return '<section aria-labelledby="summary"><h2 id="summary">Summary</h2><p>Nothing was measured.</p></section>'
    mains = [results[row.members[0]] for row in rows if row.is_one]
    has_response = any(result.response_ns for result in mains)
    scale = StripScale.of(spread for result in mains for spread in (result.latency_ns, result.response_ns))
    table = _Table(recording, scale, has_pictures=0 < len(mains) <= _MOST_PICTURES, has_response=has_response)
    body = "".join(table.row(results, row, places) if row.is_one else table.group(results, row, places) for row in rows)
    return (
        '<section aria-labelledby="summary"><h2 id="summary">Summary</h2><div class="scroll" tabindex="0" role="region"'
        f' aria-label="Summary table"><table class="sortable"><thead><tr>{table.heads()}</tr></thead><tbody>{body}</tbody>'
        f"</table></div>{_legend(rows, has_response=has_response, has_pictures=table.has_pictures)}</section>"
    )


def _legend(rows: Sequence[SummaryRow], *, has_response: bool, has_pictures: bool) -> str:
    parts = [
        "Rates are per second of each result's window, with their 95 % intervals below. MiB is 2<sup>20</sup> bytes.",
        "Latency is from issue to completion.",
    ]
    if has_response:
        parts.append("Response is from the scheduled arrival to completion: the lower line of a strip.")
    if has_pictures:
        parts.append(
            "Over time: the whole phase from zero, the window shaded. Strip: dot p50, stroke p99, ring the slowest, on one"
            " logarithmic scale."
        )
    if not all(row.is_one for row in rows):
        parts.append("A row of several results has their lowest and highest rate that may be used.")
    parts.append(f"{ABSENT}: not known; a finding explains why.")
    return f'<p class="muted">{" ".join(parts)}</p>'


@dataclass(frozen=True)
class _Table:
    recording: Recording
    scale: StripScale
    has_pictures: bool
    has_response: bool

    def heads(self) -> str:
        """Give the headings."""
        named: list[tuple[str, bool]] = [("#", False), ("Result", True), ("Rate", False)]
        named += [("Over time", True)] if self.has_pictures else []
        named += [("Response p50", False), ("Response p99", False)] if self.has_response else []
        named += [("p50", False), ("p99", False), ("Slowest", False)]
        cells = [_head(name, is_words=is_words) for name, is_words in named]
        if self.has_pictures:
            cells.append(f'<th scope="col" class="words" data-plain>Latency{self.scale.axis()}</th>')
        cells += [
            _head("CPU/op", is_words=False),
            *(_head(n, is_words=True) for n in ("Served by", "Limited by", "Trust")),
        ]
        return "".join(cells).replace('class="words">Over time', 'class="words" data-plain>Over time')

    def row(self, results: Sequence[Result], row: SummaryRow, places: Places) -> str:
        """Give the row of one result."""
        i = row.members[0]
        result = results[i]
        cells = [
            _Cell(struck(rate(*headline(result)), result) + _interval(result), headline(result)[0]),
        ]
        if self.has_pictures:
            cells.append(_Cell(self._over_time(result), is_words=True))
        cells += [cell for spread, keys in self._spreads(result) for cell in _latencies(spread, keys, result)]
        if self.has_pictures:
            strips = [("latency", result.latency_ns)]
            strips += [("response", result.response_ns)] if result.response_ns else []
            cells.append(_Cell(self.scale.strip(strips), is_words=True))
        cells += [
            _Cell(struck(format_ns(result.cpu_ns_per_op), result), result.cpu_ns_per_op),
            _Cell(markup(result.measures.words), is_words=True),
            _Cell(markup(marked_limit(result, ABSENT)), is_words=True),
            _Cell(trust_text(result), is_words=True),
        ]
        title = f'<a href="#{card_anchor(i)}">{markup(row.title)}</a>' if i in places.cards else markup(row.title)
        return _row(places.rows[i], str(i + 1), title, cells)

    def group(self, results: Sequence[Result], row: SummaryRow, places: Places) -> str:
        """Give the row of several results: from where to where their rates go."""
        members = [results[i] for i in row.members]
        blank = _Cell("")
        cells = [_Cell(range_text(members))]
        cells += [blank] * (self.has_pictures + 2 * self.has_response + 3 + self.has_pictures + 1)
        measured = ", ".join(sorted({result.measures.words for result in members}))
        cells += [_Cell(markup(measured), is_words=True), _Cell("", is_words=True)]
        cells.append(_Cell(counts_text(members), is_words=True))
        title = f'{markup(row.title)} <span class="muted">({len(members)} results)</span>'
        return _row(places.rows[row.members[0]], str(row.members[0] + 1), title, cells)

    def _spreads(self, result: Result) -> list[tuple[LatencyNs | None, tuple[str, ...]]]:
        response: list[tuple[LatencyNs | None, tuple[str, ...]]] = [(result.response_ns, ("p50", "p99"))]
        return [*(response if self.has_response else []), (result.latency_ns, ("p50", "p99", "max"))]

    def _over_time(self, result: Result) -> str:
        timeline = self.recording.timeline(result)
        return sparkline(rates(timeline, rate_unit(result)), result) if timeline else markup(ABSENT)


def _head(name: str, *, is_words: bool) -> str:
    return f'<th scope="col"{" class=" + chr(34) + "words" + chr(34) if is_words else ""}>{name}</th>'


def _interval(result: Result) -> str:
    text = "with the flush" if is_with_flush(result) else interval_ends(result)
    return "" if text == ABSENT or not is_usable(result) else f'<br><span class="muted">{markup(text)}</span>'


def _latencies(spread: LatencyNs | None, keys: Sequence[str], result: Result) -> list[_Cell]:
    values = [None if spread is None else getattr(spread, key) for key in keys]
    return [_Cell(struck(format_ns(value), result), value) for value in values]


def _row(anchor: str, number: str, title: str, cells: Sequence[_Cell]) -> str:
    return (
        f'<tr id="{anchor}"><td data-by="{number}">{number}</td><th scope="row">{title}</th>'
        f"{''.join(cell.written() for cell in cells)}</tr>"
    )


def row_anchor(row: SummaryRow) -> str:
    """Name the place of a row."""
    return f"row-{row.members[0] + 1}"


def rows_by_result(rows: Sequence[SummaryRow]) -> dict[int, str]:
    """Name the row in which each result is."""
    return {i: row_anchor(row) for row in rows for i in row.members}
