"""A sizing on the terminal: the load, the table of candidates, what is wrong with them, what was assumed."""

from rich.table import Table
from rich.text import Text

from assay.console import PlainConsole
from assay.report.sizing_words import assumption_lines, candidate_cells, candidate_warnings, load_lines
from assay.sizing.size_answer import SizeAnswer

_WORDS = {"disk", "level", "set by"}


def render_sizing(answer: SizeAnswer, notes: tuple[str, ...], console: PlainConsole) -> None:
    """Print a sizing.

    Args:
        answer: The sizing.
        notes: Of the captures that it is from.
        console: Where to.
    """
    for line in load_lines(answer):
        console.print(line, soft_wrap=False)
    console.print()
    rows = [candidate_cells(one) for one in answer.candidates]
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    table = Table(box=None, pad_edge=False)
    for name in shown:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
    for one, row in zip(answer.candidates, rows, strict=True):
        table.add_row(*(row[name] for name in shown), style=None if one.is_enough else "yellow")
    console.print(table)
    console.print()
    for line in candidate_warnings(answer):
        console.print(Text(line, style="yellow"), soft_wrap=False)
    console.print("Assumed:")
    for line in (*assumption_lines(answer), *notes):
        console.print(Text(f"- {line}", style="dim"), soft_wrap=False)
