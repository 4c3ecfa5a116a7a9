"""`assay collect RUN --hosts A,B`: fetch the records of clients that were lost, or whose leader was."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, RunReference, Runs
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from assay.cluster.collecting import Collected

Hosts = Annotated[
    str | None,
    typer.Option("--hosts", metavar="A,B|FILE", help="Names of the clients in the run."),
]
Join = Annotated[
    str | None, typer.Option("--join", metavar="FILE", help="Write FILE for workers that are started by hand.")
]
Clients = Annotated[str | None, typer.Option("--clients", metavar="N", help="With --join: wait for N workers.")]
JoinWait = Annotated[
    str | None,
    typer.Option("--join-wait", metavar="T", help="With --join: wait at most this time [default: 30min]."),
]
Interface = Annotated[
    str | None,
    typer.Option("--interface", metavar="IF|ADDR", help="Network interface or address that the clients connect to."),
]

SshUser = Annotated[
    str | None,
    typer.Option("--ssh-user", metavar="NAME", help="User for hosts without one [default: as in ~/.ssh/config]."),
]


def collect(
    run: RunReference = "last",
    hosts: Hosts = None,
    join: Join = None,
    clients: Clients = None,
    join_wait: JoinWait = None,
    interface: Interface = None,
    ssh_user: SshUser = None,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Fetch records that clients of a run still have on their machines."""
    from assay.bundle.catalog import open_run, runs_directory
    from assay.cli.clients import clients_of
    from assay.errors import InputError

    bundle = open_run(run, runs)
    of_run = bundle.client_set()
    if of_run is None:
        raise InputError(f"collect: {bundle.run_id} was measured by one machine; all that it recorded is in the run")
    by_text = {
        "hosts": hosts,
        "join": join,
        "clients": clients,
        "join_wait": join_wait,
        "interface": interface,
        "ssh_user": ssh_user,
    }
    asked = clients_of(by_text)
    if asked is None:
        raise InputError(
            "collect: name the clients with --hosts, by the names that they had in the run"
            f" ({of_run.named}), or use --join"
        )
    from assay.cluster.recalling import recall

    found = recall(bundle, asked, runs_directory(runs), lambda text: echo(text, err=True))
    _print_collected(found, bundle.run_id, as_json=json)
    raise typer.Exit(1 if found.failed else 0)


def _print_collected(found: "Collected", of: str, *, as_json: bool) -> None:
    """Print the outcome."""
    import msgspec

    from assay.outward import json_text

    for text in found.remarks:
        echo(text, err=True)
    if as_json:
        by_text = {
            "run": found.bundle.run_id,
            "collected": found.clients,
            "whole": found.whole,
            "failed": found.failed,
        }
        echo(json_text(msgspec.json.encode(by_text).decode()))
        return
    for name in found.clients:
        echo(f"{name}: collected")
    for name in found.whole:
        echo(f"{name}: is whole in {of} already")
    for name, reason in found.failed.items():
        echo(f"{name}: {reason}")
    echo(f"'assay show {found.bundle.run_id}' has the numbers")
