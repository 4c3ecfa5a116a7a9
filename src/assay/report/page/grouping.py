"""Group results: the main ones, and those of one test.

A phase whose loop has several operations has a result for the whole loop and one for each of them; a matrix of a classic
tool has a result for each of hundreds of cells. A reader first wants a row a test.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.recorded_operations import WHOLE_LOOP
from assay.report.titles import titles_of
from assay.results import Result

_MOST_OF_A_TOOL = 40
"""Tests of a classic tool that have a row each."""


@dataclass(frozen=True)
class SummaryRow:
    """Results that are one row."""

    title: str
    members: tuple[int, ...]
    """Places among the results; the main one first."""
    is_one: bool
    """Whether the row is the first member's own."""


def summary_rows(results: Sequence[Result], *, of_tool: bool) -> list[SummaryRow]:
    """Put the results of a run into rows, in order."""
    titles = titles_of(results)
    if not of_tool:
        return [SummaryRow(title, (i,), is_one=True) for i, title in enumerate(titles)]
    loops: dict[tuple[object, ...], list[int]] = {}
    for i, result in enumerate(results):
        loops.setdefault((result.phase, result.repeat, result.job), []).append(i)
    mains = [_main_first(results, members) for members in loops.values()]
    if len(mains) <= _MOST_OF_A_TOOL:
        return [SummaryRow(_title(results, titles, members), members, is_one=True) for members in mains]
    by_operation: dict[str, list[int]] = {}
    for i, result in enumerate(results):
        by_operation.setdefault(result.operation, []).append(i)
    return [
        SummaryRow(
            operation.replace("-", " ") if len(members) > 1 else titles[members[0]], tuple(members), len(members) == 1
        )
        for operation, members in by_operation.items()
    ]


def _main_first(results: Sequence[Result], members: Sequence[int]) -> tuple[int, ...]:
    whole = [i for i in members if results[i].operation == WHOLE_LOOP]
    busiest = max(members, key=lambda i: (results[i].bytes, results[i].ops))
    main = whole[0] if whole else busiest
    return (main, *(i for i in members if i != main))


def _title(results: Sequence[Result], titles: Sequence[str], members: Sequence[int]) -> str:
    main = results[members[0]]
    return titles[members[0]].replace(f": {WHOLE_LOOP}", "") if main.operation == WHOLE_LOOP else titles[members[0]]
