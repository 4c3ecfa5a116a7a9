"""`assay worker --join FILE`: be a client of a run that another machine leads."""

from pathlib import Path
from typing import Annotated

import typer


def worker(
    join: Annotated[
        Path, typer.Option("--join", metavar="FILE", help="join.json of the run, or its folder; the leader makes it.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What this client is called; else as its machine.")
    ] = None,
    observer: Annotated[
        bool, typer.Option("--observer", help="Count what this machine does, and make no load.")
    ] = False,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="ADDR",
            help="IP address by which others reach this machine; else that towards the leader.",
        ),
    ] = None,
    interface: Annotated[
        str | None, typer.Option("--interface", metavar="IF", help="The interface whose address that is.")
    ] = None,
    insecure_as_root: Annotated[
        bool,
        typer.Option(
            "--insecure-as-root",
            help="As root join a leader without keys too: each user of this machine can then do anything as root.",
        ),
    ] = False,
    idle: Annotated[
        str, typer.Option("--idle", metavar="TIME", help="Leave after so long in which nothing is asked of it.")
    ] = "45min",
) -> None:
    """Be a client of a run that another machine leads, until it is over.

    Who has the join folder's key can have this client do anything that you can: keep it as you keep a key of ssh.
    """
    from assay.bundle.client_set import Role
    from assay.cluster.worker_process import run_worker
    from assay.errors import InputError
    from assay.units import parse_seconds

    if address is not None and interface is not None:
        raise InputError("--address and --interface say the same; give one of them")
    run_worker(
        join,
        name=name,
        role=Role.OBSERVER if observer else Role.LOAD,
        address=address if address is not None else interface,
        idle_s=parse_seconds(idle),
        insecure_as_root=insecure_as_root,
    )
