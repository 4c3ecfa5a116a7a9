"""All figures of a run: what the page shows and `assay export --charts` writes.

A figure's series, words, table and chart are one file here, and it has a line in one of the two lists below. Words and
tables are made from the same arrays as the picture.
"""

from collections.abc import Callable, Iterator, Sequence

from assay.report.figure import Figure
from assay.report.figures import heat_map, latency, rates, time_budget, timeline
from assay.report.recording import OneResult, Recording
from assay.results import Result

OF_ALL: tuple[Callable[[Sequence[Result]], Iterator[Figure]], ...] = (rates.draw, latency.draw, time_budget.draw)
"""Over all results of a run."""
OF_EACH: tuple[Callable[[OneResult], Iterator[Figure]], ...] = (timeline.draw, heat_map.draw)
"""Of one result."""

MOST_DRAWN = 60
"""Results that are drawn one by one where a classic tool's own figures show them all: a matrix has a thousand."""


def draws_each(results: Sequence[Result], of_tool: Sequence[Figure]) -> bool:
    """Whether every result has figures of its own: not where a tool's figures show hundreds of results together."""
    return not of_tool or len(results) <= MOST_DRAWN


def overview_figures(results: Sequence[Result]) -> Iterator[Figure]:
    """Draw the figures over all results of a run."""
    for draw in OF_ALL:
        yield from draw(results)


def result_figures(recording: Recording, results: Sequence[Result], number_of: int) -> Iterator[Figure]:
    """Draw the figures of `results[number_of]`; none where the run has no intervals of it."""
    one = OneResult(recording, results, number_of)
    for draw in OF_EACH:
        yield from draw(one)
