"""`assay ls`: which runs are there."""

from typing import TYPE_CHECKING

from assay.cli.options import Json, Runs
from assay.cli.pipes import say

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from assay.bundle.catalog import RunSummary


def ls(json: Json = False, runs: Runs = None) -> None:
    """List the runs, newest first."""
    import msgspec

    from assay.bundle.catalog import list_runs, runs_directory
    from assay.console import console
    from assay.outward import json_text

    found = list_runs(runs_directory(runs), _exit_code)
    if json:
        say(json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()))
    else:
        console().print(_table(found))


def _exit_code(folder: "Path") -> int:
    """Work out what the command that made a run ended with; raises BundleError where it is damaged."""
    from assay.analysis.document import document
    from assay.analysis.record import read
    from assay.bundle import RunBundle
    from assay.bundle.damage import damage_told

    bundle = RunBundle.open(folder)
    bundle.verify()
    with damage_told(folder):
        return document(read(bundle)).run.exit_code


def _table(found: "tuple[RunSummary, ...]") -> "Table":
    from rich.table import Table

    from assay.outward import one_line

    table = Table(box=None, pad_edge=False)
    for title in ("Run", "Load", "Target", "State"):
        table.add_column(title, overflow="fold", no_wrap=title == "Run")
    table.add_column("Exit", justify="right")
    table.add_column("Seconds", justify="right")
    for run in found:
        exit_code = "" if run.exit_code is None else str(run.exit_code)
        seconds = "" if run.seconds is None else f"{run.seconds:.1f}"
        table.add_row(*map(one_line, (run.run_id, run.name, run.target, run.state, exit_code, seconds)))
    return table
