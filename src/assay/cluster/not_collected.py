"""Mark clients whose streams were not fetched when their run is sealed: they are lost, with their events until then.

So their numbers end at their last event, and what is on their machines can still be collected.
"""

from collections.abc import Callable, Collection

import msgspec

from assay.bundle.client_set import ClientSet, Lost, Member

REASON = "its leader ended before its stream was fetched"


def with_not_collected(
    found: ClientSet, fetched: Collection[str], last_event_ns: Callable[[str], int], now_ns: int
) -> ClientSet:
    """Give a set in which each client whose stream is not here is lost, and not collected.

    Args:
        found: Who measured, as recorded.
        fetched: Clients whose whole streams are in the run.
        last_event_ns: The time of a client's last event, by the leader's CLOCK_MONOTONIC.
        now_ns: The same clock now, or a time in no order to it where the leader has started anew since.
    """
    index = found.starts[-1].phase_index if found.starts else None

    def of(member: Member) -> Member:
        if member.name in fetched:
            return member
        at_ns = last_event_ns(member.name)
        lost = member.lost or Lost(heard_ns=at_ns, noticed_ns=max(at_ns, now_ns), reason=REASON, phase_index=index)
        return msgspec.structs.replace(member, lost=msgspec.structs.replace(lost, is_collected=False))

    return msgspec.structs.replace(found, members=tuple(map(of, found.members)))
