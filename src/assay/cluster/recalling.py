"""From a run, and the clients that a command line names, to a run that has what they kept.

Who is not a client of the run is refused before anything is started, and who is whole in it is not called. One that
cannot be reached does not keep the others from being collected.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet
from assay.cluster.asked import ClientsAsked
from assay.cluster.collecting import Collected, collect, is_whole, to_complete
from assay.cluster.connection import Connection
from assay.cluster.gathering import NOT_STARTED, NOTHING_MEASURED, connect
from assay.errors import InputError, RunError


def recall(bundle: RunBundle, asked: ClientsAsked, runs: Path, report: Callable[[str], None]) -> Collected:
    """Reach the clients and collect what they kept.

    Args:
        bundle: A run of several clients.
        asked: Who is to be asked for what they have.
        runs: Where a run is made that has more than a sealed one.
        report: Receives a line on the progress.

    Raises:
        BundleError: the run is damaged.
        InputError: a name is that of no client of the run.
        RunError: the run is under way, cannot be written, or none of the clients can be reached.
    """
    found = bundle.client_set()
    assert found is not None  # noqa: S101 - whoever calls has looked
    _refuse_strangers(bundle, found, asked)
    with to_complete(bundle) as run:
        whole = {member.name for member in found.members if is_whole(run, member)}
        named = [host.name for host in asked.hosts if host.name in whole]
        if asked.hosts and len(named) == len(asked.hosts):
            return Collected(bundle=run, clients=(), whole=tuple(named), failed={}, remarks=())
        others = dataclasses.replace(asked, hosts=tuple(host for host in asked.hosts if host.name not in whole))
        with _connect(others, report) as (connections, failed):
            came = collect(run, connections, runs, report)
    return dataclasses.replace(came, whole=(*named, *came.whole), failed={**failed, **came.failed})


def _refuse_strangers(bundle: RunBundle, found: ClientSet, asked: ClientsAsked) -> None:
    known = {member.name for member in found.members}
    if strangers := [host.name for host in asked.hosts if host.name not in known]:
        raise InputError(
            f"collect: '{strangers[0]}' is not a client of {bundle.run_id}, in which they are called {found.named}"
        )


@contextlib.contextmanager
def _connect(asked: ClientsAsked, report: Callable[[str], None]) -> Iterator[tuple[list[Connection], dict[str, str]]]:
    """Give all clients as one connection; else each that can be reached by itself, and why the others cannot.

    Raises:
        RunError: none can be reached.
    """
    with contextlib.ExitStack() as opened:
        connections: list[Connection] = []
        failed: dict[str, str] = {}
        try:
            connections.append(opened.enter_context(connect(asked, report)))
        except RunError as error:
            if len(asked.hosts) < 2:
                raise RunError(f"{_about_fetching(error)}. Nothing was fetched") from error
            report("not every client can be reached; now each by itself")
            for host in asked.hosts:
                one = dataclasses.replace(asked, hosts=(host,))
                try:
                    connections.append(opened.enter_context(connect(one, report)))
                except RunError as alone:
                    failed[host.name] = _about_fetching(alone).removeprefix(f"{NOT_STARTED}. {host.name}: ")
        if not connections:
            raise RunError("none of the clients can be reached; what they have stays there")
        yield connections, failed


def _about_fetching(error: RunError) -> str:
    """Explain why clients cannot be reached, without what that means for a run that is about to be measured."""
    return str(error).replace(f". {NOTHING_MEASURED}", "")
