"""Record how each client of a run is reached, so that it can be reached again."""

from collections.abc import Iterable

from assay.bundle.client_set import Reached, ReachedBy, is_plain_word
from assay.cluster.asked import ClientsAsked
from assay.cluster.hosts import HostSpec


def reached_by_name(asked: ClientsAsked, clients: Iterable[str]) -> dict[str, Reached]:
    """Describe it for clients by their names."""
    hosts = {host.name: host for host in (*asked.hosts, *asked.observers)}
    return {
        name: _of_host(hosts[name], asked.ssh_user) if name in hosts else Reached(way=ReachedBy.JOINED)
        for name in clients
    }


def _of_host(host: HostSpec, ssh_user: str | None) -> Reached:
    if host.address is None:
        return Reached(way=ReachedBy.LOCAL, needs_file=host.python is not None)
    user = host.user or ssh_user
    is_sayable = user is None or is_plain_word(user)
    return Reached(
        way=ReachedBy.SSH,
        address=host.address,
        user=user if is_sayable else None,
        needs_file=host.port is not None or host.python is not None or not is_sayable,
    )
