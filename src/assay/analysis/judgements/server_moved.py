"""What did a server's wire and disks move, of what the clients asked for?

A wire carries headers beside the data, so that it moves some percent more than was asked for; less than that came from
caches of the clients. Disks that move less have a cache above them, disks that move more write journals or copies.
"""

from collections.abc import Iterable, Iterator

from assay.analysis import findings
from assay.analysis.observed import Observed
from assay.analysis.sum_case import SumCase
from assay.results import Finding
from assay.units import format_bytes


def judge(at: SumCase) -> Iterable[Finding]:
    """Hold what clients moved against the counters of every observer; of the whole of what the phase did in a direction."""
    direction = at.case.operation.direction
    if direction is None or not at.case.window.is_resolved:
        return
    asked = at.case.record.moved_bytes(direction, at.case.window.counted)
    for one in at.observed if asked else ():
        yield from _of_server(one, direction, asked)


def _of_server(one: Observed, direction: str, asked: int) -> Iterator[Finding]:
    did, wire_did = ("read", "sent") if direction == "read" else ("wrote", "received")
    wire, disks = one.wire_bytes_for(direction), one.disk_bytes_for(direction)
    told = []
    if wire is not None:
        told.append(f"its wire {wire_did} {format_bytes(wire)} ({_times(wire, asked)})")
    if disks is not None:
        told.append(f"its disks {did} {format_bytes(disks)} ({_times(disks, asked)})")
    if told:
        text = f"The clients {did} {format_bytes(asked)} in the window; of {one.name}, {' and '.join(told)}."
        yield findings.note("server-moved", text)


def _times(moved: float, asked: int) -> str:
    return f"{moved / asked:.3g} times that"
