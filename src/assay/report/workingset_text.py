"""A working set on the terminal: the answer, a table of cache sizes, policies, tiers, and what was assumed."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from assay.console import PlainConsole
from assay.report.workingset_words import (
    TIER_HEADING,
    assumption_lines,
    policy_rows,
    served_cells,
    tier_cells,
    tier_lines,
    trace_lines,
)
from assay.workingset.cache_sizes import WorkingSet, is_unlike

_MOST_PERIODS = 40
"""Periods of a table; the JSON has all."""


def render_working_set(answer: WorkingSet, notes: tuple[str, ...], console: PlainConsole) -> None:
    """Print a working set.

    Args:
        answer: The working set.
        notes: Of the traces that it is from.
        console: Where to.
    """
    for line in trace_lines(answer):
        console.print(line, soft_wrap=False)
    console.print()
    rows = [served_cells(answer, one) for one in answer.table]
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    console.print(_table(shown, [[row[name] for name in shown] for row in rows]))
    console.print()
    heading, of_policies = policy_rows(answer)
    if of_policies:
        console.print(_table(heading, of_policies))
        console.print()
    _tiers(answer, console)
    console.print("Assumed:")
    for line in (*assumption_lines(answer), *notes):
        console.print(Text(f"- {line}", style="dim"), soft_wrap=False)


def _tiers(answer: WorkingSet, console: PlainConsole) -> None:
    tiers = answer.found.tiers
    if tiers is None:
        return
    for line in tier_lines(answer):
        console.print(line, soft_wrap=False)
    shown = tiers.periods[:_MOST_PERIODS]
    table = _table(TIER_HEADING, [])
    for one in shown:
        table.add_row(*tier_cells(answer, one), style="yellow" if is_unlike(one) else None)
    console.print(table)
    if len(tiers.periods) > len(shown):
        console.print(f"And {len(tiers.periods) - len(shown):,} more periods (--json).")
    console.print()


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in heading:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
