"""`assay report`: the run as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Energy, RunReference, Runs, metered
from assay.cli.pipes import say


def report(
    run: RunReference = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write [default: ./assay-RUN.html].")
    ] = None,
    energy: Energy = None,
    runs: Runs = None,
) -> None:
    """Write the report of a run as one HTML file that needs no network, and print its path."""
    from assay.analysis.document import document
    from assay.analysis.record import read
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import damage_told
    from assay.report.html import default_path, write_html
    from assay.tools import registry

    bundle = open_run(run, runs)
    with damage_told(bundle.path):
        recorded = metered(read(bundle), energy)
        of_tool = registry.figures(recorded)
        path = write_html(recorded, document(recorded), output or default_path(recorded.run_id), of_tool=of_tool)
    say(path)
