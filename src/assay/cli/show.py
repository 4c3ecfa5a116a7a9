"""`assay show`: what a run measured."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    run: Annotated[str, typer.Argument(help="A run's path, its id, a unique part of it, or `last`.")] = "last",
    json_: Annotated[bool, typer.Option("--json", help="Print the result document.")] = False,
    runs: Annotated[Path | None, typer.Option("--runs", help="Folder that holds the runs.")] = None,
) -> None:
    """Show what a run measured; one that died shows what it had measured until then."""
    import msgspec
    from rich.console import Console

    from assay.analysis.document import document
    from assay.bundle import RunBundle, runs_directory
    from assay.catalog import resolve
    from assay.report import text

    bundle = RunBundle.open(resolve(run, runs_directory(runs)))
    bundle.verify()
    shown = document(bundle)
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2))
    else:
        text.render(shown, bundle, Console())
