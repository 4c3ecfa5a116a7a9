"""Clients that follow a script, with clocks of known offsets: without machines, for tests of the leader."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay import events
from assay.bundle.client_set import Role
from assay.clocks import ClockReading
from assay.cluster.connection import Check, ClientEvent, Ended, Fetching, Gone, JoinedClient, Recalled, Received
from assay.cluster.relayed import arriving
from assay.errors import RunError
from assay.host.facts import Fact
from assay.plan import Plan
from unit.bundle_streams import interval
from unit.memory_run import hello

BOUND_NS = 1000
TICKS = 3


@dataclass
class Script:
    """What one client is to do."""

    offset_ns: int = 0
    role: Role = Role.LOAD
    gone_in: int | None = None
    """It is gone after the first interval of that phase."""
    unread_at: int | None = None
    """Its clock is not read before that phase."""
    refuses: str = ""
    """Its engine ends with this before the first phase."""
    refusal: events.Error | None = None
    """What its engine says before that."""
    starts: list[int] = field(default_factory=list)
    """When it was told to start each phase, by its own clock."""
    orders: list[events.Control] = field(default_factory=list)
    """All that its engine was told."""
    plan: Plan | None = None
    stream: list[events.Event] = field(default_factory=list)
    """All that it says."""
    is_gone: bool = False
    is_forgotten: bool = False
    """It keeps nothing of the run any more."""
    cannot_be_fetched: str = ""
    """Why, as are the next two."""
    cannot_be_recalled: str = ""
    cannot_forget: str = ""
    recorded: Callable[[bytes], bytes] = lambda data: data
    """What it gives as its stream, of the one that it should."""
    tells: Callable[[events.Event], Sequence[events.Event]] = lambda event: (event,)
    """What it tells meanwhile, of what it should."""
    shows: Callable[[ClockReading, int], ClockReading] = lambda reading, _: reading
    """What its clock shows, of what it should, and at which reading."""
    readings: int = 0
    is_silent_at_end: bool = False
    """It never says that its engine has ended."""
    degrees: list[int] = field(default_factory=list)
    """Temperatures of its disk, one for each time that it is asked for facts."""


class ScriptedConnection:
    """Such clients."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        """All are there."""
        self.scripts = scripts
        self.received: list[Received] = []
        self.killed: list[str] = []
        self.looks: list[tuple[str, ...]] = []
        self.fetched: list[str] = []
        self.removed: list[str] = []

    @property
    def clients(self) -> Mapping[str, JoinedClient]:
        """Those that are there."""
        return {
            name: JoinedClient(
                name=name, role=script.role, hostname=f"host-{name}", address="198.51.100.1", hello=hello()
            )
            for name, script in self.scripts.items()
            if not script.is_gone
        }

    def look(self, directories: Mapping[str, Mapping[str, str]]) -> Mapping[str, tuple[Fact, ...]]:
        """One fact each, and what its disk shows, where that is scripted: the next of its temperatures each time."""
        found: dict[str, tuple[Fact, ...]] = {}
        for name, of in directories.items():
            found[name] = (Fact(key="places", value=",".join(of), source="test"),)
            if degrees := self.scripts[name].degrees:
                key = "target.data.device.0.health.begin.temperature_celsius"
                found[name] += (Fact(key=key, value=degrees.pop(0), source="test"),)
        self.looks.append(tuple(directories))
        return found

    def begin(self, run_id: str, plans: Mapping[str, Plan]) -> None:
        """Say hello, and be ready for the first phase."""
        assert run_id
        for name, plan in plans.items():
            script = self.scripts[name]
            script.plan = plan
            first = hello()
            clock = msgspec.structs.replace(first.clock, monotonic_at_zero_ns=time.monotonic_ns() + script.offset_ns)
            self._say(name, msgspec.structs.replace(first, clock=clock))
            if script.refusal:
                self._say(name, script.refusal)
            if script.refuses:
                self.received.append(Ended(client=name, error=script.refuses))
            else:
                self._say(name, events.Ready(t_ns=1, phase_index=0, workers=1))

    def receive(self, timeout_s: float) -> Sequence[Received]:
        """Give all that there is."""
        assert timeout_s > 0
        found, self.received = self.received, []
        return found

    def send_controls(self, controls: Mapping[str, events.Control]) -> None:
        """Do what is told, at once."""
        for name, control in controls.items():
            self.scripts[name].orders.append(control)
            match control:
                case events.Start():
                    self._run_phase(name, control)
                case events.EndPhase() if self.scripts[name].role is Role.OBSERVER:
                    self._finish(name, control.phase_index)
                case events.StopRun():
                    self._end(name, events.Outcome.STOPPED)

    def read_clocks(self) -> Mapping[str, ClockReading]:
        """Tell the offset of each that is there, wrong by less than the bound."""
        now_ns = time.monotonic_ns()
        found = {}
        for name, script in self.scripts.items():
            is_unread = script.unread_at is not None and script.unread_at == len(script.starts) and script.plan
            if not script.is_gone and not is_unread:
                one = ClockReading(at_ns=now_ns, offset_ns=script.offset_ns + 7, bound_ns=BOUND_NS, exchanges=16)
                found[name] = script.shows(one, script.readings)
                script.readings += 1
        return found

    def fetch(
        self,
        client: str,
        into: Path,
        told: Fetching = lambda _done, _all: None,
        check: Check = lambda _: None,
        most_bytes: int | None = None,
    ) -> None:
        """Write the whole stream."""
        script = self.scripts[client]
        if script.is_gone or script.cannot_be_fetched:
            raise RunError(f"client '{client}': {script.cannot_be_fetched or 'is not there'}")
        self.fetched.append(client)
        data = script.recorded(b"".join(msgspec.json.encode(event) + b"\n" for event in script.stream))
        if most_bytes is not None and len(data) > most_bytes:
            raise RunError(f"client '{client}': too long")
        with arriving(into) as partial:
            partial.write_bytes(data)
            check(partial)
        told(len(data), len(data))

    def remove_run(self, client: str) -> str:
        """Keep nothing any more."""
        script = self.scripts[client]
        if script.cannot_forget:
            return script.cannot_forget
        self.removed.append(client)
        script.is_forgotten = True
        return ""

    def recall(self, run_id: str) -> Recalled:
        """What each that is there has of a run: all that it said in this one."""
        assert run_id
        there = {name: script for name, script in self.scripts.items() if not script.is_gone}
        return Recalled(
            kept={
                name: len(script.stream)
                for name, script in there.items()
                if not script.is_forgotten and not script.cannot_be_recalled
            },
            refused={name: script.cannot_be_recalled for name, script in there.items() if script.cannot_be_recalled},
        )

    def end_engines(self, clients: Sequence[str]) -> None:
        """Kill them."""
        self.killed += clients
        self.received += [Ended(client=name, error="killed") for name in clients]

    def close(self) -> None:
        """Nothing is held."""

    def _say(self, name: str, event: events.Event, *, is_relayed: bool = True) -> None:
        self.scripts[name].stream.append(event)
        if is_relayed:
            self._relay(name, event)

    def _relay(self, name: str, event: events.Event) -> None:
        self.received += [ClientEvent(client=name, event=one) for one in self.scripts[name].tells(event)]

    def _run_phase(self, name: str, start: events.Start) -> None:
        script, index = self.scripts[name], start.phase_index
        script.starts.append(start.at_monotonic_ns)
        self._say(name, events.Started(t_ns=10, phase_index=index, start_ns=10, late_ns=0))
        for tick in range(TICKS):
            whole = msgspec.structs.replace(interval(tick), phase_index=index)
            if script.role is Role.OBSERVER:
                whole = msgspec.structs.replace(whole, operations=(), workers=())
            script.stream.append(whole)
            self._relay(name, msgspec.structs.replace(whole, host=(), workers=()))
            if script.gone_in == index and tick == 1:
                script.is_gone = True
                now_ns = time.monotonic_ns()
                self.received.append(Gone(client=name, reason="socket closed", last_event_ns=now_ns, noticed_ns=now_ns))
                return
        if script.role is Role.LOAD:
            self._finish(name, index)

    def _finish(self, name: str, index: int) -> None:
        plan = self.scripts[name].plan
        assert plan is not None
        finished = events.PhaseFinished(
            t_ns=20,
            phase_index=index,
            start_ns=10,
            stopped_by=events.StoppedBy.TIME,
            workers=(),
            jobs=(),
            errors=(),
        )
        self._say(name, finished)
        if index + 1 < len(plan.phases):
            self._say(name, events.Ready(t_ns=30, phase_index=index + 1, workers=1))
        else:
            self._end(name, events.Outcome.COMPLETE)

    def _end(self, name: str, outcome: events.Outcome) -> None:
        done = events.Finished(t_ns=40, outcome=outcome, user_cpu_ns=1, system_cpu_ns=1, peak_rss_bytes=1)
        self._say(name, done)
        if not self.scripts[name].is_silent_at_end:
            self.received.append(Ended(client=name, error=None))
