"""Format the command that fetches what lost clients have on their machines."""

import ipaddress
from collections.abc import Iterator, Sequence

from assay.report.clients.client_words import lost_of
from assay.results import ClientOfRun, Document
from assay.units import format_names

_SSH, _LOCAL, _JOINED = "ssh", "local", "joined"


def collect_words(document: Document) -> Iterator[str]:
    """Describe what can be fetched; empty if nothing."""
    waiting = [client for client in lost_of(document) if not client.is_complete]
    joined = [client for client in waiting if client.reached is not None and client.reached.way == _JOINED]
    others = [client for client in waiting if client not in joined]
    collect = f"assay collect {document.run.id}"
    if others:
        yield f"what they recorded is on their machines: {_by_hosts(collect, others)}"
    if joined:
        yield (
            f"what they recorded is on their machines: '{collect} --join FILE --clients {len(joined)}', and there "
            f"'assay worker --join FILE --name NAME' by the names that they had ({_names(joined)})"
        )


def _by_hosts(collect: str, clients: Sequence[ClientOfRun]) -> str:
    users = {client.reached.user for client in clients if client.reached is not None and client.reached.way == _SSH}
    if len(users) > 1 or any(client.reached is not None and client.reached.needs_file for client in clients):
        return f"'{collect} --hosts FILE', where FILE is a hosts file with user, port and python of {_names(clients)}"
    user = next(iter(users), None)
    return f"'{collect} --hosts {','.join(map(_word, clients))}{f' --ssh-user {user}' if user else ''}'"


def _names(clients: Sequence[ClientOfRun]) -> str:
    return format_names([client.name for client in clients])


def _word(client: ClientOfRun) -> str:
    """Write a client as `--hosts` takes it."""
    if client.reached is None:
        return f"{client.name}=local" if _is_here(client.address) else client.name
    if client.reached.way == _LOCAL:
        return f"{client.name}=local"
    return client.name if client.reached.address == client.name else f"{client.name}={client.reached.address}"


def _is_here(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
