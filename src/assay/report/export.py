"""Write the figures of a run as pictures."""

import enum
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.analysis.record import RunRecord
from assay.analysis.set_views import sums_of
from assay.outward import drawn
from assay.report import figures, vega_lite
from assay.report.figure import Figure
from assay.report.figures import rounds
from assay.report.output import make_folder, write_whole
from assay.report.recording import Recording
from assay.report.stack import vl_convert
from assay.results import Document

_PNG_SCALE = 2.0


class PictureFormat(enum.StrEnum):
    """What `--format` takes."""

    PNG = "png"
    SVG = "svg"


def write_charts(
    run: RunRecord,
    document: Document,
    directory: Path,
    picture_format: PictureFormat,
    *,
    of_tool: Sequence[Figure] = (),
) -> list[Path]:
    """Write every figure of a run, those of its tool first, into a folder, made if need be, and give the paths.

    Raises:
        InputError: the folder is a file, or lies inside a run bundle.
        RunError: a file cannot be written, or what draws is not there.
    """
    return write_pictures(all_figures(run, document, of_tool), directory, picture_format)


def write_pictures(pictured: Iterable[Figure], directory: Path, picture_format: PictureFormat) -> list[Path]:
    """Write figures as `write_charts` does."""
    vl_convert()  # where it cannot be had, no folder is made
    make_folder(directory)
    return [
        write_whole(directory / f"{figure.slug}.{picture_format.value}", render(figure, picture_format))
        for figure in pictured
    ]


def all_figures(run: RunRecord, document: Document, of_tool: Sequence[Figure] = ()) -> Iterator[Figure]:
    """Draw everything that the report shows: first what spans clients and results, then result by result."""
    yield from of_tool
    yield from figures.clients_figures(run, document)
    document = sums_of(document)
    yield from rounds.draw(document)
    recording = Recording(run, document.marks)
    yield from figures.overview_figures(recording, document, of_tool)
    for i in range(figures.drawn_each(document.results, of_tool)):
        yield from figures.result_figures(recording, document.results, i)


def render(figure: Figure, picture_format: PictureFormat) -> bytes:
    """Draw a figure with its title, without a browser and without any network."""
    spec = drawn(figure.chart.to_dict() | {"title": {"text": figure.title, "offset": 10}})
    library, nowhere = vl_convert(), list[str]()
    if picture_format is PictureFormat.PNG:
        png: bytes = library.vegalite_to_png(spec, vega_lite.VERSION, scale=_PNG_SCALE, allowed_base_urls=nowhere)
        return png
    svg: str = library.vegalite_to_svg(spec, vega_lite.VERSION, allowed_base_urls=nowhere)
    return svg.encode()
