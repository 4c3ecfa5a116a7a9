"""Find when each phase of a run began and ended: on the clock of the only client, or the common clock of several."""

import dataclasses
from typing import TYPE_CHECKING

from assay.bundle.client_set import ClientSet
from assay.bundle.common_clock import common_clock
from assay.events import Event, PhaseFinished, Started

if TYPE_CHECKING:
    from assay.bundle.run_bundle import RunBundle


@dataclasses.dataclass(frozen=True)
class PhaseTime:
    """One phase that began; nanoseconds, as marks have them."""

    phase_index: int
    start_ns: int
    end_ns: int | None
    """None: it has no end in the record."""


def phase_times(bundle: "RunBundle") -> list[PhaseTime]:
    """Find the phases that began, in order; raises BundleError where the run is damaged."""
    found = bundle.client_set()
    return _of_one(bundle.events()) if found is None else _of_set(bundle, found)


def _of_one(happened: list[Event]) -> list[PhaseTime]:
    ends = {event.phase_index: event.t_ns for event in happened if isinstance(event, PhaseFinished)}
    return [
        PhaseTime(event.phase_index, event.start_ns, ends.get(event.phase_index))
        for event in happened
        if isinstance(event, Started)
    ]


def _of_set(bundle: "RunBundle", found: ClientSet) -> list[PhaseTime]:
    """From when a phase was to begin to when the last client of those that ended it did."""
    there = set(bundle.clients)
    streams = {member.name: bundle.events(member.name) for member in found.loads if member.name in there}
    clock = common_clock(found, streams)
    times = {
        start.phase_index: PhaseTime(start.phase_index, clock.of_leader(start.at_ns), None) for start in found.starts
    }
    for client, happened in streams.items():
        for one in _of_one(happened):
            shift = clock.shift(client, one.start_ns)
            text = times.get(one.phase_index)
            if shift is None or text is None or one.end_ns is None:
                continue
            end_ns = max(one.end_ns + shift.ns, text.end_ns or 0)
            times[one.phase_index] = dataclasses.replace(text, end_ns=end_ns)
    return [times[index] for index in sorted(times)]
