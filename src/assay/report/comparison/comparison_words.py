"""Format the answer of a comparison: what is better by how much, or why there is no answer."""

import re
from collections.abc import Iterator, Sequence

from assay.compare.arms import P99
from assay.compare.comparison import Against, Comparison, Row
from assay.report.comparison_text import more_runs_words
from assay.verdicts import ComparisonVerdict

_DECIDED = (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)
_MOST_NAMED = 6
_SIDE = re.compile(r"^B (?=is |has )|(?<=, )B (?=of )")
"""The other side, where the reason of a row names it."""


def answer_lines(comparison: Comparison, against: Against, letter: str) -> Iterator[str]:
    """Describe a side, compared with the first.

    Args:
        comparison: What was compared.
        against: The side.
        letter: By which it is called: B, C ...
    """
    rows = against.rows
    if not rows:
        yield f"{letter} cannot be compared: no result exists on both sides."
        return
    for verdict in _DECIDED:
        decided = [row for row in rows if row.verdict is verdict]
        if decided:
            head = (
                f"{letter} is {verdict.words} by more than {100 * comparison.effect:g} % in {_counted(decided, rows)}"
            )
            yield f"{head}: {_named(decided)}."
    for verdict, words in (
        (ComparisonVerdict.EQUIVALENT, f"{letter} and A are equivalent, to within {100 * comparison.effect:g} %,"),
        (ComparisonVerdict.DIFFERENT_SMALL, f"{letter} differs by less than what matters"),
    ):
        close = [row for row in rows if row.verdict is verdict]
        if close:
            yield f"{words} in {_counted(close, rows)}: {_named(close)}."
    yield from _open(against, rows, letter)


def _open(against: Against, rows: Sequence[Row], letter: str) -> Iterator[str]:
    """Describe results without a verdict, and why."""
    unsure = [row for row in rows if row.verdict is ComparisonVerdict.INCONCLUSIVE]
    if unsure:
        needed = [row.runs_needed for row in unsure if row.runs_needed is not None]
        more = f" About {max(needed)} runs per side are needed for all of them." if needed else ""
        yield f"Open in {_counted(unsure, rows)}: {_named(unsure)}.{more}"
    few = [row for row in rows if row.verdict is ComparisonVerdict.INDICATIVE]
    if few:
        yield (
            f"No winner can be named in {_counted(few, rows)}: {reason_text(few[0], letter)}. So far: {_named(few)}. An"
            f" interval takes three runs of each side; {more_runs_words(against)}."
        )
    void = [row for row in rows if row.verdict is ComparisonVerdict.NOT_COMPARABLE]
    if void:
        reasons = list(dict.fromkeys(reason_text(row, letter) for row in void))
        others = f", and {len(reasons) - 1} other reasons" if len(reasons) > 1 else ""
        yield f"No verdict in {_counted(void, rows)}: {reasons[0]}{others}."


def reason_text(row: Row, letter: str) -> str:
    """Give the reason of a row with the letter of its side."""
    return _SIDE.sub(f"{letter} ", row.reason)


def ratio_text(row: Row) -> str:
    """Give the ratio with its interval, or with the range of two runs."""
    if row.ratio is None:
        return "no ratio"
    if row.interval:
        return f"{row.ratio:.3f} ({row.interval[0]:.3f} to {row.interval[1]:.3f})"
    if row.range:
        return f"{row.ratio:.3f} (two runs: {row.range[0]:.3f} to {row.range[1]:.3f})"
    return f"{row.ratio:.3f} (no interval)"


def row_name(row: Row) -> str:
    """Name what was compared."""
    less = ", less is better" if row.metric == P99.name else ""
    return f"{row.title}, {row.metric}{less}"


def _counted(some: Sequence[Row], rows: Sequence[Row]) -> str:
    return f"{len(some)} of {len(rows)} numbers"


def _named(rows: Sequence[Row]) -> str:
    parts = [f"{row.title}, {row.metric}: {ratio_text(row)} times A" for row in rows[:_MOST_NAMED]]
    return "; ".join(parts) + (f"; and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else "")
