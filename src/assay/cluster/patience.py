"""For whom is not waited any longer, by how far the others are: no client can hold a run without end.

A client is waited for while it is behind at least half of the others. All the time that a run waits for it counts
together, over all phases, against the time that the run took otherwise. A client whose last line has come has nothing
left to do. Times are of the leader's own loop: time in which the leader was stopped counts for nobody.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final

from assay.units import format_seconds

IDLE_S: Final = 600.0
"""Total time, or the time of the run otherwise, for which a client may show no work while it is waited for."""
SHOWS_S: Final = 60.0
"""Time for which it counts as working after an event of work."""
BEHIND_S: Final = 3600.0
"""Total time for which it is waited for, or `TIMES` as long as the run took otherwise."""
TIMES: Final = 6
OVER_S: Final = 60.0
"""From the last line of a client to its word that its engine has ended; from the end of all loads to that of observers."""
STOP_S: Final = 900.0
"""From a stop to the end of an engine, which removes data first; then it is killed."""
KILL_S: Final = 30.0
"""From the order to end an engine at once to the word that it has ended."""
_LONGEST_LOOK_S: Final = 5.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a client is that is waited for or has been."""

    place: int
    """Grows with what it has done of the run."""
    work: int
    """Grows with anything that shows work."""
    is_there: bool
    """Whether anything is still to come of it; who is lost is not given at all."""
    is_over: bool
    """Whether its last line has come."""
    is_load: bool


@dataclasses.dataclass
class _Seen:
    place: int
    work: int
    work_s: float
    waited_s: float = 0.0
    """For how long it was waited for, and for how long of it without work."""
    idle_s: float = 0.0
    over_s: float | None = None
    """The time of its last line."""


class Patience:
    """Watches the clients of one run."""

    def __init__(self) -> None:
        """Start without clients."""
        self._seen: dict[str, _Seen] = {}
        self._now_s = self._since_s = 0.0
        self._looked_s: float | None = None
        self._stop_s: float | None = None
        self._kill_s: float | None = None

    def look(self, monotonic_s: float) -> None:
        """Let the time pass that has gone by since the last look, and no more than a look takes."""
        self._since_s = 0.0 if self._looked_s is None else min(monotonic_s - self._looked_s, _LONGEST_LOOK_S)
        self._now_s += self._since_s
        self._looked_s = monotonic_s

    def ends_stop(self, *, is_stopping: bool, is_ended: bool) -> bool:
        """Return whether a run has been stopping for long enough to kill its engines."""
        if is_stopping and self._stop_s is None:
            self._stop_s = self._now_s
        if is_ended and self._kill_s is None:
            self._kill_s = self._now_s
        return self._stop_s is not None and not is_ended and self._now_s - self._stop_s > STOP_S

    def give_up(self, clients: Mapping[str, Standing]) -> Iterator[tuple[str, str]]:
        """Name those that are not waited for any longer, with the reason."""
        for name, one in clients.items():
            self._note(name, one, clients)
        has_loads = any(one.is_there and one.is_load for one in clients.values())
        for name, one in clients.items():
            if one.is_there and (why := self._why(self._seen[name], has_loads=has_loads, is_load=one.is_load)):
                yield name, why

    def _note(self, name: str, one: Standing, clients: Mapping[str, Standing]) -> None:
        now_s = self._now_s
        seen = self._seen.setdefault(name, _Seen(one.place, one.work, now_s))
        if (one.place, one.work) != (seen.place, seen.work):
            seen.place, seen.work, seen.work_s = one.place, one.work, now_s
        others = [each for other, each in clients.items() if other != name and each.is_load]
        ahead = sum(each.place > one.place for each in others)
        if one.is_load and others and 2 * ahead >= len(others):
            seen.waited_s += self._since_s
            seen.idle_s += self._since_s if now_s - seen.work_s > SHOWS_S else 0.0
        is_over = one.is_over or (not one.is_load and not any(each.is_there for each in others))
        seen.over_s = (seen.over_s if seen.over_s is not None else now_s) if is_over else None

    def _why(self, seen: _Seen, *, has_loads: bool, is_load: bool) -> str:
        now_s = self._now_s
        if self._kill_s is not None and now_s - self._kill_s > KILL_S:
            return f"its engine was to end at once, and did not report its end for {format_seconds(KILL_S)}"
        if seen.over_s is not None and now_s - seen.over_s > OVER_S and (is_load or not has_loads):
            return f"it did not report the end of its engine for {format_seconds(OVER_S)}, although no work was left"
        others_s = now_s - seen.waited_s
        if seen.idle_s > max(IDLE_S, others_s):
            waited, idle = format_seconds(seen.waited_s), format_seconds(seen.idle_s)
            return f"the others waited {waited} for it, {idle} of that without any work"
        if seen.waited_s > max(BEHIND_S, TIMES * others_s):
            return f"the others waited {format_seconds(seen.waited_s)} for it, and {format_seconds(others_s)} otherwise"
        return ""
