"""IOzone's output: its text, its worksheet and latency files, and its surfaces drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.record import RunRecord
from assay.report.worksheet import write_worksheet
from assay.tools.files import OutputFile
from assay.tools.iozone import banner, latency
from assay.tools.iozone import single_text as single
from assay.tools.iozone import throughput_text as throughput
from assay.tools.iozone.values import Measured

if TYPE_CHECKING:
    from assay.report.figure import Figure


def text(run: RunRecord) -> str:
    """Print what IOzone prints; of a run that was cut, what was measured."""
    measured = Measured.of(run)
    numbers = throughput.text(measured) if measured.settings.is_throughput else single.text(measured)
    return banner.text(run, measured.settings) + numbers


def files(run: RunRecord) -> Sequence[OutputFile]:
    """Make the files that the command line asks for: the worksheet of -b, the latency files of -Q."""
    measured = Measured.of(run)
    made: list[OutputFile] = []
    if measured.settings.sheet:
        path = Path(measured.settings.sheet)
        entries = throughput.sheet(measured) if measured.settings.is_throughput else single.sheet(measured)
        made.append(OutputFile(path, write_worksheet(entries, path.suffix)))
    if measured.settings.latency_files:
        made += latency.files(measured)
    return made


def figures(run: RunRecord) -> Sequence["Figure"]:
    """Draw the surfaces of the matrix, or the rates of the children."""
    from assay.tools.iozone import surfaces  # noqa: PLC0415 - it needs the charting library

    return surfaces.figures(Measured.of(run))
