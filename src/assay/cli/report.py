"""`assay report`: the run as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[str, typer.Argument(help="A bundle's path, a run's id or a prefix of it, or 'last'.")] = "last",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. [default: ./assay-RUN.html]", show_default=False),
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Folder of the runs.", show_default=False)] = None,
) -> None:
    """Write the report of a run as one HTML file that needs no network, and print its path."""
    from assay.analysis.document import document  # noqa: PLC0415 - heavy imports wait until they are needed
    from assay.bundle import RunBundle  # noqa: PLC0415
    from assay.catalog import resolve, runs_directory  # noqa: PLC0415
    from assay.report.html import default_path, write_html  # noqa: PLC0415

    bundle = RunBundle.open(resolve(run, runs_directory(runs)))
    typer.echo(write_html(bundle, document(bundle), output or default_path(bundle.run_id)))
