"""Print the outcome of `assay decode`: a line per figure, and its arithmetic below."""

from collections import Counter

from rich.table import Table
from rich.text import Text

from assay.console import PlainConsole
from assay.decode.decodings import Decoded, Decodings
from assay.units import ABSENT, format_number

_GOOD, _DOUBTFUL = "green", "yellow"


def render(found: Decodings, console: PlainConsole) -> None:
    """Print the verdicts, and in one sentence what the output as a whole measured."""
    table = Table(
        box=None, pad_edge=False, title=f"{found.tool}: what each figure is a figure of", title_justify="left"
    )
    table.add_column("test", overflow="fold")
    table.add_column("rate", justify="right", no_wrap=True)
    table.add_column("served by", no_wrap=True)
    table.add_column("because", overflow="fold")
    is_of_several = len({figure.machine for figure in found.figures}) > 1
    for figure in found.figures:
        test = f"{figure.machine or ABSENT}: {figure.test}" if is_of_several else figure.test
        style = _GOOD if figure.of == "storage" else _DOUBTFUL
        table.add_row(test, _rate(figure), Text(figure.of, style=style), figure.why)
    console.print(table)
    console.print()
    console.print(_whole(found), soft_wrap=True)


def _rate(figure: Decoded) -> str:
    if figure.bytes_per_s is not None:
        return f"{format_number(figure.bytes_per_s / 1e6)} MB/s"
    return ABSENT if figure.ops_per_s is None else f"{format_number(figure.ops_per_s)}/s"


def _whole(found: Decodings) -> str:
    counts = Counter(figure.of for figure in found.figures)
    of_storage, total = counts["storage"], len(found.figures)
    if of_storage == total:
        return "By these facts, all figures measured the storage."
    parts = ", ".join(f"{count} {of}" for of, count in counts.most_common())
    return f"{of_storage or 'None'} of {total} figures {'is' if of_storage < 2 else 'are'} of the storage: {parts}."
