"""Bonnie++'s own output from a run's bundle: text table and CSV line of 1.03, 1.96 and 2.00, and figures.

`measured.py` counts what the tests came to, `line.py` writes and reads the CSV lines, `table.py` writes the text.
"""

from typing import TYPE_CHECKING

from assay.analysis.record import RunRecord
from assay.tools.bonnie.line import header, line_of
from assay.tools.bonnie.measured import Measured, measured
from assay.tools.bonnie.table import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.report.figure import Figure


def text(run: RunRecord) -> str:
    """Give what bonnie++ prints on standard output: table and CSV line, or CSV lines alone with -q and -x."""
    everything = measured(run)
    settings = everything[0].settings
    if settings.runs is not None:
        head = [] if settings.is_old else [header(settings.version)]
        return "".join(f"{line}\n" for line in (*head, *(line_of(one) for one in everything if one.tests)))
    line = f"{line_of(everything[0])}\n"
    return line if settings.is_quiet else table(everything[0]) + line


def quiet_text(run: RunRecord) -> str:
    """Give what bonnie++ -q prints on standard error: the table; nothing without -q or with -x."""
    first = measured(run)[0]
    return table(first) if first.settings.is_quiet and first.settings.runs is None else ""


def figures(run: RunRecord) -> "Sequence[Figure]":
    """Draw the rate of each test with its slowest operation beside it."""
    # Drawing needs the extra 'report'; the text does not.
    from assay.tools.bonnie.figures import figures_of  # noqa: PLC0415

    return figures_of(measured(run))


__all__ = ["Measured", "figures", "measured", "quiet_text", "text"]
