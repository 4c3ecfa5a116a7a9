"""`assay show`: what a run measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Energy, Json, RunReference, Runs, metered
from assay.cli.pipes import say
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.report.kept_answers import KeptAnswer

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
    from assay.console import console
    from assay.report import text
    from assay.results import to_json

    if json and classic:
        raise InputError("--json and --classic: choose one")
    if energy and classic:
        raise InputError("--energy and --classic: choose one; a classic tool has no energy to print")
    if classic:
        _show_classic(run, runs)
        return
    shown = _answer(run, runs, energy)
    if json:
        say(to_json(shown.document))
    else:
        text.render(shown.document, shown.head, console(), has_notes=notes)


def _show_classic(run: str, runs: Path | None) -> None:
    from assay.analysis.record import read
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import damage_told
    from assay.tools import registry

    bundle = open_run(run, runs)
    with damage_told(bundle.path):
        output = registry.output_of(read(bundle))
        say(output.text(), end="")
        say(output.beside(), end="", err=True)


def _answer(run: str, runs: Path | None, energy: Path | None) -> "KeptAnswer":
    """Find the answer that was worked out when the run was made, or work it out."""
    from assay.bundle.catalog import resolve, runs_directory
    from assay.report.kept_answers import KeptAnswer, keep_answer, kept_answer

    place = runs_directory(runs)
    folder = resolve(run, place)
    if energy is None and (kept := kept_answer(folder, place)):
        return kept
    from assay.analysis.document import document
    from assay.analysis.record import read
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import damage_told
    from assay.report.head import head_of

    bundle = open_run(str(folder), runs)
    with damage_told(bundle.path):
        recorded = metered(read(bundle), energy)
        judged = document(recorded)
        answer = KeptAnswer(document=judged, head=head_of(judged, recorded))
    if energy is None:
        keep_answer(folder, place, answer)
    return answer
