"""`assay show`: what a run measured."""

from assay.cli.options import Json, RunReference, Runs


def show(run: RunReference = "last", json: Json = False, runs: Runs = None) -> None:
    """Show what a run measured; one that died shows what it had measured until then."""
    from rich.console import Console

    from assay.analysis.document import document
    from assay.report import text
    from assay.session import open_run, print_json

    bundle = open_run(run, runs)
    shown = document(bundle)
    if json:
        print_json(shown)
    else:
        text.render(shown, bundle, Console())
