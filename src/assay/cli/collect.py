"""`assay collect RUN --hosts A,B`: what clients recorded that were lost, or whose leader was."""

from typing import Annotated

import typer

from assay.cli.options import Json, RunReference, Runs
from assay.cli.pipes import say

Hosts = Annotated[
    str | None,
    typer.Option("--hosts", metavar="A,B|FILE", help="The clients, by the names that they had in the run."),
]
Join = Annotated[
    str | None, typer.Option("--join", metavar="FILE", help="Write FILE, by which workers join that others start.")
]
Clients = Annotated[str | None, typer.Option("--clients", metavar="N", help="With --join: so many are waited for.")]
Interface = Annotated[
    str | None, typer.Option("--interface", metavar="IF|ADDR", help="Network interface, or address, that they reach.")
]


def collect(
    run: RunReference = "last",
    hosts: Hosts = None,
    join: Join = None,
    clients: Clients = None,
    interface: Interface = None,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Fetch what clients of a run still have on their machines, once they can be reached again."""
    import sys

    import msgspec

    from assay.bundle.catalog import open_run, runs_directory
    from assay.cli.clients import clients_of
    from assay.cluster.collecting import collected
    from assay.cluster.gathering import gathered
    from assay.errors import InputError
    from assay.outward import json_text

    bundle = open_run(run, runs)
    of_run = bundle.client_set()
    if of_run is None:
        raise InputError(f"collect: {bundle.run_id} was measured by one machine; all that it recorded is in the run")
    asked = clients_of({"hosts": hosts, "join": join, "clients": clients, "interface": interface})
    if asked is None:
        raise InputError(
            "collect: name the clients with --hosts, by the names that they had in the run"
            f" ({of_run.named}), or use --join"
        )

    def tell(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    with gathered(asked, tell) as crew:
        found = collected(bundle, crew, runs_directory(runs))
    if json:
        told = {"run": found.bundle.run_id, "collected": found.clients, "missing": found.missing}
        say(json_text(msgspec.json.encode(told).decode()))
    else:
        for name in found.clients:
            say(f"{name}: collected")
        for name in found.missing:
            say(f"{name}: has nothing of {bundle.run_id}")
        say(f"'assay show {found.bundle.run_id}' has the numbers")
    raise typer.Exit(0 if found.clients else 1)
