"""What did a server's wire and disks move, of what the clients asked for?

A wire carries headers beside the data, so that it moves some percent more than was asked for; less than that came from
caches of the clients. The wire is the busiest interface. Where another one moved more than `OTHER_WIRE_SHARE` of what was
asked for, that may be the rest, or the same bytes on their way over a bridge: then less says nothing of caches. Clients on
the server's own machine reach it over no wire, so that it has no finding.

Disks that move less have a cache above them, disks that move more write journals or copies.
"""

from collections.abc import Iterable, Iterator

from assay.analysis import findings, thresholds
from assay.analysis.observed import Observed, Wires
from assay.analysis.sum_case import SumCase
from assay.results import Finding
from assay.units import format_bytes


def judge(at: SumCase) -> Iterable[Finding]:
    """Hold what clients moved against the counters of every observer; of the whole of what the phase did in a direction."""
    direction = at.case.operation.direction
    if direction is None or not at.case.window.is_resolved:
        return
    asked = at.case.record.moved_bytes(direction, at.case.window.counted)
    hosts = {at.clients[name].host for name in at.phase.clients}
    for one in at.observed if asked else ():
        is_shared = one.client.host in hosts
        yield from _of_server(one, direction, asked, None if is_shared else one.wires_for(direction))


def _of_server(one: Observed, direction: str, asked: int, wires: Wires | None) -> Iterator[Finding]:
    did, wire_did = ("read", "sent") if direction == "read" else ("wrote", "received")
    disks = one.disk_bytes_for(direction)
    parts = []
    if wires is not None:
        whose = "busiest interface" if wires.others else "only interface"
        parts.append(
            f"its {whose} ({wires.busiest}) {wire_did} {format_bytes(wires.moved_bytes)}"
            f" ({_times(wires.moved_bytes, asked)})"
        )
    if disks is not None:
        parts.append(f"its disks {did} {format_bytes(disks)} ({_times(disks, asked)})")
    if parts:
        others = _of_others(wires, wire_did, asked) if wires is not None else ""
        text = f"The clients {did} {format_bytes(asked)} in the window; of {one.name}, {' and '.join(parts)}.{others}"
        yield findings.note("second-counter", text)


def _of_others(wires: Wires, wire_did: str, asked: int) -> str:
    """Return how many other interfaces there are, and what follows where one of them was busy too."""
    if not wires.others:
        return ""
    count = len(wires.others)
    text = f" It has {count} other{'s' if count > 1 else ''}"
    name, moved = next(iter(wires.others.items()))
    if moved <= thresholds.SMALL_SHARE * asked:
        return f"{text}."
    return (
        f"{text}, and {name} {wire_did} {format_bytes(moved)}: that may be more of the data, or the same over a bridge, so"
        " the share of the clients' caches is unknown."
    )


def _times(moved: float, asked: int) -> str:
    return f"{moved / asked:.3g} times that"
