"""Bonnie++'s own output: text table and CSV line of 1.03, 1.96 and 2.00, and figures.

`measured.py` computes the results of the tests, `line.py` writes and reads the CSV lines, `table.py` writes the text.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

from assay.tools.bonnie.line import header, line_of
from assay.tools.bonnie.measured import MeasuredPass, fold_passes, measure_passes
from assay.tools.bonnie.settings import Settings
from assay.tools.bonnie.table import table
from assay.tools.front_end import Output
from assay.tools.over_clients import Fold

if TYPE_CHECKING:
    from assay.report.figure import Figure


class BonnieOutput(Output[Settings]):
    """What bonnie++ prints."""

    @cached_property
    def everything(self) -> tuple[MeasuredPass, ...]:
        """The result of every repeat."""
        return measure_passes(self.run, self.settings)

    def text(self) -> str:
        """Print table and CSV line, or CSV lines alone with -q and -x."""
        return _text(self.settings, self.everything)

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print each test of the mean, the slowest and the fastest client, named so in the column of the machine."""
        repeats = [*zip(*(output.everything for output in outputs), strict=True)]
        return {
            fold.label(len(outputs)): _text(self.settings, [fold_passes(passes, fold) for passes in repeats])
            for fold in Fold
        }

    def stderr_notes(self) -> str:
        """Print the table with -q, as bonnie++ does, and report what its output omits or gets wrong."""
        has_table = self.settings.is_quiet and self.settings.runs is None
        shown = table(self.everything[0]) if has_table else ""
        return shown + "".join(f"{note}\n" for note in _notes(self.settings))

    def figures(self) -> "Sequence[Figure]":
        """Draw the rate of each test with its slowest operation next to it."""
        # Drawing needs the extra 'report'; the text does not.
        from assay.tools.bonnie.figures import figures_of  # noqa: PLC0415

        return figures_of(self.everything)


def _text(settings: Settings, everything: Sequence[MeasuredPass]) -> str:
    if settings.runs is not None:
        head = [] if settings.is_old else [header(settings.version)]
        return "".join(f"{line}\n" for line in (*head, *(line_of(one) for one in everything if one.tests)))
    line = f"{line_of(everything[0])}\n"
    return line if settings.is_quiet else table(everything[0]) + line


def _notes(settings: Settings) -> Iterator[str]:
    if settings.is_direct:
        yield "bonnie -D: as in the original only block writes are direct; all else goes through the page cache"
    if settings.concurrency > 1:
        yield f"bonnie -c {settings.concurrency}: only a label, as in the original; one run was active"
    if settings.is_old and settings.size_mib and not settings.has_fsync:
        yield (
            "bonnie 1.03 does not flush before it closes: its write rates hold what the cache took, and are not comparable "
            "with those of later versions"
        )


OUTPUT = BonnieOutput
