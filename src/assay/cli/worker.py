"""`assay worker --join FILE`: serve as a client of a run that another machine leads."""

from pathlib import Path
from typing import Annotated

import typer


def worker(
    join: Annotated[
        Path,
        typer.Option("--join", metavar="FILE", help="The run's join.json or its directory, written by the leader."),
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of this client [default: the host name].")
    ] = None,
    observer: Annotated[
        bool, typer.Option("--observer", help="Record this machine's counters without making load.")
    ] = False,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="ADDR",
            help="IP address of this machine [default: the one towards the leader].",
        ),
    ] = None,
    interface: Annotated[
        str | None, typer.Option("--interface", metavar="IF", help="Interface whose address to use.")
    ] = None,
    insecure_as_root: Annotated[
        bool,
        typer.Option(
            "--insecure-as-root",
            help="Join a leader without keys as root. Unsafe: see --insecure.",
        ),
    ] = False,
    idle: Annotated[
        str, typer.Option("--idle", metavar="TIME", help="Exit after this time without a request.")
    ] = "45min",
) -> None:
    """Serve as a client of a run that another machine leads, until the run ends.

    Anyone with the join directory's key can act as you through this client: protect it like an ssh key.
    """
    from assay.bundle.client_set import Role
    from assay.cluster.worker_process import run_worker
    from assay.errors import InputError
    from assay.units import parse_seconds

    if address is not None and interface is not None:
        raise InputError("--address and --interface exclude each other; give one of them")
    run_worker(
        join,
        name=name,
        role=Role.OBSERVER if observer else Role.LOAD,
        address=address if address is not None else interface,
        idle_s=parse_seconds(idle),
        insecure_as_root=insecure_as_root,
    )
