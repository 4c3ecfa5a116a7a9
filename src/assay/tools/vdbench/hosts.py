"""Read the hosts of a file, and check definitions that name some of them.

`hd=` names hosts. Where all are this machine, a load is of one; where all are others, each is a client and does all
of it: Assay's workers are started there. A definition for some of them alone is not supported.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from assay.tools.vdbench import values
from assay.tools.vdbench.keywords import Known
from assay.tools.vdbench.text import Definition, GivenParameter, SourceLine

_LOCAL = ("localhost", "127.0.0.1", "*")


@dataclasses.dataclass(frozen=True)
class Hosts:
    """What `host=` may name."""

    labels: frozenset[str]
    systems: tuple[str, ...] = ()
    """Other machines, each once; empty: the load is of this one."""


def read_hosts(definitions: Sequence[Definition], known: Known) -> Hosts:
    """Read the hosts; raises FrontEndError where some are this machine and some are not."""
    labels = {*_LOCAL}
    local: list[str] = []
    others: dict[str, SourceLine] = {}
    for definition in definitions:
        if definition.kind != "hd":
            continue
        own = known.take("hd", definition.parameters)
        if definition.name == "default" and "system" not in own:
            continue
        system = own["system"].single if "system" in own else definition.name
        if system in _LOCAL:
            local.append(definition.name)
        else:
            others.setdefault(system, definition.place)
        labels.add(definition.name)
    if not others:
        return Hosts(frozenset(labels))
    if local:
        system, place = next(iter(others.items()))
        raise place.error(
            f"hd={local[0]} is this machine and '{system}' another one; clients are started on hosts that are named, so give"
            " this one its name too, or leave it out"
        )
    return Hosts(frozenset(labels - {"localhost", "127.0.0.1"}), tuple(others))


def check_host(own: Mapping[str, GivenParameter], hosts: Hosts) -> None:
    """Refuse a definition for a host that there is not, or for some of several hosts alone."""
    if not (parameter := own.get("host")):
        return
    meant: set[str] = set()
    for host in parameter.values:
        matching = values.matching(host, hosts.labels)
        if not matching:
            raise parameter.error(f"no hd= names '{host}'; {_known(hosts)}")
        meant.update(matching)
    if hosts.systems and not meant >= hosts.labels - {"*"}:
        raise parameter.error(
            f"it is for {len(meant - {'*'})} of {len(hosts.labels - {'*'})} hosts, and every client does the same; leave"
            " host= out, or write host=*"
        )


def _known(hosts: Hosts) -> str:
    named = sorted(hosts.labels - {"*"})
    return f"there are {', '.join(named)}" if hosts.systems else "here is localhost alone"
