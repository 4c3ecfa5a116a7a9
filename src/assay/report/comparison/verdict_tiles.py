"""Draw a tile per result of a comparison: ratio, interval, verdict, and what served both sides."""

from collections import Counter
from collections.abc import Sequence

from assay.compare.arms import P99, Sample
from assay.compare.comparison import Row, Side
from assay.outward import markup
from assay.report.comparison.compared_runs import ComparedSide
from assay.report.comparison.comparison_words import reason_text
from assay.report.comparison_text import value_text
from assay.report.limited_by import limit_words
from assay.report.verdict import trust_words
from assay.units import ABSENT
from assay.verdicts import ComparisonVerdict

MOST_TILES = 60
"""More numbers are in the table alone."""
_CLASSES = {
    ComparisonVerdict.BETTER: "good",
    ComparisonVerdict.WORSE: "bad",
    ComparisonVerdict.INCONCLUSIVE: "warn",
    ComparisonVerdict.INDICATIVE: "warn",
    ComparisonVerdict.NOT_COMPARABLE: "warn",
}


def tiles(rows: Sequence[Row], a: ComparedSide, b: ComparedSide, anchors: dict[str, str]) -> str:
    """Show numbers.

    Args:
        rows: Of `b` held against `a`.
        a: The first side.
        b: The other.
        anchors: Where on the page the figures of a result are, by its label.
    """
    shown = "".join(_tile(row, a, b, anchors) for row in rows[:MOST_TILES])
    left = len(rows) - MOST_TILES
    more = f'<p class="muted">{left} more are in the table of the values.</p>' if left > 0 else ""
    return f'<div class="tiles">{shown}</div>{more}'


def verdict_text(row: Row) -> str:
    """Give the verdict as a word with its colour."""
    word, colour = markup(row.verdict.words), _CLASSES.get(row.verdict)
    return f'<span class="{colour}">{word}</span>' if colour else f"<strong>{word}</strong>"


def _tile(row: Row, a: ComparedSide, b: ComparedSide, anchors: dict[str, str]) -> str:
    name = markup(f"{row.title}, {row.metric}")
    linked = f'<a href="#{anchors[row.label]}">{name}</a>' if row.label in anchors else name
    ratio = ABSENT if row.ratio is None else f"{row.ratio:.3f}"
    reason = reason_text(row, b.letter)
    less = '<span class="muted"> · less is better</span>' if row.metric == P99.name else ""
    sides = "".join(
        f'<p class="small">{side.letter}: {_side(row, text)} · {_state(side.samples(row.label), text)}</p>'
        for side, text in ((a, row.a), (b, row.b))
    )
    return (
        f'<div class="tile"><h3>{linked}</h3><p class="figure">{ratio} <span class="also">{_between(row)}</span></p>'
        f"<p>{verdict_text(row)}{less}{markup(f': {reason}') if reason else ''}</p>{sides}</div>"
    )


def _between(row: Row) -> str:
    if row.interval:
        return f"{row.interval[0]:.3f} to {row.interval[1]:.3f}"
    if row.range:
        return f"two runs: {row.range[0]:.3f} to {row.range[1]:.3f}"
    return "" if row.ratio is None else "no interval"


def _side(row: Row, side: Side) -> str:
    if side.median is None:
        return ABSENT
    count = len(side.values)
    return f"{markup(value_text(side.median, row.unit))}, " + (f"median of {count}" if count > 1 else "one run")


def _state(samples: Sequence[Sample], side: Side) -> str:
    """Describe what served a side, what limited it and whether it is trusted."""
    limits = Counter(limit_words(sample.result) for sample in samples if limit_words(sample.result))
    trust = Counter(trust_words(sample.result) for sample in samples)
    parts = [" and ".join(side.measures)]
    parts += [f"limited by {limits.most_common(1)[0][0]}"] if limits else []
    counted = ", ".join(f"{count} {words}" for words, count in trust.most_common())
    parts.append(counted if len(trust) > 1 else next(iter(trust), ""))
    parts += [f"{len(side.left_out)} left out"] if side.left_out else []
    return markup(" · ".join(part for part in parts if part))
