"""Draw one result in full, as a card: its number and how it was made, then its figures. Folded if it is trusted."""

from collections.abc import Sequence

from assay.outward import markup
from assay.report.latency_headline import has_latency_headline, median_words
from assay.report.numbers import (
    energy_words,
    headline,
    headline_rates,
    hit_scope,
    interval_words,
    other_unit,
    rate,
    span_s,
)
from assay.report.page.anchors import card_anchor, struck, trust_text
from assay.report.page.warned import finding_item
from assay.results import LatencyNs, Result
from assay.units import ABSENT, format_bytes, format_ns, format_number, format_percent, format_seconds, format_share

MOST_CARDS = 200
"""Most results that a page shows in full."""
MOST_CARDS_OF_A_TOOL = 40
"""Of a classic tool's run, whose figures show hundreds of results at once."""
MOST_OPEN = 12
"""Cards that are open from the start: more would hide what is below them."""


def cards(results: Sequence[Result], most: int = MOST_CARDS) -> list[int]:
    """Choose the results that have a card: all, or of very many those with the gravest findings, then the first."""
    rank = {"invalid": 0, "warning": 1, "weak": 2, "note": 3}
    gravest = [min((rank.get(finding.severity, 4) for finding in result.findings), default=4) for result in results]
    return sorted(sorted(range(len(results)), key=lambda i: gravest[i])[:most])


def not_drawn(results: int, drawn: int, *, has_overview: bool) -> str:
    """Describe which figures a page of very many results omits."""
    if drawn == results or (drawn == 0 and has_overview):
        return ""
    left = f"Of {results:,} results the first {drawn} have figures of their own"
    text = left if has_overview else f"{left}, and there are too many for one figure of all"
    return f'<p class="muted">{text}. Their numbers are in the summary.</p>'


def not_shown(results: int, count: int) -> str:
    """Describe which results a page of very many omits."""
    if count == results:
        return ""
    return (
        f'<p class="muted">{count} of {results:,} results are shown in full here: those with the gravest findings, then the'
        " first. <code>assay show --json</code> has every number of all.</p>"
    )


def card(i: int, title: str, result: Result, figures: str, *, row: str, is_open: bool, stands_for: str = "") -> str:
    """Show one result.

    Args:
        i: Its place among the results.
        title: Unique name of the result.
        result: What it came to.
        figures: HTML that is already made.
        row: The anchor of its row in the summary.
        is_open: Whether it is unfolded.
        stands_for: Uses of storage that the load represents.
    """
    value, unit = headline(result)
    other = other_unit(result)
    also = other.of(*headline_rates(result))
    also_words = f' <span class="also">= {struck(rate(also, other), result)}</span>' if also else ""
    main = struck(rate(value, unit), result)
    if has_latency_headline(result):
        also_words = f' <span class="also">= {main}</span>'
        main = struck(median_words(result), result)
    where = (
        f"{_count(result.workers)} worker{'s' if result.workers != 1 else ''}, queue depth {_count(result.queue_depth)},"
        f" target {result.target}, phase {result.phase}, operation {result.operation}"
    )
    items = "".join(f"<div><dt>{markup(k)}</dt><dd>{v}</dd></div>" for k, v in _items(result))
    found = "".join(finding_item(finding, linked=True) for finding in result.findings)
    listed = f'<ul class="findings">{found}</ul>' if found else ""
    brief = f'<span class="brief">{main} · {trust_text(result, reasons=False)}</span>'
    return (
        f'<details class="card" id="{card_anchor(i)}"{" open" if is_open else ""}>'
        f"<summary><h3>{i + 1}. {markup(title)}</h3> {brief}</summary>"
        f'<p class="where">{markup(where)} · <a href="#{row}">in the summary</a></p>'
        f"{f'<p>Represents: {markup(stands_for)}</p>' if stands_for else ''}"
        f'<p class="rate">{main}{also_words}</p><p>{trust_text(result)}</p><dl>{items}</dl>{listed}{figures}</details>'
    )


def _items(result: Result) -> list[tuple[str, str]]:
    items = []
    if result.response_ns is not None:
        items += [(f"Response {name}", struck(format_ns(v), result)) for name, v in _percentiles(result.response_ns)]
    kind = "Latency " if items else ""
    items += [(f"{kind}{name}", struck(format_ns(v), result)) for name, v in _percentiles(result.latency_ns)]
    cache, steady = result.cache, result.steady
    method = f" (by {cache.method.replace('_', ' ')})" if cache.method else ""
    resident = f"{format_share(cache.resident_before)} before, {format_share(cache.resident_after)} after"
    texts = {
        "95 % interval of the rate": interval_words(result),
        "With the flush": _committed_words(result),
        "A number of": result.measures.words,
        "Limited by": _limit_words(result),
        "Evidence": "; ".join(result.limiter.evidence) if result.limiter else ABSENT,
        "To get more": (result.limiter.remedy if result.limiter else "") or ABSENT,
        "CPU per operation": format_ns(result.cpu_ns_per_op),
        **_energy_words(result),
        "Cache": _cache_words(result),
        "Cache hit ratio": format_share(cache.hit_ratio) + hit_scope(cache) + method,
        "Set in the page cache": resident,
        "Moved by the device": format_bytes(result.device_bytes),
        "Window": span_s(*result.window_s) if result.window_s else ABSENT,
        "Operations": _count(result.ops),
        "Bytes": format_bytes(result.bytes),
        "Errors": _count(result.errors),
        "Steady state": steady.verdict.replace("_", " ") if steady else "not assessed",
    }
    return items + [(name, markup(text)) for name, text in texts.items()]


def _count(number: int | None) -> str:
    return ABSENT if number is None else f"{number:,}"


def _limit_words(result: Result) -> str:
    limiter = result.limiter
    return f"{limiter.verdict.words} ({limiter.confidence} confidence)" if limiter else ABSENT


def _committed_words(result: Result) -> str:
    committed = result.committed
    if committed is None:
        return ABSENT
    flush = format_seconds(committed.flush_seconds)
    over = (
        ""
        if committed.stored_share == 1
        else f"; {format_percent(1 - committed.stored_share)} % was written over before"
    )
    return f"{format_number(committed.iops)} a second, to the end of a flush of {flush}{over}"


def _percentiles(spread: LatencyNs) -> list[tuple[str, float | None]]:
    return [
        ("p50", spread.p50),
        ("p90", spread.p90),
        ("p99", spread.p99),
        ("p99.9", spread.p99_9),
        ("slowest", spread.max),
        ("mean", spread.mean),
    ]


def _cache_words(result: Result) -> str:
    cache = result.cache
    words = f"{cache.condition.replace('_', ' ')}, {cache.verdict}"
    return words if cache.hit_ratio is None else f"{words} (hit {format_share(cache.hit_ratio)}{hit_scope(cache)})"


def _energy_words(result: Result) -> dict[str, str]:
    """Format the energy, if it was measured."""
    words = energy_words(result.efficiency)
    return {"Energy": words} if words else {}
