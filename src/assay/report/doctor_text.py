"""Print what `assay doctor` found; readable without colour."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.doctor.check import Check, State

_STYLES = {State.OK: "green", State.LIMITED: "yellow", State.CANNOT: "bold red"}


def render(title: str, checks: Sequence[Check], console: Console) -> None:
    """Print a table of checks: each with its state in words, what is so, and the cure."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False, title_style="bold")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        style = _STYLES[check.state]
        text = escape(check.text)
        if check.cure:
            text += f"\n[dim]-> {escape(check.cure)}[/dim]"
        table.add_row(f"[{style}]{check.state.value}[/{style}]", escape(check.subject), text)
    console.print(table)
