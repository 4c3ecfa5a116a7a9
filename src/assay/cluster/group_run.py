"""Lead a Plan over several clients and keep everything in a bundle.

Each client has an engine that prepares a phase and waits. When all that are there are ready, their clocks are read again,
and each starts at the same moment, by its own clock. A lost client is lost for the rest of the run: `OnLost` decides
what the others do then. What each recorded is fetched at the end; of a lost client, its events until then are kept. Of
a client that reports the impossible (`client_rules.py`) nothing is kept, and nobody is waited for without end
(`patience.py`).
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import msgspec

from assay import events
from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet, Lost, Member, OnLost, PhaseStart, Reached, Role, Share
from assay.bundle.remarks import NOTHING, Remarks
from assay.clocks import ClockReading
from assay.cluster.cleanup import remove_collected
from assay.cluster.client_rules import ClientRules, RuleBrokenError
from assay.cluster.client_state import ClientState, now
from assay.cluster.clock_rules import check_zero
from assay.cluster.connection import ClientEvent, Connection, Ended, Gone, Received
from assay.cluster.group_clocks import GroupClocks, lead_ns
from assay.cluster.group_streams import GroupStreams, without_place
from assay.cluster.not_collected import with_not_collected
from assay.cluster.observing import observers_plan
from assay.cluster.patience import Patience
from assay.cluster.preflight import check_room_of_clients, read_first_clocks
from assay.cluster.relayed import RelayedStreams
from assay.cluster.shares import lays_out_for_all, share_plan
from assay.errors import AssayError, Interrupted, PlanError, RunError
from assay.host.facts import Fact
from assay.host.health_facts import begin_as_end, disks_with_health
from assay.plan import Plan, Prepare
from assay.running.carrying_out import was_refused
from assay.running.kept_run import keep_run
from assay.running.stopping import Stops
from assay.targets import places as places_of

LONGEST_REASON = 500
"""Of why a client was lost: it can be the client's own words."""
RECEIVE_S = 0.2
"""How long the leader waits for a word before it looks at what else there is to do."""
WRITE_S = 1.0
"""Time between two times that the leader writes down who measures and when phases began."""


class Listener(Protocol):
    """Shows a run of several clients while it goes on, and decides when a phase can end."""

    def begin(self, plan: Plan, clients: Sequence[str]) -> None:
        """The run is about to start, with these that make load."""

    def hear(self, client: str, event: events.Event) -> None:
        """Take an event of one of them."""

    def gone(self, client: str, reason: str) -> None:
        """One of them is not there any more."""

    def say(self, text: str) -> None:
        """A remark for the user."""

    def look(self) -> events.Control | None:
        """Time has passed; returns the order for all engines, if any."""

    def end(self) -> None:
        """The run is over; the terminal is free again."""


def run_group(  # noqa: D417 - the rest is described by its name
    plan: Plan,
    connection: Connection,
    *,
    share: Share,
    on_lost: OnLost,
    listener: Listener,
    directories: Mapping[str, Path] | None = None,
    runs: Path,
    argv: Sequence[str],
    source_text: str | None = None,
    facts: Sequence[Fact] = (),
    remarks: Remarks = NOTHING,
    reached: Mapping[str, Reached] = MappingProxyType({}),
) -> tuple[RunBundle, AssayError | None]:
    """Execute a Plan over a connection and return the sealed bundle, with the error that ended it early, if one did.

    Whatever goes wrong once the run has begun comes back as that error, after the bundle was sealed: a PlanError where no
    engine takes the Plan, a RunError where no client is left, or one is lost and the others are not to go on.

    Args:
        directories: Of each client, where it does not have those of the Plan.
        facts: Facts of the run as a whole; those of the machines are each client's own.
        remarks: What the user calls the run.
        reached: How clients were reached, by name, for who has to reach them again.

    Raises:
        InputError: the Plan cannot be shared so.
        RunError: a client or the folder for runs cannot be used, or a client has no room or no clock that can be read;
            nothing was done then.
    """
    loads = [name for name, joined in connection.clients.items() if joined.role is Role.LOAD]
    plans = dict(share_plan(plan, share, loads, directories=directories))
    plans |= {name: observers_plan(plan) for name in connection.clients if name not in plans}
    asked = _directories(plan, connection, directories)
    seen = connection.look(asked)
    laying_out = loads[:1] if share is Share.ONE_SET else loads
    hostnames = {name: connection.clients[name].hostname for name in laying_out}
    check_room_of_clients({name: plans[name] for name in laying_out}, seen, hostnames)

    clocks = read_first_clocks(connection)
    fetched: list[str] = []

    def work(bundle: RunBundle, stops: Stops) -> None:
        bundle.record_facts(facts)
        leading = _Leading(
            bundle,
            stops,
            connection,
            plans,
            seen,
            asked=asked,
            clocks=clocks,
            share=share,
            on_lost=on_lost,
            listener=listener,
            reached=reached,
        )
        try:
            leading.run()
        finally:
            listener.end()
            leading.write_down(at_end=True)
            fetched.extend(leading.fetched)

    def remove_run() -> None:
        for text in remove_collected(connection, fetched):
            sys.stderr.write(f"{text}\n")

    try:
        bundle, error = keep_run(
            plan, work, runs=runs, argv=argv, source_text=source_text, remarks=remarks, was_refused=was_refused
        )
    except AssayError:  # refused by every client: nothing is kept, here or there
        remove_run()
        raise
    if bundle.is_sealed:
        remove_run()
    return bundle, error


def _directories(
    plan: Plan, connection: Connection, directories: Mapping[str, Path] | None
) -> Mapping[str, Mapping[str, str]]:
    """Give the directories that each client is asked for the facts of; observers have none."""
    places = {name: str(path) for name, path in places_of(plan).items()}
    asked: dict[str, Mapping[str, str]] = {}
    for name, joined in connection.clients.items():
        if joined.role is Role.OBSERVER:
            asked[name] = {}
        else:
            asked[name] = dict.fromkeys(places, str(directories[name])) if directories else places
    return asked


class _Leading:
    def __init__(
        self,
        bundle: RunBundle,
        stops: Stops,
        connection: Connection,
        plans: Mapping[str, Plan],
        seen: Mapping[str, tuple[Fact, ...]],
        *,
        asked: Mapping[str, Mapping[str, str]],
        clocks: Mapping[str, ClockReading],
        share: Share,
        on_lost: OnLost,
        listener: Listener,
        reached: Mapping[str, Reached],
    ) -> None:
        self._bundle, self._plan, self._stops, self._connection = bundle, bundle.plan, stops, connection
        self._plans, self._share, self._on_lost, self._listener = plans, share, on_lost, listener
        self._asked = asked
        self._clients = {
            name: ClientState(joined, seen.get(name, ()), ClientRules(plans[name], self._since_begun_ns))
            for name, joined in connection.clients.items()
        }
        for name, client in self._clients.items():
            client.readings += [clocks[name]] if name in clocks else []
        self._begun = now()
        self._patience = Patience()
        self._clocks = GroupClocks(connection, self._clients)
        self._starts: list[PhaseStart] = []
        self._reached = reached
        self._streams = GroupStreams(
            bundle, connection, plans, self._clients, report=listener.say, since_begun_ns=self._since_begun_ns
        )
        self._written_starts, self._written_s = 0, 0.0
        self._ended_for_observers = -1
        self._is_stopping = self._is_ended_at_once = False

    # -- the run -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until no client has more events."""
        loads = self._loads
        self._listener.begin(self._plan, loads)
        self.write_down()
        with RelayedStreams(self._bundle.stream_path) as streams:
            for name in self._clients:
                streams.begin(name)
            self._begun = now()
            self._connection.begin(self._bundle.run_id, self._plans)
            while any(client.is_there for client in self._clients.values()):
                self._take_stops()
                for received in self._connection.receive(RECEIVE_S):
                    self._take(received, streams)
                self._give_up()
                self._let_observers_go()
                self._start_what_is_ready()
                self._write_starts()
                if (order := self._listener.look()) is not None:
                    self._send_controls(order, loads)
        self._read_clocks()
        self._fetch()
        self._look_at_disks()
        self._raise_what_ended_it()

    @property
    def fetched(self) -> list[str]:
        """Clients whose whole streams are in the bundle."""
        return self._streams.fetched

    @property
    def _loads(self) -> list[str]:
        """All that make load, lost ones too, in order."""
        return [name for name, client in self._clients.items() if client.is_load]

    def _take_stops(self) -> None:
        if self._stops.count > 1 and not self._is_ended_at_once:
            self._is_ended_at_once = True
            self._connection.end_engines(list(self._there()))
        elif self._stops.count and not self._is_stopping:
            self._listener.say(
                "stopping: the load ends everywhere and its data is removed. Ctrl-C again ends at once and leaves the data"
            )
            self._stop()

    def _stop(self) -> None:
        self._is_stopping = True
        self._send_controls(events.StopRun(), list(self._clients))

    def _take(self, received: Received, streams: RelayedStreams) -> None:
        client = self._clients.get(received.client)
        if client is None:  # it was no client any more when the run was planned
            raise RunError(f"client '{received.client}' was lost before the run began. Nothing was measured")
        match received:
            case ClientEvent(event=event):
                if client.is_believed and self._is_believable(received.client, event):
                    client.last_event_ns = time.monotonic_ns()
                    streams.add(received.client, event)
                    self._note(client, event)
                    if client.is_load and client.lost is None:
                        self._listener.hear(received.client, event)
            case Ended(error=None):
                client.has_ended = client.has_ended_well = True
                if not self._is_stopping and client.finished < len(self._plan.phases) - 1:
                    self._lose(
                        received.client, "its engine ended before the last phase", client.last_event_ns, has_stream=True
                    )
            case Ended(error=str(text)):
                client.has_ended = True
                self._lose(received.client, text, client.last_event_ns, has_stream=True)
            case Gone(is_lie=True):
                self._disbelieve(received.client, received.reason)
            case Gone():
                self._lose(received.client, received.reason, received.last_event_ns)

    def _is_believable(self, name: str, event: events.Event) -> bool:
        """Return whether an event can be true; a client that sends another is lost with all its events."""
        client = self._clients[name]
        try:
            client.rules.take(event)
            if isinstance(event, events.Hello) and client.readings:
                check_zero(event, client.readings[0], self._begun.monotonic_ns, time.monotonic_ns())
        except RuleBrokenError as lie:
            self._disbelieve(name, str(lie))
            return False
        return True

    def _disbelieve(self, name: str, lie: str) -> None:
        """Lose a client because of its events: nothing of it is kept, and its engine is ended."""
        client = self._clients[name]
        if not client.is_believed:
            return
        client.is_believed = False
        begun_ns = self._begun.monotonic_ns
        reason = f"its data is discarded: {lie}"[:LONGEST_REASON]
        if client.lost is None:
            self._lose(name, reason, begun_ns)
            self._connection.end_engines([name])
        else:
            self._listener.say(f"{name}: {reason}")
        was = client.lost or Lost(heard_ns=begun_ns, noticed_ns=time.monotonic_ns(), reason=reason, phase_index=None)
        client.lost = msgspec.structs.replace(
            was, heard_ns=begun_ns, reason=reason, phase_index=None, is_collected=False
        )

    def _give_up(self) -> None:
        """Wait no longer for who is far behind, or does not end."""
        self._patience.look(time.monotonic())
        if self._patience.ends_stop(is_stopping=self._is_stopping, is_ended=self._is_ended_at_once):
            self._is_ended_at_once = True
            self._connection.end_engines(list(self._there()))
        standings = {name: client.standing() for name, client in self._clients.items() if client.lost is None}
        for name, why in list(self._patience.give_up(standings)):
            self._lose(name, why, self._clients[name].last_event_ns)
            self._connection.end_engines([name])

    def _note(self, client: ClientState, event: events.Event) -> None:
        match event:
            case events.Ready():
                client.ready = event.phase_index
            case events.PhaseFinished():
                client.finished = event.phase_index
            case events.Error():
                client.error = client.error or event
            case _:
                pass
        if not isinstance(event, events.Interval) or any(one.ops for one in event.operations):
            client.work += 1

    def _lose(self, name: str, reason: str, last_event_ns: int, *, has_stream: bool = False) -> None:
        """A client does not go on with the others."""
        client, reason = self._clients[name], reason[:LONGEST_REASON]
        if client.lost is not None or (self._is_stopping and has_stream):
            return
        client.lost = Lost(
            heard_ns=last_event_ns,
            noticed_ns=time.monotonic_ns(),
            reason=reason,
            phase_index=len(self._starts) - 1 if self._starts else None,
            is_collected=has_stream,
        )
        self._listener.say(f"{name} is lost: {reason}")
        if client.is_load:
            self._listener.gone(name, reason)
        to_come = self._plan.phases[len(self._starts) :]
        is_laid_out = not any(isinstance(step, Prepare) for phase in to_come for step in phase.before)
        is_needed = not is_laid_out and name == lays_out_for_all(self._share, self._loads)
        if (self._on_lost is OnLost.STOP or is_needed) and not self._is_stopping:
            self._stop()
        elif self._on_lost is OnLost.ABORT and not self._is_ended_at_once:
            self._is_stopping = self._is_ended_at_once = True
            self._connection.end_engines(list(self._there()))

    # -- starts --------------------------------------------------------------------------------------------------------

    def _start_what_is_ready(self) -> None:
        index, there = len(self._starts), self._there()
        if self._is_stopping or index == len(self._plan.phases) or not any(one.is_load for one in there.values()):
            return
        if any(client.ready < index for client in there.values()):
            return
        read = self._read_clocks()
        unread = [name for name in self._there() if name not in read]
        for name in unread:
            self._lose(name, "its clock could not be read", self._clients[name].last_event_ns, has_stream=True)
        self._connection.end_engines(unread)
        for name, why in list(
            self._clocks.too_dear({name: read[name] for name in self._there()}, self._since_begun_ns())
        ):
            self._lose(name, why, self._clients[name].last_event_ns)
            self._connection.end_engines([name])
        there = {name: client for name, client in self._there().items() if name in read}
        if not there or self._is_stopping:
            return
        at_ns = time.monotonic_ns() + lead_ns([read[name] for name in there])
        self._connection.send_controls(
            {name: events.Start(phase_index=index, at_monotonic_ns=at_ns + read[name].offset_ns) for name in there}
        )
        self._starts.append(PhaseStart(phase_index=index, at_ns=at_ns, members=tuple(there)))

    def _let_observers_go(self) -> None:
        """End an observer's phase with that of the last that makes load, and its run with theirs."""
        observers = [name for name, client in self._there().items() if not client.is_load]
        loads = [client for client in self._clients.values() if client.is_load and client.lost is None]
        if not observers or self._is_stopping:
            return
        done = min((client.finished for client in loads), default=-1)
        if done > self._ended_for_observers:
            self._ended_for_observers = done
            self._send_controls(events.EndPhase(phase_index=done), observers)
        if not any(client.is_there for client in loads) and done < len(self._plan.phases) - 1:
            self._is_stopping = True
            self._send_controls(events.StopRun(), observers)

    def _send_controls(self, order: events.Control, names: Sequence[str]) -> None:
        there = self._there()
        self._connection.send_controls({name: order for name in names if name in there})

    def _since_begun_ns(self) -> int:
        """Time since engines were started, in which this machine may have been suspended."""
        return now().boot_ns - self._begun.boot_ns

    def _there(self) -> dict[str, ClientState]:
        return {name: client for name, client in self._clients.items() if client.is_there}

    def _read_clocks(self) -> Mapping[str, ClockReading]:
        """Read all clocks, and give those that can be true and are sure enough to start by."""
        read, lies = self._clocks.read()
        for name, lie in lies.items():
            self._disbelieve(name, lie)
        return read

    # -- the end -------------------------------------------------------------------------------------------------------

    def _fetch(self) -> None:
        """Fetch the streams; a client that cannot give it any more is lost, with its events so far."""
        for name, fault in self._streams.bring():
            if isinstance(fault, RunError):
                self._keep_relayed(name, str(fault))
            else:
                self._disbelieve(name, f"what it recorded is not a stream of this run: {without_place(fault)}")
        for name, lie in self._streams.clear_relayed():
            self._disbelieve(name, without_place(lie))

    def _look_at_disks(self) -> None:
        """Ask clients whose disks showed their state before the run for it again."""
        there = {
            name: self._asked[name]
            for name, client in self._clients.items()
            if client.lost is None and any(disks_with_health(client.facts))
        }
        if not there or self._is_ended_at_once:
            return
        try:
            after = self._connection.look(there)
        except AssayError as error:
            self._listener.say(f"the state of disks after the run is not known: {error}")
            return
        for name, facts in after.items():
            client = self._clients[name]
            client.facts = (*client.facts, *begin_as_end(client.facts, facts))

    def _keep_relayed(self, name: str, reason: str) -> None:
        client = self._clients[name]
        now_ns = time.monotonic_ns()
        lost = client.lost or Lost(heard_ns=client.last_event_ns, noticed_ns=now_ns, reason=reason, phase_index=None)
        client.lost = msgspec.structs.replace(lost, is_collected=False)
        self._listener.say(f"{name}: what it recorded could not be fetched: {reason}")

    def write_down(self, *, at_end: bool = False) -> None:
        """Write who measured, as known now; at the end, a client without its whole stream is lost."""
        found = ClientSet(
            share=self._share,
            on_lost=self._on_lost,
            members=tuple(self._members()),
            starts=tuple(self._starts),
        )
        if at_end:
            silent = [
                name for name, client in self._clients.items() if not client.last_event_ns and client.lost is None
            ]
            here = {*self.fetched, *silent}
            found = with_not_collected(found, here, lambda name: self._clients[name].last_event_ns, time.monotonic_ns())
        self._bundle.keep_client_set(found)
        self._written_starts, self._written_s = len(self._starts), time.monotonic()

    def _write_starts(self) -> None:
        """Write starts, with what was read of clocks before them, once a second at most: a leader can be killed."""
        if len(self._starts) > self._written_starts and time.monotonic() - self._written_s >= WRITE_S:
            self.write_down()

    def _members(self) -> Iterator[Member]:
        for name, client in self._clients.items():
            joined = client.joined
            yield Member(
                name=name,
                role=joined.role,
                hostname=joined.hostname,
                address=joined.address,
                facts=client.facts,
                clock=tuple(client.readings),
                lost=client.lost,
                reached=self._reached.get(name),
            )

    def _raise_what_ended_it(self) -> None:
        if self._stops.count:
            raise Interrupted("stopped; what was measured until then is kept")
        loads = {name: client for name, client in self._clients.items() if client.is_load}
        lost = {name: client for name, client in loads.items() if client.lost is not None}
        if not lost:
            return
        reasons = "; ".join(f"{name}: {client.lost.reason}" for name, client in lost.items() if client.lost is not None)
        errors = [client.error for client in lost.values() if client.error is not None]
        if len(lost) == len(loads):
            kind: type[AssayError] = RunError
            if errors and all(error.class_ is events.ErrorClass.PLAN for error in errors):
                kind = PlanError
            raise kind(f"no client is left. {reasons}")
        if self._is_stopping:
            raise RunError(f"the run was ended, because a client was lost. {reasons}")
