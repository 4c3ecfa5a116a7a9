"""Which hosts are this machine? Every other one is refused."""

from collections.abc import Mapping, Sequence

from assay.tools.vdbench import values
from assay.tools.vdbench.keywords import Known
from assay.tools.vdbench.text import Definition, GivenParameter

_LOCAL = ("localhost", "127.0.0.1", "*")


def local_hosts(definitions: Sequence[Definition], known: Known) -> frozenset[str]:
    """Names of this machine; every other one is refused."""
    names = {*_LOCAL}
    for definition in definitions:
        if definition.kind != "hd":
            continue
        own = known.take("hd", definition.parameters)
        system = own["system"].single if "system" in own else definition.name
        if system not in (*_LOCAL, "default"):
            place = own["system"].place if "system" in own else definition.place
            raise place.error(
                f"hd={definition.name}: '{system}' is another host. Assay's own clients come later; run the file there, or"
                " write system=localhost"
            )
        names.add(definition.name)
    return frozenset(names)


def check_host(own: Mapping[str, GivenParameter], hosts: frozenset[str]) -> None:
    """Refuse a definition for a host that is not this machine."""
    if parameter := own.get("host"):
        for host in parameter.values:
            if not values.matching(host, hosts):
                raise parameter.error(
                    f"no hd= names '{host}'; here is localhost alone, and Assay's own clients come later"
                )
