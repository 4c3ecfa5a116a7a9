"""`assay explain`: the story of one number, one level deeper."""

from typing import Annotated

import typer

from assay.cli.options import Energy, OneClient, RunReference, Runs, metered, refuse_foreign


def explain(
    run: RunReference = "last",
    about: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROW|ID]",
            help="A row of `assay show`, by number or label, or the id of a finding [default: the run in short].",
        ),
    ] = None,
    thresholds: Annotated[
        bool,
        typer.Option("--thresholds", help="Print every threshold that numbers are judged by, and nothing of a run."),
    ] = False,
    invariants: Annotated[
        bool,
        typer.Option("--invariants", help="Print the table that results are placed by, with sources."),
    ] = False,
    clients: Annotated[
        int,
        typer.Option(
            "--clients", min=1, max=1_000_000, metavar="N", help="Work out what N clients like this one need."
        ),
    ] = 10,
    client: OneClient = None,
    energy: Energy = None,
    runs: Runs = None,
) -> None:
    """Explain a number: how it is known, what it is of, what limited it, what would change it, and what was judged by."""
    if thresholds:
        _print_thresholds()
        return
    if invariants:
        _print_invariants()
        return
    from assay.bundle.catalog import open_run

    bundle = open_run(run, runs)
    refuse_foreign("explain", bundle)
    from rich.text import Text

    from assay.analysis.client_records import client_alone
    from assay.analysis.record import read
    from assay.bundle.damage import damage_told
    from assay.console import console
    from assay.live.judging_told import document_told
    from assay.report.explain.story import story

    out = console()
    with damage_told(bundle.path):
        recorded = metered(read(bundle), energy)
        judged = document_told(recorded)
        if client is not None:
            judged, recorded = client_alone(judged, recorded, client)
        out.print(Text("\n").join(story(judged, recorded, about, out.width, clients=clients)), soft_wrap=True)


def _print_thresholds() -> None:
    from rich.text import Text

    from assay.console import console
    from assay.report.explain.story import thresholds_story

    out = console()
    out.print(Text("\n").join(thresholds_story(out.width)), soft_wrap=True)


def _print_invariants() -> None:
    from rich.text import Text

    from assay.console import console
    from assay.invariants.invariant_table import load
    from assay.report.explain.invariants_story import invariants_story

    out = console()
    out.print(Text("\n").join(invariants_story(load(), out.width)), soft_wrap=True)
