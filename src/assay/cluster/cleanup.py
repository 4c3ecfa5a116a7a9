"""Have clients remove what is in a sealed run: not before, because theirs is the only other copy of what they measured."""

from collections.abc import Iterable, Iterator

from assay.cluster.connection import Connection


def remove_collected(connection: Connection, clients: Iterable[str]) -> Iterator[str]:
    """Ask each client to remove the run; returns a remark for each that could not."""
    for name in clients:
        if hindered := connection.remove_run(name):
            yield f"{name}: what it recorded is in the run, and stays on its machine too: {hindered}"
