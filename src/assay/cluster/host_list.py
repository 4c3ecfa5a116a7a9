"""The host list: clients as they join, their messages, and when one is gone.

It lives in the leader's event loop. A client whose connection closes is gone at once. One that is silent is suspect after
`SUSPECT_BEATS` of the periods in which it has to send something, and lost after `LOST_BEATS`: seconds, as many with a
thousand clients as with ten. Time in which the leader itself was stopped counts for nobody's silence.
"""

import asyncio
import dataclasses
import hmac
import queue
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from assay import events
from assay.bundle.client_set import Role
from assay.cluster.connection import ClientEvent, Ended, Gone, JoinedClient, Received
from assay.cluster.dask_parts import LeaderServer, Scheduler, SchedulerPlugin
from assay.cluster.join_file import JoinFile
from assay.cluster.relay import SHORTEST_PERIOD_S, period_s
from assay.cluster.wire import CARD, Card, ClientMessage, LeaderMessage, card_of, is_own_version, own_versions

SUSPECT_BEATS: Final = 3
LOST_BEATS: Final = 10
WATCH_S: Final = 0.5
_WATCH_NS = round(WATCH_S * 1e9)
LEADER_BEAT_S: Final = 5.0
"""How often clients are informed that their leader is there."""
FIRST_WORDS: Final = 10_000
WORDS_EACH_S: Final = 1000
"""A client may send this many events, and N more for each second: one an interval, and what happens, is usual."""
FIRST_WORD_BYTES: Final = 64 << 20
WORD_BYTES_EACH_S: Final = 8 << 20
_LONGEST_REASON: Final = 500
_CLOSED: Final = "its connection closed: its process or machine ended, or the network did"
_SILENT = "assay-silent"
"""Dask's name for why a client is removed, where this module does it."""


@dataclasses.dataclass
class Connected:
    """One client that is connected; times are of CLOCK_MONOTONIC."""

    card: Card
    joined: JoinedClient
    worker: str
    """Dask's address of it."""
    last_event_ns: int
    pardoned_ns: int = 0
    """Time since then in which the leader itself was stopped."""
    batches: int = 0
    run_id: str = ""
    begun_ns: int = dataclasses.field(default_factory=time.monotonic_ns)
    """When the run began of which it speaks, as are the next two."""
    words: int = 0
    word_bytes: int = 0

    def begin(self, run_id: str) -> None:
        """Start counting for this run."""
        self.run_id, self.batches, self.words, self.word_bytes = run_id, 0, 0, 0
        self.begun_ns = time.monotonic_ns()

    def count(self, words: int, size_bytes: int) -> None:
        """Count its events; raises ValueError for more than a client may send in that time."""
        self.words, self.word_bytes = self.words + words, self.word_bytes + size_bytes
        seconds = (time.monotonic_ns() - self.begun_ns) / 1e9
        if self.words > FIRST_WORDS + WORDS_EACH_S * seconds:
            raise ValueError(f"{self.words} events in {seconds:.0f} s")
        if self.word_bytes > FIRST_WORD_BYTES + WORD_BYTES_EACH_S * seconds:
            raise ValueError(f"{self.word_bytes} bytes in {seconds:.0f} s")

    def silent_ns(self, now_ns: int) -> int:
        """The length of its silence, without the leader's own stops."""
        return now_ns - self.last_event_ns - self.pardoned_ns


AdmissionRule = Callable[[Card], str | None]
"""Return why a client is not expected; None: it is."""


class HostList(SchedulerPlugin):
    """All clients, and their messages that nobody has asked for yet."""

    name = "assay-host-list"

    def __init__(self) -> None:
        """Start empty, and admit all."""
        self._is_wanted: AdmissionRule = lambda _: None
        self.by_name: dict[str, Connected] = {}
        self.refused: dict[str, str] = {}
        """Why, by the name that each gave."""
        self.received: queue.SimpleQueue[Received] = queue.SimpleQueue()
        self.batches_missed: dict[str, int] = {}
        self.period_s = SHORTEST_PERIOD_S
        self._names: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._lies: set[str] = set()
        self._scheduler: LeaderServer
        self._join: JoinFile
        self._is_closing = False

    def attach(self, scheduler: LeaderServer, join: JoinFile) -> None:
        """Begin to listen on a leader's server."""
        self._scheduler, self._join = scheduler, join
        scheduler.stream_handlers[ClientMessage.BEAT.value] = self._beat
        scheduler.stream_handlers[ClientMessage.EVENTS.value] = self._take_events
        scheduler.stream_handlers[ClientMessage.LEAVES.value] = self._leaves

    @property
    def token(self) -> str:
        """By which clients and leader recognize each other."""
        return self._join.token

    # -- joining and leaving ---------------------------------------------------------------------------------------------

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Let a client in that is expected, and dismiss any other."""
        state = scheduler.workers[worker]
        name = str(state.name)[:100]
        try:
            card = card_of(state.extra.get(CARD))
            reason = self._refusal(card, name)
        except ValueError as error:
            reason = f"it did not identify itself ({error})"
        if reason is not None:
            self.refused[name] = reason
            self.send(worker, {"op": LeaderMessage.DISMISS.value, "reason": reason})
            return
        self.refused.pop(name, None)
        joined = JoinedClient(
            name=card.name, role=card.role, hostname=card.hello.machine.hostname, address=state.host, hello=card.hello
        )
        self._names[worker] = card.name
        self.by_name[card.name] = Connected(card, joined, worker, time.monotonic_ns())

    def expect(self, rule: AdmissionRule) -> None:
        """Admit from now on whom this rule expects, and dismiss who is connected and not expected."""
        self._is_wanted = rule
        for name, one in list(self.by_name.items()):
            if (reason := rule(one.card)) is not None:
                self._dismiss(name, reason)

    def _dismiss(self, name: str, reason: str) -> None:
        one = self.by_name.pop(name)
        del self._names[one.worker]
        self.refused[name] = reason
        self.send(one.worker, {"op": LeaderMessage.DISMISS.value, "reason": reason})

    def loads(self) -> tuple[str, ...]:
        """Name those that make load, in the order in which they came."""
        return tuple(name for name, one in self.by_name.items() if one.card.role is Role.LOAD)

    def shut(self, expected: Mapping[str, Role] | int) -> bool:
        """Admit nobody else, if all are there; whether they are. Earlier messages are of no run.

        A number is of those that make load: who came after that number is dismissed, and observers are as many as there are.
        """
        if isinstance(expected, int):
            loads = self.loads()
            if len(loads) < expected:
                return False
            for name in loads[expected:]:
                self._dismiss(name, f"{expected} clients are there already")
        elif not self.by_name.keys() >= expected.keys():
            return False
        self._is_wanted = lambda _: "the run has begun without it"
        while not self.received.empty():
            self.received.get_nowait()
        return True

    def _refusal(self, card: Card, name: str) -> str | None:
        if not hmac.compare_digest(card.token.encode(), self._join.token.encode()):
            return "its join file is that of another run"
        if card.name != name:
            return "it goes by two names"
        if not is_own_version(card):
            return (
                f"it has {card.versions}, and the leader {own_versions()}; install the same version of both everywhere"
            )
        return self._is_wanted(card)

    def remove_worker(self, scheduler: Scheduler, worker: str, *, stimulus_id: str = "", **_: Any) -> None:  # noqa: ARG002
        """Note that a client is gone; Dask calls this when its connection is closed."""
        name = self._names.pop(worker, None)
        if name is None:
            return
        one = self.by_name.pop(name)
        fault = self._scheduler.faults.pop(worker, None)
        reason = self._reasons.pop(worker, fault or _CLOSED)
        is_lie = fault is not None or worker in self._lies
        if not self._is_closing:
            now_ns = time.monotonic_ns()
            self.received.put(
                Gone(client=name, reason=reason, last_event_ns=one.last_event_ns, noticed_ns=now_ns, is_lie=is_lie)
            )

    def close_softly(self) -> None:
        """Let all go: from now on it is no loss that they leave."""
        self._is_closing = True
        for one in self.by_name.values():
            self.send(one.worker, {"op": LeaderMessage.LET_GO.value})

    # -- words -----------------------------------------------------------------------------------------------------------

    def send(self, worker: str, message: Mapping[str, object]) -> None:
        """Send a client a message, in order; does nothing where it is gone."""
        comm = self._scheduler.stream_comms.get(worker)
        if comm is not None:
            comm.send(message)

    def _note_message(self, worker: str) -> Connected | None:
        name = self._names.get(worker)
        if name is None:
            return None
        one = self.by_name[name]
        one.last_event_ns, one.pardoned_ns = time.monotonic_ns(), 0
        return one

    def _beat(self, worker: str) -> None:
        self._note_message(worker)

    def _leaves(self, worker: str, reason: str) -> None:
        if self._note_message(worker) is not None:
            self._reasons[worker] = f"it left: {reason[:_LONGEST_REASON]}"

    def _take_events(self, worker: str, **words: Any) -> None:
        one = self._note_message(worker)
        if one is None or words.get("run_id") != one.run_id:
            return
        name = one.joined.name
        try:
            lines = words["lines"]
            one.count(len(lines), sum(map(len, lines)))
            decoded = [events.decode(line) for line in lines]
            number, is_over, error = int(words["number"]), bool(words["is_over"]), words["error"]
        except (msgspec.DecodeError, KeyError, TypeError, ValueError) as broken:
            self._lies.add(worker)
            self.lose(
                one, f"it sent what is not an event, or more than a client may send ({str(broken)[:_LONGEST_REASON]})"
            )
            return
        if number != one.batches:
            self.batches_missed[name] = self.batches_missed.get(name, 0) + abs(number - one.batches)
        one.batches = number + 1
        for event in decoded:
            self.received.put(ClientEvent(client=name, event=event))
        if is_over:
            self.received.put(Ended(client=name, error=None if error is None else str(error)[:_LONGEST_REASON]))

    # -- silence ---------------------------------------------------------------------------------------------------------

    def suspects(self) -> tuple[str, ...]:
        """Name the clients that have been silent for too long."""
        limit_ns = round(SUSPECT_BEATS * self.period_s * 1e9)
        now_ns = time.monotonic_ns()
        return tuple(name for name, one in list(self.by_name.items()) if one.silent_ns(now_ns) > limit_ns)

    def lose(self, one: Connected, reason: str) -> None:
        """Give a client up."""
        self._reasons.setdefault(one.worker, reason)
        asyncio.get_running_loop().create_task(
            self._scheduler.remove_worker(one.worker, stimulus_id=_SILENT, close=True)
        )

    async def watch(self) -> None:
        """Look for silent clients, and announce the leader, until cancelled."""
        last_ns, beat_s = time.monotonic_ns(), time.monotonic()
        while True:
            await asyncio.sleep(WATCH_S)
            now_ns = time.monotonic_ns()
            for one, silent_ns in self.overdue(last_ns, now_ns):
                self.lose(one, f"it was silent for {silent_ns / 1e9:.1f} s: it hangs, or the network does")
            last_ns = now_ns
            if time.monotonic() - beat_s >= LEADER_BEAT_S:
                beat_s = time.monotonic()
                self.period_s = max(self.period_s, period_s(len(self.by_name)))
                for one in self.by_name.values():
                    self.send(one.worker, {"op": LeaderMessage.BEAT.value, "clients": len(self.by_name)})

    def overdue(self, last_ns: int, now_ns: int) -> list[tuple[Connected, int]]:
        """Give those who have been silent for too long, and for how long; the last look was at `last_ns`.

        A look that comes late by more than its period is late because the leader itself was stopped.
        """
        late_ns = now_ns - last_ns - _WATCH_NS
        for one in self.by_name.values():
            one.pardoned_ns += late_ns if late_ns > _WATCH_NS else 0
        silent = ((one, one.silent_ns(now_ns)) for one in self.by_name.values())
        return [(one, silent_ns) for one, silent_ns in silent if silent_ns > LOST_BEATS * self.period_s * 1e9]


def admit_expected(expected: Mapping[str, Role] | int) -> AdmissionRule:
    """Make the rule of who is expected: by names with their roles, or N of any name."""
    if isinstance(expected, int):
        return lambda _: None

    def rule(card: Card) -> str | None:
        if card.name not in expected:
            return f"no client '{card.name}' is expected"
        if card.role is not expected[card.name]:
            return f"it joined as {card.role.value}, and is expected as {expected[card.name].value}"
        return None

    return rule
