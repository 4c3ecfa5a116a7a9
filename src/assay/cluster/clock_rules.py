"""What a client's clock can have shown: a false one is that client's loss, and moves no start and no time of the others."""

from typing import Final

from assay import events
from assay.clocks import ClockReading
from assay.cluster.client_rules import SLACK_NS, RuleBrokenError

MOST_BOUND_NS: Final = 7_500_000_000
"""A client whose clock is read less surely, because each answer takes 15 s, cannot be given a start time."""
_FAST: Final = 0.01
"""So much faster than the leader's may a clock run: a hundred times what crystals do."""
_NS_PER_S: Final = 1e9


def check_reading(before: ClockReading | None, now: ClockReading) -> None:
    """Hold a reading of a clock against the one before; raises RuleBrokenError.

    A clock stops while its machine is suspended, and never goes back.
    """
    if before is None:
        return
    bound_ns = before.bound_ns + now.bound_ns
    elapsed_ns, gained_ns = now.at_ns - before.at_ns, now.offset_ns - before.offset_ns
    if gained_ns < -elapsed_ns - bound_ns:
        raise RuleBrokenError(f"its clock went back by {-(gained_ns + elapsed_ns) / _NS_PER_S:.3g} s")
    if gained_ns > _FAST * elapsed_ns + bound_ns + SLACK_NS:
        raise RuleBrokenError(f"its clock gained {gained_ns / _NS_PER_S:.3g} s in {elapsed_ns / _NS_PER_S:.3g} s")


def check_zero(hello: events.Hello, clock: ClockReading, begun_ns: int, now_ns: int) -> None:
    """Check that an engine's hello came after its start, by the leader's CLOCK_MONOTONIC; raises RuleBrokenError."""
    zero_ns = hello.clock.monotonic_at_zero_ns - clock.offset_ns
    if not begun_ns - SLACK_NS - clock.bound_ns <= zero_ns <= now_ns + SLACK_NS + clock.bound_ns:
        after_s = (zero_ns - begun_ns) / _NS_PER_S
        raise RuleBrokenError(f"its engine began {after_s:.3g} s after its start: that is of another run")
