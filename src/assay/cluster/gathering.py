"""Connect the clients that a command line asks for."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator

from assay.bundle.client_set import Role
from assay.cluster.asked import ClientsAsked
from assay.cluster.connection import Connection
from assay.cluster.left_folders import LEADERS
from assay.errors import RunError
from assay.own_files import scratch_place
from assay.units import format_seconds

LOOPBACK = "127.0.0.1"
NOT_STARTED = "not every client could be started"
NOTHING_MEASURED = "Nothing was measured"
_INSECURE = "Warning: --insecure: without keys each user of this machine can do anything as you until the run is over"
JOIN_S = 120.0
"""Workers that this command starts are there by then, or are not coming."""


@contextlib.contextmanager
def connect(
    asked: ClientsAsked, report: Callable[[str], None], progress: Callable[[str], None] | None = None
) -> Iterator[Connection]:
    """Start the workers that are asked for, wait for all, and give their connection; at the end nothing of it is left.

    Args:
        asked: Who.
        report: Receives a line on what happens.
        progress: Receives who has joined so far, repeatedly; None: as `report`.

    Raises:
        InputError: the extra that this needs is not installed.
        RunError: a client cannot be started, or does not join in time; the text names it.
    """
    from assay.cluster.launch import launch  # noqa: PLC0415 - they need the libraries that one machine does without
    from assay.cluster.lead import Lead  # noqa: PLC0415

    hosts = (*asked.hosts, *asked.observers)
    roles = {host.name: Role.LOAD for host in asked.hosts} | {host.name: Role.OBSERVER for host in asked.observers}
    address = asked.interface
    if address is None and hosts and all(host.address is None for host in hosts):
        address = LOOPBACK
    if asked.is_insecure:
        sys.stderr.write(f"{_INSECURE}\n")
    with contextlib.ExitStack() as opened:
        # The leader makes it, and removes it once all have joined: a leader that is killed later leaves none behind.
        folder = asked.join or scratch_place() / f"{LEADERS}{secrets.token_hex(8)}"
        lead = opened.enter_context(Lead(address, folder, asked.is_insecure))
        launched = opened.enter_context(
            launch(
                hosts,
                folder,
                roles,
                report,
                ssh_user=asked.ssh_user,
                insecure_as_root=asked.is_insecure and os.geteuid() == 0,
            )
        )

        def waiting(line: str | None = None) -> None:
            """Give up where a worker could not be started, or has ended before it joined."""
            if faults := launched.faults():
                reasons = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
                raise RunError(f"{NOT_STARTED}. {reasons}. {NOTHING_MEASURED}")
            if line is not None:
                (progress or report)(line)

        waiting()
        if asked.join:
            longest = format_seconds(asked.join_wait_s)
            report(f"waiting up to {longest} for {asked.clients} workers: assay worker --join {lead.join_file}")
            connection = lead.gather(asked.clients, asked.join_wait_s, report, waiting)
        else:
            connection = lead.gather(roles, JOIN_S, report, waiting)
        launched.report_faults()
        opened.callback(connection.close)
        if asked.has_echo:
            connection.use_echoes()
        yield connection
