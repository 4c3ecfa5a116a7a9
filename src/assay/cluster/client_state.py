"""The leader's state of one client, with its times."""

import dataclasses
import time
from typing import Final

from assay import events
from assay.bundle.client_set import Lost, Role
from assay.clocks import ClockReading
from assay.cluster.client_rules import ClientRules
from assay.cluster.connection import JoinedClient
from assay.cluster.patience import Standing
from assay.host.facts import Fact

_OVER: Final = 1 << 40


@dataclasses.dataclass
class ClientState:
    """The leader's state of one client."""

    joined: JoinedClient
    facts: tuple[Fact, ...]
    rules: ClientRules
    readings: list[ClockReading] = dataclasses.field(default_factory=list)
    ready: int = -1
    """The last phase that it was ready for, as is `finished` the last that it finished."""
    finished: int = -1
    last_event_ns: int = 0
    error: events.Error | None = None
    has_ended: bool = False
    has_ended_well: bool = False
    """Whether its engine is reported to have ended, without an error."""
    lost: Lost | None = None
    is_believed: bool = True
    clock_ns: int = 0
    """What its way has cost the others at starts."""
    work: int = 0
    """The last event that shows work."""

    @property
    def is_there(self) -> bool:
        """Whether anything is still to come from it."""
        return self.lost is None and not self.has_ended

    @property
    def is_load(self) -> bool:
        """Whether it makes load, and does not only count."""
        return self.joined.role is Role.LOAD

    def standing(self) -> Standing:
        """Return how far it is, for whoever waits for it."""
        return Standing(
            place=_OVER if self.has_ended else max(2 * self.ready, 2 * self.finished + 1),
            work=self.work,
            is_there=self.is_there,
            is_over=self.rules.is_over,
            is_load=self.is_load,
        )


@dataclasses.dataclass(frozen=True)
class TwoClocks:
    """By two clocks of this machine: one of them goes on while it is suspended."""

    monotonic_ns: int
    boot_ns: int


def now() -> TwoClocks:
    """Read both."""
    return TwoClocks(time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))
