"""Draw the main results as tiles: rate with interval, p99, limiter and trust.

A quick run has a tile for each kind of work. Another has one for each of its rows, or of many rows for the eight that were
measured longest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.outward import markup
from assay.report.latency_headline import has_latency_headline, median_interval_words, median_words
from assay.report.limited_by import marked_limit
from assay.report.numbers import (
    MIB_PER_S,
    headline,
    headline_rates,
    interval_ends,
    is_with_flush,
    rate,
    rate_words,
    user_latency,
)
from assay.report.page.anchors import Places, struck, trust_text
from assay.report.page.grouping import SummaryRow
from assay.report.verdict import is_usable
from assay.results import Result
from assay.units import ABSENT, format_ns, format_number

MOST_TILES = 8
_QUICK = (
    ("Streams", (("stream-write", "write"), ("stream-read", "read"))),
    ("Random reads of 4 KiB", (("random-read-1", "depth 1"), ("random-read-32", "depth 32"))),
    ("Synchronous writes", (("sync-write", "8 KiB"),)),
    ("Metadata, 1 worker", (("create-1", "create"), ("stat-1", "stat"), ("delete-1", "delete"))),
)
"""Titles, and the phases of the quick suite that each shows."""


@dataclass(frozen=True)
class _Tile:
    title: str
    parts: tuple[tuple[str, int], ...]
    """What to call each result, and its place."""


def tiles(results: Sequence[Result], rows: Sequence[SummaryRow], places: Places, *, is_quick: bool) -> str:
    """Show the main results; nothing where nothing was measured."""
    if is_quick:
        chosen = "".join(_tile(tile, results, places) for tile in _of_quick(results))
    else:
        longest = sorted(range(len(rows)), key=lambda k: -sum(results[i].seconds or 0.0 for i in rows[k].members))[
            :MOST_TILES
        ]
        chosen = "".join(_of_row(rows[k], results, places) for k in sorted(longest))
    left = (
        "" if is_quick or len(rows) <= MOST_TILES else f" The {MOST_TILES} of {len(rows)} that were measured longest."
    )
    note = f'<p class="muted">{left.strip()}</p>' if left else ""
    if not chosen:
        return ""
    return (
        '<section aria-labelledby="main-results"><h2 id="main-results" class="unseen">Main results</h2>'
        f'<div class="tiles">{chosen}</div>{note}</section>'
    )


def _of_quick(results: Sequence[Result]) -> list[_Tile]:
    at = {result.phase: i for i, result in reversed(list(enumerate(results)))}
    made = [_Tile(title, tuple((name, at[phase]) for phase, name in parts if phase in at)) for title, parts in _QUICK]
    return [tile for tile in made if tile.parts]


def _of_row(row: SummaryRow, results: Sequence[Result], places: Places) -> str:
    if row.is_one:
        return _tile(_Tile(row.title, (("", row.members[0]),)), results, places)
    members = [results[i] for i in row.members]
    return (
        f'<div class="tile"><h3><a href="#{places.of(row.members[0])}">{markup(row.title)}</a></h3>'
        f'<p class="figure">{range_text(members)}</p><p class="small">{counts_text(members)}</p></div>'
    )


def range_text(members: Sequence[Result]) -> str:
    """Format the range of the usable rates of several results."""
    known = [(value, result) for result in members if is_usable(result) and (value := headline(result)[0])]
    if not known:
        return markup(ABSENT)
    units = {headline(result)[1] for _, result in known}
    unit = units.pop() if len(units) == 1 else MIB_PER_S
    values = [value for _, result in known if (value := unit.of(*headline_rates(result))) is not None]
    if len(values) < len(known):
        return f'<span class="also">{len(members)} results in different units</span>'
    low, high = min(values), max(values)
    if len(known) == 1:
        return markup(rate(low, unit))
    return f"{markup(format_number(low))} to {markup(rate(high, unit))}"


def counts_text(members: Sequence[Result]) -> str:
    """Count the trusted results."""
    trusted = sum(result.trusted for result in members)
    weak = sum(is_usable(result) and not result.trusted for result in members)
    bad = len(members) - trusted - weak
    counted = ((trusted, "good", "trusted"), (weak, "warn", "weak"), (bad, "bad", "not trusted"))
    return ", ".join(f'<span class="{colour}">{n:,} {words}</span>' for n, colour, words in counted if n)


def _tile(tile: _Tile, results: Sequence[Result], places: Places) -> str:
    text = "".join(_part(name, results[i], places.of(i)) for name, i in tile.parts)
    return f'<div class="tile"><h3>{markup(tile.title)}</h3>{text}</div>'


def _part(name: str, result: Result, anchor: str) -> str:
    which, spread = user_latency(result)
    known = interval_ends(result)
    between = f'<span class="also">{markup(known)}</span>' if known != ABSENT and is_usable(result) else ""
    if is_with_flush(result):
        between = '<span class="also">with the flush</span>'
    value = struck(rate(*headline(result)), result)
    parts = [f"{'response ' if which == 'response' else ''}p99 {struck(format_ns(spread.p99), result)}"]
    if has_latency_headline(result):
        parts.insert(0, struck(rate_words(result), result))
        value = struck(median_words(result), result)
        between = f'<span class="also">{markup(median_interval_words(result))}</span>' if is_usable(result) else ""
    limit = marked_limit(result, ABSENT)
    if limit != ABSENT:
        parts.append(f"limited by {markup(limit)}")
    link = f'<a class="what" href="#{anchor}">{markup(name or "details")}</a>'
    return (
        f'<div class="part"><p class="figure">{value} {between}</p>'
        f'<p class="small">{link} · {" · ".join(parts)}</p><p class="small">{trust_text(result)}</p></div>'
    )
