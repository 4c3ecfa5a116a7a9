"""Write the table of results over their repeats: typical value, interval, and each repeat."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.outward import markup
from assay.report.numbers import RateUnit, rate
from assay.report.over_repeats import (
    METHODS,
    headline_number,
    remarks,
    repeats_of,
    shown_rates,
    shown_results,
    summary_titles,
    unit_of,
)
from assay.report.page.anchors import Places, struck, trust_text
from assay.results import Document, Result, Summary
from assay.units import ABSENT, format_ns, format_number, format_share

_MOST_RATES = 20
"""Repeats that are linked one by one."""
_HEADS = (
    ("#", False), ("Result", True), ("Rate", False), ("CV", False), ("From, to", False), ("Each repeat", True),
    ("p50", False), ("p99", False), ("Of", True), ("Trust", True),
)  # fmt: skip
"""Headings, and whether a column has words."""


@dataclass(frozen=True)
class _Repeated:
    summary: Summary
    measured: Sequence[Result]
    typical: Result
    anchors: Sequence[str]
    """Place of each repeat."""


def repeat_anchor(row: int) -> str:
    """Name the place of a row, counted from 0."""
    return f"repeats-{row + 1}"


def repeat_places(document: Document) -> Places:
    """Map results over repeats to their places."""
    return Places({row: repeat_anchor(row) for row in range(len(document.summaries))}, ())


def repeats_section(document: Document, places: Places) -> str:
    """Give the table; nothing where nothing was measured twice.

    Args:
        document: The results.
        places: Place of each repeat.
    """
    if not document.summaries:
        return ""
    at = {result.label: i for i, result in enumerate(document.results)}
    whole = zip(
        document.summaries, summary_titles(document), repeats_of(document), shown_results(document), strict=True
    )
    rows = [
        _row(row, title, _Repeated(summary, measured, typical, [places.of(at[result.label]) for result in measured]))
        for row, (summary, title, measured, typical) in enumerate(whole)
    ]
    heads = "".join(f'<th scope="col"{_words(is_words)}>{name}</th>' for name, is_words in _HEADS)
    word = "repeat" if document.rounds is None else "round"
    return (
        f'<section aria-labelledby="repeats"><h2 id="repeats">Over the {word}s</h2><div class="scroll" tabindex="0"'
        f' role="region" aria-label="Table of repeats"><table class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{_legend(document)}</section>"
    )


def _row(row: int, title: str, repeated: _Repeated) -> str:
    summary, measured, typical = repeated.summary, repeated.measured, repeated.typical
    unit = unit_of(measured)
    number = headline_number(summary, unit)
    value = None if number.value is None else number.value / unit.per_unit
    notes = "".join(f'<br><span class="muted">{markup(remark)}</span>' for remark in remarks(summary, measured))
    interval = f'<br><span class="muted">{markup(_ends(number.interval, unit))}</span>' if number.interval else ""
    cells = (
        ("", value, struck(rate(value, unit), typical) + interval),
        ("", number.variation, markup(format_share(number.variation))),
        ("", None, markup(_ends(number.range, unit))),
        ("words", None, _each(repeated)),
        ("", summary.p50_ns.value, struck(format_ns(summary.p50_ns.value), typical)),
        ("", summary.p99_ns.value, struck(format_ns(summary.p99_ns.value), typical)),
        ("words", None, markup(" and ".join(summary.measures))),
        ("words", None, trust_text(typical)),
    )
    written = "".join(
        f"<td{_words(kind == 'words')}{'' if by is None else f' data-by={chr(34)}{by:.9g}{chr(34)}'}>{html}</td>"
        for kind, by, html in cells
    )
    return (
        f'<tr id="{repeat_anchor(row)}"><td data-by="{row + 1}">{row + 1}</td>'
        f'<th scope="row">{markup(title)}{notes}</th>{written}</tr>'
    )


def _each(repeated: _Repeated) -> str:
    """Link the rate of each repeat, those that are left out in brackets; of very many only count them."""
    summary, measured = repeated.summary, repeated.measured
    if len(measured) > _MOST_RATES:
        return f"{len(measured)} repeats, {len(measured) - len(summary.counted)} left out"
    rates = zip(shown_rates(summary, measured), repeated.anchors, strict=True)
    return " · ".join(f'<a href="#{anchor}">{markup(text)}</a>' for text, anchor in rates)


def _ends(ends: tuple[float, float] | None, unit: RateUnit) -> str:
    if ends is None:
        return ABSENT
    low, high = (format_number(end / unit.per_unit) for end in ends)
    return f"{low} to {high}"


def _words(is_words: bool) -> str:
    return ' class="words"' if is_words else ""


def _legend(document: Document) -> str:
    methods = dict.fromkeys(summary.iops.method for summary in document.summaries if summary.iops.method)
    parts = [f"Rates, p50 and p99: {', or '.join(METHODS[method] for method in methods)}."] if methods else []
    why = "it is not trusted" if document.rounds is None else "it is outside the window"
    parts.append(
        "Below a rate its 95 % interval over the repeats. CV: standard deviation by mean. In brackets: left out, because"
        f" {why}. Each repeat leads to its own numbers; warnings name its row in the summary."
    )
    if any(summary.is_response for summary in document.summaries):
        parts.append("Percentiles of an open loop are those of the response time.")
    if any(summary.is_with_flush for summary in document.summaries):
        parts.append("Rates of changes that memory took are up to the end of the flush.")
    return f'<p class="muted">{markup(" ".join(parts))}</p>'
