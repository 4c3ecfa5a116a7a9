"""`assay report`: write the run as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Energy, OneClient, RunReference, Runs, metered, refuse_foreign
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord
    from assay.results import Document


def report(
    run: RunReference = "last",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write [default: ./assay-RUN.html].")
    ] = None,
    client: OneClient = None,
    energy: Energy = None,
    runs: Runs = None,
) -> None:
    """Write the HTML report of a run, which needs no network; prints its path."""
    import gc

    from assay.bundle.catalog import open_run, runs_directory

    gc.disable()  # a page is many small values and no circles: looking for those takes a tenth of the time
    bundle = open_run(run, runs)
    refuse_foreign("report", bundle)
    from assay.analysis.client_records import client_alone
    from assay.analysis.record import read
    from assay.bundle.damage import report_damage
    from assay.report.html import default_path, write_html
    from assay.report.kept_answers import kept_answer
    from assay.tools import registry

    with report_damage(bundle.path):
        recorded = metered(read(bundle), energy)
        kept = kept_answer(bundle.path, runs_directory(runs)) if energy is None else None
        document = kept.document if kept else _document_of(recorded)
        usual = default_path(recorded.run_id)
        if client is not None:
            usual = default_path(f"{recorded.run_id}-{client}")
            document, recorded = client_alone(document, recorded, client)
        of_tool = registry.figures(recorded, document)
        path = write_html(recorded, document, output or usual, of_tool=of_tool)
    echo(path)


def _document_of(recorded: "RunRecord") -> "Document":
    """Work the results out, where nobody kept them."""
    from assay.live.analysis_progress import document_with_progress

    return document_with_progress(recorded)
