"""Which clients of a set share a machine? Those that give the same hostname, machine id, kernel, CPUs and memory.

Limits: containers on one machine have hostnames of their own, and are taken for machines; copies of a machine that have one
name are taken for one.
"""

from collections.abc import Hashable, Mapping

from assay import events
from assay.analysis.of_client import ClientView
from assay.bundle.client_set import ClientSet
from assay.host.facts import MACHINE_ID_FACT


def machines_of(found: ClientSet, views: Mapping[str, ClientView]) -> list[tuple[str, ...]]:
    """Name the clients of each machine that has several which make load."""
    by_machine: dict[Hashable, list[str]] = {}
    for member in found.loads:
        hello = next((event for event in views[member.name].happened if isinstance(event, events.Hello)), None)
        size = (hello.machine.kernel, hello.machine.cpus, hello.machine.ram_bytes) if hello else None
        identity = next((fact.value for fact in member.facts if fact.key == MACHINE_ID_FACT), None)
        machine = (member.hostname, identity, size) if member.hostname else member.name
        by_machine.setdefault(machine, []).append(member.name)
    return [tuple(names) for names in by_machine.values() if len(names) > 1]
