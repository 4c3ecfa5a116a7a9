"""Assign anchors and links within the page.

A number that is struck through leads to the warning that strikes it, and the warning leads back to every result that it is
about: to its card, or where it has none, to its row.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from assay.outward import markup
from assay.report.titles import slug_of
from assay.report.verdict import is_usable, trust_reasons, trust_words
from assay.results import Result
from assay.units import ABSENT

_COLOURS = {"note": "muted", "weak": "warn", "warning": "bad", "invalid": "bad"}
_MOST_LINKS = 24
_MOST_OF_TESTS = 3
"""Results of shared rows that are named one by one."""


def severity_class(severity: str) -> str:
    """Give the class of a finding's severity; it repeats the word."""
    return _COLOURS.get(severity, "warn")


def warning_anchor(finding_id: str) -> str:
    """Name the place of a warning."""
    return f"warning-{slug_of(finding_id)}"


def card_anchor(i: int) -> str:
    """Name the place of the card of `results[i]`."""
    return f"result-{i + 1}"


@dataclass(frozen=True)
class Places:
    """Places of the results on a page."""

    rows: dict[int, str]
    """Anchor of the row of the summary that a result is in, by its place among the results."""
    cards: Collection[int]
    """Those that have a card."""
    tests: Mapping[str, str] = field(default_factory=dict)
    """Where many results share few rows: the words of each row, by its anchor."""

    def of(self, i: int) -> str:
        """Return the anchor of the most detailed place of a result."""
        return card_anchor(i) if i in self.cards else self.rows.get(i, "summary")

    def links(self, numbers: Sequence[int]) -> str:
        """Link the numbers of results, those that follow each other as one range; of many that share rows, the rows."""
        if self.tests and len(numbers) > _MOST_OF_TESTS:
            counted = Counter(self.rows[i] for i in numbers if i in self.rows)
            named = [f'<a href="#{row}">{markup(self.tests[row])}</a> ({n:,})' for row, n in counted.items()]
            return f"{len(numbers):,} results: {', '.join(named)}"
        ranges: list[list[int]] = []
        for i in sorted(numbers):
            if ranges and i == ranges[-1][-1] + 1:
                ranges[-1].append(i)
            else:
                ranges.append([i])
        parts = [self._range(each) for each in ranges[:_MOST_LINKS]]
        others = sum(map(len, ranges[_MOST_LINKS:]))
        words = "row" if len(numbers) == 1 else "rows"
        return f"{words} {', '.join(parts)}" + (f" and {others} more" if others else "")

    def _range(self, each: Sequence[int]) -> str:
        links = [f'<a href="#{self.of(i)}">{i + 1}</a>' for i in (each[0], each[-1])]
        if len(each) == 1:
            return links[0]
        return (", " if len(each) == 2 else "–").join(links)  # noqa: RUF001 - two are no range; an en dash is one


def struck(text: str, result: Result) -> str:
    """Format a number; one that is not trusted is struck through and linked to the reason."""
    if is_usable(result) or text == ABSENT:
        return markup(text)
    why = markup(f"Not to be trusted: {trust_reasons(result)}")
    inner = f'<s>{markup(text)}</s><span class="unseen"> (not trusted)</span>'
    return f'<a class="struck" href="#{_anchor_of(result)}" title="{why}">{inner}</a>'


def trust_text(result: Result, *, reasons: bool = True) -> str:
    """Format the trust level, linked to the reason."""
    colour = "good" if result.trusted else "warn" if is_usable(result) else "bad"
    word = f'<span class="{colour}">{trust_words(result)}</span>'
    if not reasons or not result.trust.reasons:
        return word
    linked = (f'<a href="#{warning_anchor(r.id)}">{markup(r.text)}</a>' for r in result.trust.reasons)
    return f"{word}: {', '.join(linked)}"


def _anchor_of(result: Result) -> str:
    return warning_anchor(result.trust.reasons[0].id) if result.trust.reasons else "warnings"
