"""Print what differs between two runs; readable without colour."""

from collections.abc import Sequence

from rich.table import Table

from assay.analysis.difference import Difference
from assay.console import PlainConsole


def render(a: str, b: str, facts: Sequence[Difference], plan: Sequence[Difference], console: PlainConsole) -> None:
    """Print the differences of run `a` and run `b`, those of the Plan first: they were chosen, facts were met."""
    if not facts and not plan:
        console.print("The two runs have the same Plan and the same facts.")
        return
    for title, differences in (("Plan", plan), ("Facts", facts)):
        if differences:
            table = Table(title=f"{title}: {len(differences)} differ", title_justify="left", box=None, pad_edge=False)
            for heading in (title.rstrip("s").lower(), f"A  {a}", f"B  {b}"):
                table.add_column(heading, overflow="fold")
            for difference in differences:
                table.add_row(difference.key, difference.before, difference.after)
            console.print(table)
