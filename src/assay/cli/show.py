"""`assay show`: what a run measured."""

from typing import Annotated

import typer

from assay.cli.options import Energy, Json, RunReference, Runs, metered
from assay.cli.pipes import say
from assay.errors import InputError

Classic = Annotated[
    bool, typer.Option("--classic", help="Print the output of the classic tool whose front end made the run.")
]
Notes = Annotated[bool, typer.Option("--notes", help="Print notes in full: what explains numbers that are trusted.")]


def show(
    run: RunReference = "last",
    json: Json = False,
    classic: Classic = False,
    notes: Notes = False,
    energy: Energy = None,
    runs: Runs = None,
) -> None:
    """Show what a run measured; one that died shows what it had measured until then."""
    from assay.analysis.document import document
    from assay.analysis.record import read
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import damage_told
    from assay.console import console
    from assay.report import text
    from assay.report.head import head_of
    from assay.results import to_json
    from assay.tools import registry

    if json and classic:
        raise InputError("--json and --classic: choose one")
    if energy and classic:
        raise InputError("--energy and --classic: choose one; a classic tool has no energy to print")
    bundle = open_run(run, runs)
    with damage_told(bundle.path):
        recorded = metered(read(bundle), energy)
        if classic:
            output = registry.output_of(recorded)
            say(output.text(), end="")
            say(output.beside(), end="", err=True)
            return
        shown = document(recorded)
        if json:
            say(to_json(shown))
        else:
            text.render(shown, head_of(shown, recorded), console(), has_notes=notes)
