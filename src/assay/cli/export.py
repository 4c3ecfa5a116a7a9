"""`assay export`: the figures as pictures, the run as one file."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import RunReference, Runs


def export(
    run: RunReference = "last",
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIR", help="Write every figure as a picture into this folder.")
    ] = None,
    picture_format: Annotated[Literal["png", "svg"], typer.Option("--format", help="What pictures to write.")] = "png",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Pack the whole run into this .tar.gz.")
    ] = None,
    runs: Runs = None,
) -> None:
    """Write a run's figures as PNG or SVG, or the run itself as one archive, and print the paths."""
    from assay.bundle import RunBundle  # noqa: PLC0415 - a command pays only for what it uses
    from assay.catalog import resolve, runs_directory  # noqa: PLC0415
    from assay.errors import InputError  # noqa: PLC0415

    if charts is None and output is None:
        raise InputError(
            "export: nothing to write. Say --charts DIR for pictures, -o FILE.tar.gz for the run, or both."
        )
    bundle = RunBundle.open(resolve(run, runs_directory(runs)))
    bundle.verify()
    if output is not None:
        from assay.report.archive import write_archive  # noqa: PLC0415

        typer.echo(write_archive(bundle, output))
    if charts is not None:
        from assay.analysis.document import document  # noqa: PLC0415
        from assay.report.export import PictureFormat, write_charts  # noqa: PLC0415

        for path in write_charts(bundle, document(bundle), charts, PictureFormat(picture_format)):
            typer.echo(path)
