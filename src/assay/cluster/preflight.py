"""Check before any file is laid out that every client can be given a start time and has room for the data.

A clock that is not read surely enough is asked for a second time: a machine that is busy may answer late once.

Only sets whose sizes are fixed, and which are written anew, are counted, and of these the most of one phase: a load that is
refused here cannot fit. What is left the engine refuses when it lays a set out. Clients that report that they are on one
machine share its file systems.
"""

from collections.abc import Hashable, Mapping, Sequence

from assay.clocks import ClockReading
from assay.cluster.clock_rules import MOST_BOUND_NS
from assay.cluster.connection import Connection
from assay.errors import RunError
from assay.host.facts import MACHINE_ID_FACT, Fact, FactValue
from assay.plan import Allocate, FileSet, Fixed, Plan, Prepare, Reuse
from assay.units import format_bytes, format_names, format_ns

_TIMES = 2
_Facts = Mapping[str, FactValue]


def read_first_clocks(connection: Connection) -> Mapping[str, ClockReading]:
    """Read every client's clock before it does anything.

    Raises:
        RunError: a clock is not known well enough to agree on a start; the text has whose, and why.
    """
    read: dict[str, ClockReading] = {}
    for _ in range(_TIMES):
        for name, found in connection.read_clocks().items():
            read[name] = min(found, read.get(name, found), key=lambda one: one.bound_ns)
        unsure = {name: read.get(name) for name in connection.clients if not _is_sure(read.get(name))}
        if not unsure:
            return read
    reasons = "; ".join(
        f"{name}: its clock {f'is known to ± {format_ns(one.bound_ns)} only' if one else 'could not be read'}"
        for name, one in unsure.items()
    )
    raise RunError(
        f"{reasons}. No start can be agreed, and nothing was laid out on any client; look at the link, or leave the client"
        " out"
    )


def _is_sure(found: ClockReading | None) -> bool:
    return found is not None and found.bound_ns <= MOST_BOUND_NS


def check_room_of_clients(
    plans: Mapping[str, Plan], seen: Mapping[str, Sequence[Fact]], hostnames: Mapping[str, str]
) -> None:
    """Refuse a run that does not fit on one of its clients.

    Args:
        plans: Of the clients that lay out their own sets, by name.
        seen: Facts of each, with its directories.
        hostnames: Of each.

    Raises:
        RunError: there is too little room; the text has each file system on which that is so.
    """
    needed: dict[Hashable, int] = {}
    free: dict[Hashable, int] = {}
    clients: dict[Hashable, list[str]] = {}
    places: dict[Hashable, FactValue] = {}
    for client, plan in plans.items():
        facts = {fact.key: fact.value for fact in seen.get(client, ())}
        for target, need_bytes in _needed_bytes(plan).items():
            place = _file_system(target, facts, hostnames[client])
            free_bytes = facts.get(f"target.{target}.fs.free_bytes")
            if not isinstance(free_bytes, int):
                continue
            usable = max(0, free_bytes - plan.reserve_bytes)
            needed[place] = needed.get(place, 0) + need_bytes
            free[place] = min(free.get(place, usable), usable)
            clients.setdefault(place, []).append(client)
            places[place] = facts.get(f"target.{target}.directory")
    short = [
        f"{format_names(list(dict.fromkeys(clients[place])))}: {format_bytes(needed[place])} are needed, and only"
        f" {format_bytes(free[place])} are free in {places[place]} above the reserve"
        for place in needed
        if needed[place] > free[place]
    ]
    if short:
        raise RunError(
            f"{'; '.join(short)}. Nothing was laid out on any client; choose a smaller size, or free some space"
        )


def _needed_bytes(plan: Plan) -> dict[str, int]:
    """Give the least that a Plan needs in each target, in the phase that lays out most there."""
    sets = {one.name: one for one in plan.file_sets}
    most: dict[str, int] = {}
    for phase in plan.phases:
        of_phase: dict[str, int] = {}
        for name in dict.fromkeys(step.set for step in phase.before if isinstance(step, Prepare)):
            of_phase[sets[name].target] = of_phase.get(sets[name].target, 0) + _set_bytes(sets[name])
        most |= {target: max(count, most.get(target, 0)) for target, count in of_phase.items()}
    return most


def _set_bytes(of: FileSet) -> int:
    is_counted = (
        isinstance(of.size, Fixed) and of.reuse is Reuse.NEVER and not of.keep and of.allocate is not Allocate.SPARSE
    )
    return int(of.size.value) * int(of.files * of.existing_share) if is_counted and isinstance(of.size, Fixed) else 0


def _file_system(target: str, facts: _Facts, hostname: str) -> Hashable:
    keys = (f"target.{target}.mount.source", f"target.{target}.fs.total_bytes", MACHINE_ID_FACT)
    return (hostname, *(facts.get(key) for key in keys))
