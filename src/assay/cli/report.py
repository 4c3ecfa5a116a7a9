"""`assay report`: write the run as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Energy, OneClient, RunReference, Runs, metered, refuse_foreign
from assay.cli.pipes import say

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
    from assay.bundle.damage import damage_told
    from assay.report.html import default_path, write_html
    from assay.report.kept_answers import kept_answer
    from assay.tools import registry

    with damage_told(bundle.path):
        recorded = metered(read(bundle), energy)
        kept = kept_answer(bundle.path, runs_directory(runs)) if energy is None else None
        judged = kept.document if kept else _judged(recorded)
        usual = default_path(recorded.run_id)
        if client is not None:
            usual = default_path(f"{recorded.run_id}-{client}")
            judged, recorded = client_alone(judged, recorded, client)
        of_tool = registry.figures(recorded, judged)
        path = write_html(recorded, judged, output or usual, of_tool=of_tool)
    say(path)


def _judged(recorded: "RunRecord") -> "Document":
    """Work the results out, where nobody kept them."""
    from assay.live.judging_told import document_told

    return document_told(recorded)
