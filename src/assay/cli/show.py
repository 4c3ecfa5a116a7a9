"""`assay show`: show the results of a run."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.answers import answer_of, one_client, several_clients
from assay.cli.options import Energy, Json, OneClient, RunReference, Runs
from assay.cli.pipes import echo
from assay.errors import InputError

Classic = Annotated[
    bool,
    typer.Option("--classic", help="Print the output in the classic tool's own format."),
]
Notes = Annotated[bool, typer.Option("--notes", help="Print notes in full.")]

Repeats = Annotated[bool, typer.Option("--repeats", help="Print a row for each repeat, too.")]

Clients = Annotated[
    bool,
    typer.Option("--clients", help="Print each client's share of every sum, and its clock."),
]


def show(
    run: RunReference = "last",
    json: Json = False,
    classic: Classic = False,
    notes: Notes = False,
    repeats: Repeats = False,
    client: OneClient = None,
    clients: Clients = False,
    energy: Energy = None,
    runs: Runs = None,
) -> None:
    """Show the results of a run; of an interrupted run those until it ended."""
    if json and classic:
        raise InputError("--json and --classic: choose one")
    if client is not None and clients:
        raise InputError("--client and --clients: choose one")
    if clients and (json or classic):
        raise InputError(f"--clients and {'--json' if json else '--classic'}: choose one; --json has every client")
    if energy and classic:
        raise InputError("--energy and --classic: choose one; a classic tool has no energy to print")
    if classic:
        _show_classic(run, runs, client)
        return
    if client is not None:
        shown = one_client(run, client, runs, energy)
    else:
        shown = answer_of(run, runs, energy, sums_will_do=not (json or clients))
    if json:
        from assay.results import to_json

        echo(to_json(shown.document))
        return
    from assay.console import console

    if clients:
        from assay.report.clients.clients_table import render_clients

        render_clients(several_clients(shown), console())
    else:
        from assay.report import text

        text.render(shown.document, shown.head, console(), has_notes=notes, has_repeats=repeats)


def _show_classic(run: str, runs: Path | None, client: str | None) -> None:
    from assay.analysis.client_records import record_of_client
    from assay.analysis.record import read
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import report_damage
    from assay.tools import registry

    bundle = open_run(run, runs)
    if client is None and (original := bundle.original()) is not None:
        echo(original.text, end="")
        return
    with report_damage(bundle.path):
        recorded = read(bundle)
        output = registry.output_of(recorded if client is None else record_of_client(recorded, client))
        echo(output.text(), end="")
        echo(output.stderr_notes(), end="", err=True)
