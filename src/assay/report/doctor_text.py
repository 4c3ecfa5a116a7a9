"""Print the findings of `assay doctor`; readable without colour."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from assay.console import PlainConsole
from assay.doctor.check import Check, State

_STYLES = {State.OK: "green", State.LIMITED: "yellow", State.CANNOT: "bold red"}


def render(title: str, checks: Sequence[Check], console: PlainConsole) -> None:
    """Print a table of checks: each with its state in words, what is so, and the cure."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False, title_style="bold")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        text = Text(check.text)
        if check.cure:
            text.append(f"\n-> {check.cure}", style="dim")
        table.add_row(Text(check.state.value, style=_STYLES[check.state]), check.subject, text)
    console.print(table)
