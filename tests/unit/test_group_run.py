from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assay import events
from assay.bundle import RunBundle
from assay.bundle.catalog import list_runs
from assay.bundle.client_set import ClientSet, OnLost, Role, Share
from assay.clocks import ClockReading
from assay.cluster.collecting import collect
from assay.cluster.connection import Gone
from assay.cluster.group_run import run_group
from assay.errors import AssayError, RunError
from assay.plan import Plan, Prepare
from unit.bundle_streams import interval, plan
from unit.scripted_connection import TICKS, Script, ScriptedConnection

FAR_NS = 1000 * 10**9


class Received:
    """Takes down what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.events: list[tuple[str, events.Event]] = []
        self.orders: list[events.Control] = []
        self.ends = 0

    def begin(self, plan: Plan, clients: Sequence[str]) -> None:
        """Note who begins."""
        self.said.append(f"{len(plan.phases)} phases on {', '.join(clients)}")

    def hear(self, client: str, event: events.Event) -> None:
        """Note an event."""
        self.events.append((client, event))

    def gone(self, client: str, reason: str) -> None:
        """Note who is gone."""
        self.said.append(f"gone: {client}, {reason}")

    def say(self, text: str) -> None:
        """Note a word."""
        self.said.append(text)

    def look(self) -> events.Control | None:
        """Give an order that was planted."""
        return self.orders.pop() if self.orders else None

    def end(self) -> None:
        """Count the ends."""
        self.ends += 1


def two_phases() -> Plan:
    one = plan()
    again = msgspec.structs.replace(one.phases[0], name="again")
    return msgspec.structs.replace(one, phases=(one.phases[0], again))


def run(
    tmp_path: Path, connection: ScriptedConnection, on_lost: OnLost = OnLost.CONTINUE
) -> tuple[RunBundle, AssayError | None, ClientSet, Received]:
    received = Received()
    bundle, error = run_group(
        two_phases(),
        connection,
        share=Share.OWN,
        on_lost=on_lost,
        listener=received,
        runs=tmp_path,
        argv=("assay", "quick"),
    )
    found = RunBundle.open(bundle.path).client_set()
    assert found is not None
    assert received.ends == 1
    return bundle, error, found, received


def test_all_start_each_phase_at_one_moment_by_their_own_clocks(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script(FAR_NS), "c": Script(-300_000_000)})

    bundle, error, found, received = run(tmp_path, connection)

    assert error is None
    assert bundle.is_sealed
    assert [start.phase_index for start in found.starts] == [0, 1]
    for name, script in connection.scripts.items():
        # The clocks are read 7 ns wrong.
        assert [at - script.offset_ns - 7 for at in script.starts] == [start.at_ns for start in found.starts], name
    assert received.said[0] == "2 phases on a, b, c"


def test_what_each_recorded_is_in_the_bundle_whole(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script(FAR_NS)})

    bundle, _, found, _ = run(tmp_path, connection)

    assert bundle.clients == ("a", "b")
    for name, script in connection.scripts.items():
        kept = [event for event in script.stream if not isinstance(event, events.Interval)]
        assert bundle.events(name) == kept
    workers = bundle.workers()
    assert workers.filter(workers["client"] == "b").height == len(two_phases().phases) * TICKS
    assert [len(member.clock) for member in found.members] == [4, 4], "before the run, each phase, and the end"
    assert [member.facts[0].value for member in found.members] == ["data", "data"]
    assert [member.hostname for member in found.members] == ["host-a", "host-b"]


def test_whose_clock_cannot_be_read_is_lost_and_the_others_go_on(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script(unread_at=1), "c": Script()})

    bundle, error, found, received = run(tmp_path, connection)

    assert error is None
    assert bundle.is_sealed
    assert "b is lost: its clock could not be read" in received.said
    assert connection.killed == ["b"]
    assert [len(script.starts) for script in connection.scripts.values()] == [2, 1, 2]
    assert [start.members for start in found.starts] == [("a", "b", "c"), ("a", "c")]


@pytest.mark.parametrize("unsure_times", [1, 2])
def test_a_client_whose_clock_is_not_known_is_asked_again_and_then_refused_before_it_lays_out(
    tmp_path: Path, unsure_times: int
) -> None:
    def shows(reading: ClockReading, number: int) -> ClockReading:
        return msgspec.structs.replace(reading, bound_ns=8 * 10**9) if number < unsure_times else reading

    connection = ScriptedConnection({"a": Script(), "b": Script(shows=shows)})

    if unsure_times == 1:
        assert run(tmp_path, connection)[1] is None
        return
    with pytest.raises(RunError, match=r"^b: its clock is known to ± 8\.00 s only\. .* nothing was laid out"):
        run(tmp_path, connection)
    assert [script.plan for script in connection.scripts.values()] == [None, None]
    assert list(tmp_path.iterdir()) == []


def test_who_was_gone_before_the_run_was_planned_ends_it_in_a_line(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script()})
    connection.received = [Gone(client="c", reason="socket closed", last_event_ns=1, noticed_ns=2)]

    _, error, _, _ = run(tmp_path, connection)

    assert isinstance(error, RunError)
    assert str(error) == "client 'c' was lost before the run began. Nothing was measured"


def test_who_lays_out_for_all_is_needed_until_all_is_laid_out(tmp_path: Path) -> None:
    whole = two_phases()
    later = msgspec.structs.replace(whole.phases[1], before=(Prepare(set="set"),))
    for phases, is_needed in ((whole.phases, False), ((whole.phases[0], later), True)):
        received = Received()
        connection = ScriptedConnection({"a": Script(gone_in=0), "b": Script()})
        _, error = run_group(
            msgspec.structs.replace(whole, phases=phases),
            connection,
            share=Share.ONE_SET,
            on_lost=OnLost.CONTINUE,
            listener=received,
            runs=tmp_path,
            argv=("assay", "quick"),
        )

        assert (error is not None) is is_needed
        assert len(connection.scripts["b"].starts) == (1 if is_needed else 2)


def test_who_is_lost_is_lost_for_the_run_and_what_it_said_is_kept(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script(gone_in=0), "c": Script()})

    bundle, error, found, received = run(tmp_path, connection)

    assert error is None
    assert "b is lost: socket closed" in received.said
    lost = {member.name: member.lost for member in found.members}
    assert lost["a"] is lost["c"] is None
    assert lost["b"] is not None
    assert (lost["b"].phase_index, lost["b"].reason, lost["b"].is_collected) == (0, "socket closed", False)
    assert [start.members for start in found.starts] == [("a", "b", "c"), ("a", "c")]
    assert connection.fetched == ["a", "c"]
    intervals = bundle.intervals()
    assert set(intervals.filter(intervals["client"] == "b")["phase_index"].to_list()) == {0}


@pytest.mark.parametrize("on_lost", [OnLost.STOP, OnLost.ABORT])
def test_the_others_end_when_they_are_to(tmp_path: Path, on_lost: OnLost) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script(gone_in=0), "c": Script()})

    bundle, error, _, _ = run(tmp_path, connection, on_lost)

    assert isinstance(error, RunError)
    assert "b: socket closed" in str(error)
    assert bundle.is_sealed
    is_stopped = [events.StopRun() in connection.scripts[name].orders for name in ("a", "c")]
    assert (is_stopped, sorted(connection.killed)) == (
        ([True, True], []) if on_lost is OnLost.STOP else ([False, False], ["a", "c"])
    )


def test_a_run_that_nobody_can_begin_says_why_for_each(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(refuses="no room"), "b": Script(refuses="read-only")})

    _, error, found, _ = run(tmp_path, connection)

    assert str(error) == "no client is left. a: no room; b: read-only"
    assert not found.starts


@pytest.mark.parametrize("errno", [None, 28])
def test_a_run_that_each_client_refuses_is_kept_nowhere(tmp_path: Path, errno: int | None) -> None:
    """Unless a call failed for one of them: what it did before is in its record."""
    refusal = events.Error(
        t_ns=1, phase_index=None, class_=events.ErrorClass.ENVIRONMENT, text="no memory", path=None, errno=None
    )
    failed = msgspec.structs.replace(refusal, errno=errno)
    connection = ScriptedConnection({
        "a": Script(refuses="no memory", refusal=refusal),
        "b": Script(refuses="no memory", refusal=failed),
        "server": Script(role=Role.OBSERVER),
    })  # fmt: skip

    if errno is None:
        with pytest.raises(RunError, match="no client is left"):
            run(tmp_path, connection)
    else:
        run(tmp_path, connection)

    assert len(list_runs(tmp_path)) == (0 if errno is None else 1)
    assert sorted(connection.removed) == ["a", "b", "server"]


def test_observers_go_along_and_make_no_load(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "server": Script(FAR_NS, role=Role.OBSERVER)})

    _, error, found, received = run(tmp_path, connection)

    assert error is None
    server = connection.scripts["server"]
    assert server.plan is not None
    assert not server.plan.file_sets
    assert [phase.name for phase in server.plan.phases] == [phase.name for phase in two_phases().phases]
    assert [order for order in server.orders if isinstance(order, events.EndPhase)] == [
        events.EndPhase(phase_index=0),
        events.EndPhase(phase_index=1),
    ]
    assert [start.members for start in found.starts] == [("a", "server")] * 2
    assert {client for client, _ in received.events} == {"a"}


def test_an_order_of_who_watches_reaches_every_engine(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script()})
    received = Received()
    received.orders = [events.EndPhase(phase_index=0)]

    run_group(
        two_phases(),
        connection,
        share=Share.OWN,
        on_lost=OnLost.CONTINUE,
        listener=received,
        runs=tmp_path,
        argv=("assay", "quick"),
    )

    assert all(events.EndPhase(phase_index=0) in script.orders for script in connection.scripts.values())


def test_what_a_lost_client_kept_makes_the_run_whole_when_it_is_collected(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(), "b": Script(gone_in=0)})
    part, _, _, _ = run(tmp_path, connection)
    connection.scripts["b"].is_gone = False
    connection.scripts["b"].stream.append(interval(TICKS))

    found = collect(part, [connection], tmp_path)

    assert (found.clients, found.whole, found.failed) == (("b",), ("a",), {})
    assert found.bundle.run_id != part.run_id
    workers = found.bundle.workers()
    kept = [event for event in connection.scripts["b"].stream if isinstance(event, events.Interval)]
    assert workers.filter(workers["client"] == "b").height == len(kept)
    now = found.bundle.client_set()
    assert now is not None
    assert [member.lost is not None and member.lost.is_collected for member in now.members] == [False, True]
    again = collect(found.bundle, [connection], tmp_path)
    assert (again.clients, again.whole, again.bundle) == ((), ("a", "b"), found.bundle)


def test_the_disks_of_clients_that_are_still_there_are_looked_at_again(tmp_path: Path) -> None:
    key = "target.data.device.0.health.{}.temperature_celsius"
    scripts = {"a": Script(degrees=[40, 60]), "b": Script(), "c": Script(degrees=[41, 61], gone_in=0)}
    connection = ScriptedConnection(scripts)

    _, _, found, _ = run(tmp_path, connection)

    shown = {member.name: {fact.key: fact.value for fact in member.facts} for member in found.members}
    assert shown["a"][key.format("begin")] == 40
    assert shown["a"][key.format("end")] == 60
    assert key.format("end") not in shown["b"] | shown["c"]
    # A client whose disk shows nothing is asked once.
    assert connection.looks == [("a", "b", "c"), ("a",)]
