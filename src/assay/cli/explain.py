"""`assay explain`: explain one result in detail."""

from typing import Annotated

import typer

from assay.cli.answers import answer_of
from assay.cli.options import Energy, OneClient, RunReference, Runs, metered, refuse_foreign


def explain(
    run: RunReference = "last",
    about: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROW|ID]",
            help="Row number or label, or the id of a finding [default: a summary of the run].",
        ),
    ] = None,
    thresholds: Annotated[
        bool,
        typer.Option("--thresholds", help="Print all thresholds, and nothing about a run."),
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
    """Explain a result: method, what served it, what limited it, and thresholds."""
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
    from assay.bundle.damage import report_damage
    from assay.console import console
    from assay.live.analysis_progress import document_with_progress
    from assay.report.explain.earlier_runs import RatesByLabel, earlier_rates
    from assay.report.explain.story import story

    out = console()
    with report_damage(bundle.path):
        recorded = metered(read(bundle), energy)
        document = document_with_progress(recorded)
        if client is not None:
            document, recorded = client_alone(document, recorded, client)

        def earlier() -> RatesByLabel:
            if client is not None:
                return {}
            return earlier_rates(document, lambda folder: answer_of(str(folder), folder.parent).document)

        out.print(
            Text("\n").join(story(document, recorded, about, out.width, earlier, clients=clients)), soft_wrap=True
        )


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
