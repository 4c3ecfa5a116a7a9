"""IOzone's output: its text, its worksheet and latency files, and its surfaces drawn."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from assay.report.worksheet import write_worksheet
from assay.tools.front_end import Output
from assay.tools.iozone import banner, latency
from assay.tools.iozone import single_text as single
from assay.tools.iozone import throughput_text as throughput
from assay.tools.iozone.settings import Settings
from assay.tools.iozone.values import Measured, OverClients
from assay.tools.output_files import OutputFile
from assay.tools.over_clients import Fold

if TYPE_CHECKING:
    from assay.report.figure import Figure
    from assay.report.verdict import Doubts


class IOzoneOutput(Output[Settings]):
    """What IOzone prints."""

    @cached_property
    def measured(self) -> Measured:
        """What the text is made from."""
        return Measured.of(self.run, self.settings)

    def text(self) -> str:
        """Print what IOzone prints; of a run that was cut, what was measured."""
        numbers = throughput.text if self.settings.is_throughput else single.text
        return banner.text(self.run, self.settings) + numbers(self.measured)

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print the table of the mean, the slowest and the fastest client; of children, all of them together."""
        parts = tuple(output.measured for output in outputs)
        if self.settings.is_throughput:
            return {f"all {len(parts)} clients": throughput.text(OverClients(parts, self.run))}
        return {fold.label(len(parts)): single.text(OverClients(parts, self.run, fold)) for fold in Fold}

    def files(self) -> Sequence[OutputFile]:
        """Make the worksheet of -b and the latency files of -Q."""
        made: list[OutputFile] = []
        if self.settings.sheet:
            path = Path(self.settings.sheet)
            sheet = throughput.sheet if self.settings.is_throughput else single.sheet
            made.append(OutputFile(path, write_worksheet(sheet(self.measured), path.suffix)))
        if self.settings.latency_files:
            made += latency.files(self.measured)
        return made

    def figures(self) -> "Sequence[Figure]":
        """Draw the surfaces of the matrix, or the rates of the children."""
        return self.marked_figures({})

    def marked_figures(self, doubts: "Doubts") -> "Sequence[Figure]":
        """Draw them with the cells marked that are less than trusted."""
        from assay.tools.iozone.figures import figures  # noqa: PLC0415 - the text does without what draws

        return figures(self.measured, doubts)


OUTPUT = IOzoneOutput
