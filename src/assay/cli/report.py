"""`assay report`: the run as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import RunReference, Runs


def report(
    run: RunReference = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write [default: ./assay-RUN.html].")
    ] = None,
    runs: Runs = None,
) -> None:
    """Write the report of a run as one HTML file that needs no network, and print its path."""
    from assay.analysis.document import document
    from assay.bundle import RunBundle
    from assay.catalog import resolve, runs_directory
    from assay.report.html import default_path, write_html

    bundle = RunBundle.open(resolve(run, runs_directory(runs)))
    bundle.verify()
    typer.echo(write_html(bundle, document(bundle), output or default_path(bundle.run_id)))
