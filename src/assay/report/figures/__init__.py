"""Draw all figures of a run, for the page and for `assay export --charts`.

A figure's series, words, table and chart are one file here, and it has a line in one of the three lists below. Words and
tables are made from the same arrays as the picture.
"""

from collections.abc import Callable, Iterator, Sequence

from assay.analysis.record import RunRecord
from assay.report.figure import Figure
from assay.report.figures import (
    client_rates,
    fairness,
    heat_map,
    latency,
    percentile_curve,
    rates,
    roofline,
    start_skew,
    time_budget,
    timeline,
)
from assay.report.recording import OneResult, Recording
from assay.results import Document, Result

OF_ALL: tuple[Callable[[Document], Iterator[Figure]], ...] = (
    rates.draw,
    latency.draw,
    time_budget.draw,
    roofline.draw,
)
"""Over all results of a run."""
OF_EACH: tuple[Callable[[OneResult], Iterator[Figure]], ...] = (timeline.draw, heat_map.draw, percentile_curve.draw)
"""Of one result."""
OF_CLIENTS: tuple[Callable[[RunRecord, Document], Iterator[Figure]], ...] = (
    fairness.draw,
    client_rates.draw,
    start_skew.draw,
)
"""Of the clients of a run of several; nothing of a run of one."""

MOST_DRAWN = 60
"""Results that are drawn one by one: a matrix of a classic tool has a thousand, a long run thousands, and nobody looks at so
many pictures."""

MOST_BARS = 200
"""Results that one figure shows with a bar each."""


def drawn_each(results: Sequence[Result], of_tool: Sequence[Figure]) -> int:
    """Give how many results, from the first, have figures of their own: none where those of a tool show hundreds at once."""
    return 0 if of_tool and len(results) > MOST_DRAWN else min(len(results), MOST_DRAWN)


def overview_figures(recording: Recording, document: Document, of_tool: Sequence[Figure]) -> Iterator[Figure]:
    """Draw the figures over all results of a run; of a classic tool's only where the time went, its own show the rest.

    None where that is a wall of bars.
    """
    if of_tool:
        if len(document.results) <= MOST_DRAWN:
            yield from time_budget.draw(document)
        return
    if len(document.results) <= MOST_BARS:
        for draw in OF_ALL:
            yield from draw(document)
    if len(document.results) <= MOST_DRAWN:
        yield from percentile_curve.overlaid(recording, document)


def result_figures(recording: Recording, results: Sequence[Result], number_of: int) -> Iterator[Figure]:
    """Draw the figures of `results[number_of]`; none where the run has no intervals of it."""
    one = OneResult(recording, results, number_of)
    for draw in OF_EACH:
        yield from draw(one)


def clients_figures(run: RunRecord, document: Document) -> Iterator[Figure]:
    """Draw how the clients of a run differ; `document` is the whole one."""
    for draw in OF_CLIENTS:
        yield from draw(run, document)
