"""From the clients that a command line asks for to a crew that is there."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.bundle.client_set import Role
from assay.cluster.asked import ClientsAsked
from assay.cluster.crew import Crew

JOIN_S = 120.0
"""Workers that this command starts are there by then, or are not coming."""
JOIN_BY_HAND_S = 1800.0
"""Those that a person or a queue starts may take longer."""


@contextlib.contextmanager
def gathered(asked: ClientsAsked, told: Callable[[str], None]) -> Iterator[Crew]:
    """Start the workers that are asked for, wait for all, and give the crew; at the end nothing of it is left.

    Raises:
        InputError: the extra that this needs is not installed.
        RunError: a client cannot be started, or does not join in time; the text names it.
    """
    from assay.cluster.launch import launch  # noqa: PLC0415 - they need the libraries that one machine does without
    from assay.cluster.lead import Lead  # noqa: PLC0415

    roles = {host.name: Role.LOAD for host in asked.hosts} | {host.name: Role.OBSERVER for host in asked.observers}
    with contextlib.ExitStack() as opened:
        folder = asked.join.parent if asked.join else Path(opened.enter_context(_folder()))
        lead = opened.enter_context(Lead(address=asked.interface, join_folder=folder, insecure=asked.is_insecure))
        launched = opened.enter_context(launch((*asked.hosts, *asked.observers), folder, roles, told))
        if asked.join:
            told(f"waiting for {asked.clients} workers: assay worker --join {asked.join}")
        crew = lead.gather(
            roles,
            others=asked.clients,
            timeout_s=JOIN_BY_HAND_S if asked.join else JOIN_S,
            told=told,
            faults=launched.faults,
        )
        opened.callback(crew.close)
        yield crew


def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="assay-join-")
