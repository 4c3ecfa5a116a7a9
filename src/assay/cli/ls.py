"""`assay ls`: list runs."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, Runs
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from assay.bundle.kept_list import RunOutcome

_MANY = 10
"""Number of runs to assess after which a message is due."""
_PATTERN = "may have * and ?"


def ls(
    load: Annotated[
        str | None, typer.Option("--load", metavar="NAME", help=f"List only runs of this load; {_PATTERN}.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="DIR", help="List only runs in this directory or below it.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="List only runs since a date (2026-11-24), or age: 3h, 2d."),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help=f"List only runs with this tag; {_PATTERN}. Repeatable."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help=f"List only runs of this name; {_PATTERN}.")
    ] = None,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """List runs, newest first, each with one rate and its trust.

    The rate is that of the most trusted result; among equals storage comes before memory, then the highest rate.
    """
    import datetime as dt
    import sys

    import msgspec

    from assay.bundle.catalog import list_runs, runs_directory
    from assay.bundle.chosen import chosen
    from assay.outward import json_text

    now = dt.datetime.now().astimezone()
    is_wanted = chosen(load=load, target=target, since=since, tags=tag or (), name=name, now=now)
    place = runs_directory(runs)
    found = list_runs(place, RunAssessor(), is_wanted=is_wanted)
    if json:
        echo(json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()))
    elif not found:
        echo(
            f"there is no such run in {place}" if any((load, target, since, tag, name)) else f"no run in {place} yet",
            err=True,
        )
    else:
        import shutil

        from assay.report.run_list import lines

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        echo("\n".join(lines(found, width, now)))


class RunAssessor:
    """Assess runs for the list; the analysis is loaded with the first run."""

    def __init__(self) -> None:
        """Assess nothing yet."""
        self._assessed = 0

    @functools.cached_property
    def version(self) -> str:
        """Of the rules."""
        from assay.analysis.rules_version import rules_version

        return rules_version()

    def __call__(self, folder: Path) -> "RunOutcome":
        """Assess a sealed run; raises BundleError where it is damaged."""
        from assay.analysis.document import document
        from assay.analysis.record import read
        from assay.bundle import RunBundle
        from assay.bundle.damage import report_damage
        from assay.report.in_one_line import outcome_of

        self._assessed += 1
        if self._assessed == _MANY:
            echo("working out what the runs came to, once for each", err=True)
        bundle = RunBundle.open(folder)
        bundle.verify()
        with report_damage(folder):
            return outcome_of(document(read(bundle)))
