"""Which clients of a set share a machine? Those that give the same hostname, machine id, kernel, CPUs and memory.

Limits: containers on one machine have hostnames of their own, and are taken for machines; copies of a machine that have one
name are taken for one.
"""

from collections.abc import Hashable, Mapping

from assay import events
from assay.analysis.of_client import ClientView
from assay.bundle.client_set import ClientSet, Member
from assay.host.facts import MACHINE_ID_FACT


def machines_of(found: ClientSet, views: Mapping[str, ClientView]) -> list[tuple[str, ...]]:
    """Name the clients of each machine that has several which make load."""
    by_machine: dict[Hashable, list[str]] = {}
    for member in found.loads:
        hello = next((event for event in views[member.name].happened if isinstance(event, events.Hello)), None)
        by_machine.setdefault(machine_of(member, hello), []).append(member.name)
    return [tuple(names) for names in by_machine.values() if len(names) > 1]


def machine_of(member: Member, hello: events.Hello | None) -> Hashable:
    """Tell a machine from others: members that give the same are taken to be on one."""
    size = (hello.machine.kernel, hello.machine.cpus, hello.machine.ram_bytes) if hello else None
    identity = next((fact.value for fact in member.facts if fact.key == MACHINE_ID_FACT), None)
    return (member.hostname, identity, size) if member.hostname else member.name
