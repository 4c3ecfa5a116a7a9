"""Real clients in processes of their own, which join a leader in this one, with real engines."""

import asyncio
import contextlib
import hashlib
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from assay import __version__, events
from assay.bundle.client_set import Role
from assay.cluster.connection import ClientEvent, Ended, Gone, Received
from assay.cluster.dask_connection import DaskConnection
from assay.cluster.join_file import read_join
from assay.cluster.lead import Lead
from assay.cluster.security import security_of
from assay.cluster.wire import Card
from assay.cluster.worker import ClientSettings, ClientWorker, Departure, Why
from assay.errors import InputError, RunError
from assay.loads import native
from assay.plan import Plan
from assay.running.engine import capabilities
from e2e.command import COMMAND, need_command
from e2e.processes import WAIT_S, is_alive
from testbed.host import wait_until

RUN = "a-run"
NAMES = ("n1", "n2", "n10")
LOAD = """
name = "small"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "4MiB"
[[phase]]
name = "read"
seconds = "{seconds}"
[[phase.job]]
limit = {{ ops_per_s = 500 }}
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""


def plan(directory: Path, seconds: str = "3s") -> Plan:
    return native.parse(LOAD.format(seconds=seconds), "small.toml", directory=directory, settings={})


class Scene:
    """A leader in this process and clients in others; nothing of it outlives the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.join = folder / "join"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str, words: Sequence[str] = ()) -> None:
        """Start clients by their names."""
        for name in names:
            with (self.folder / f"{name}.said").open("wb") as said:
                self.processes[name] = subprocess.Popen(
                    [COMMAND, "worker", "--join", self.join, "--name", name, *words],
                    env={**os.environ, "XDG_STATE_HOME": str(self.folder / "state")},
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )

    def said(self, name: str) -> str:
        """What a client printed."""
        return (self.folder / f"{name}.said").read_text()

    def exit_code(self, name: str) -> int:
        """Wait for a client's end."""
        return self.processes[name].wait(WAIT_S)

    def directory(self, name: str) -> Path:
        """A directory of a client's own to measure."""
        path = self.folder / "data" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def plans(self, *names: str, seconds: str = "3s") -> dict[str, Plan]:
        """A small Plan for each."""
        return {name: plan(self.directory(name), seconds) for name in names}

    def kept(self, name: str) -> Path:
        """The stream that a client keeps."""
        return self.folder / "state" / "assay" / "clients" / RUN / name / "events.ndjson"

    def engine(self, name: str) -> int:
        """Process of a client's engine, as the stream that it writes tells."""
        hello = events.decode(self.kept(name).read_bytes().split(b"\n")[0])
        assert isinstance(hello, events.Hello)
        return hello.engine.pid

    def end(self) -> None:
        """Leave nothing running."""
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait(WAIT_S)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    need_command()
    made = Scene(tmp_path)
    try:
        yield made
    finally:
        made.end()


@contextlib.contextmanager
def crew_of(scene: Scene, *names: str, insecure: bool = False) -> Iterator[DaskConnection]:
    with Lead("127.0.0.1", scene.join, insecure) as lead:
        scene.start(*names, words=("--insecure-as-root",) if insecure else ())
        connection = lead.gather(dict.fromkeys(names, Role.LOAD), WAIT_S, lambda _: None)
        yield connection


def hear_until(connection: DaskConnection, is_enough: Callable[[list[Received]], bool]) -> list[Received]:
    received: list[Received] = []

    def look() -> bool:
        received.extend(connection.receive(0.2))
        return is_enough(received)

    wait_until(look, "enough events", WAIT_S)
    return received


def all_over(*names: str) -> Callable[[list[Received]], bool]:
    return lambda received: {one.client for one in received if isinstance(one, Ended | Gone)} >= set(names)


def is_started(*names: str) -> Callable[[list[Received]], bool]:
    def are_all(received: list[Received]) -> bool:
        return set(names) <= {
            one.client for one in received if isinstance(one, ClientEvent) and isinstance(one.event, events.Started)
        }

    return are_all


def said_by(received: Sequence[Received], name: str) -> list[events.Event]:
    return [one.event for one in received if isinstance(one, ClientEvent) and one.client == name]


def stream_of(path: Path) -> list[events.Event]:
    return [events.decode(line) for line in path.read_bytes().splitlines()]


def kinds(seen: Sequence[events.Event]) -> list[type]:
    """What happened, in order, without what comes once in a period and what is left out on the way."""
    left_out = (events.Interval, events.Progress, events.Laps)
    return [type(event) for event in seen if not isinstance(event, left_out)]


def sums(seen: Sequence[events.Event]) -> Counter[str]:
    """Operations, bytes and single buckets of the histograms, over all intervals."""
    found: Counter[str] = Counter()
    for event in seen:
        for one in event.operations if isinstance(event, events.Interval) else ():
            found[f"{one.operation} ops"] += one.ops
            found[f"{one.operation} bytes"] += one.bytes
            found[f"{one.operation} sum_ns"] += one.latency.sum_ns
            for index, count in zip(one.latency.index, one.latency.count, strict=True):
                found[f"{one.operation} bucket {index}"] += count
    return found


def fetched(connection: DaskConnection, name: str, folder: Path) -> Path:
    into = folder / "events" / f"{name}.ndjson"
    into.parent.mkdir(exist_ok=True)
    connection.fetch(name, into)
    return into


def test_all_that_engines_say_comes_in_order_and_sums_to_the_streams_that_are_fetched(scene: Scene) -> None:
    with crew_of(scene, *NAMES) as connection:
        assert list(connection.clients) == list(NAMES)
        connection.begin(RUN, scene.plans(*NAMES))
        connection.send_controls(dict.fromkeys(NAMES, events.StartWhenReady()))
        received = hear_until(connection, all_over(*NAMES))

        for name in NAMES:
            own = hashlib.sha256(scene.kept(name).read_bytes()).hexdigest()
            into = fetched(connection, name, scene.folder)
            whole, relayed = stream_of(into), said_by(received, name)
            assert hashlib.sha256(into.read_bytes()).hexdigest() == own
            assert kinds(relayed) == kinds(whole)
            assert sums(relayed) == sums(whole)
            assert sums(whole)["read ops"] > 0
            assert not any(isinstance(event, events.Interval) and (event.host or event.workers) for event in relayed)
        assert [one.error for one in received if isinstance(one, Ended)] == [None] * len(NAMES)
        assert not connection.batches_missed
        assert all(scene.kept(name).is_file() for name in NAMES)
        assert [connection.remove_run(name) for name in NAMES] == [""] * len(NAMES)
        assert not list((scene.folder / "state").rglob("*.ndjson"))

    assert [scene.exit_code(name) for name in NAMES] == [0] * len(NAMES)
    assert not scene.join.exists()
    assert not list((scene.folder / "state").rglob(RUN))


def test_a_start_that_was_agreed_is_kept_on_every_client(scene: Scene) -> None:
    def is_ready(received: list[Received]) -> bool:
        ready = {one.client for one in received if isinstance(one, ClientEvent) and isinstance(one.event, events.Ready)}
        return ready >= set(NAMES[:2])

    with crew_of(scene, *NAMES[:2]) as connection:
        connection.begin(RUN, scene.plans(*NAMES[:2], seconds="1s"))
        received = hear_until(connection, is_ready)
        at_ns = connection.read_clocks()["n1"].at_ns + 2_000_000_000
        connection.send_controls({name: events.Start(phase_index=0, at_monotonic_ns=at_ns) for name in NAMES[:2]})
        received += hear_until(connection, all_over(*NAMES[:2]))

    for name in NAMES[:2]:
        hello = next(event for event in said_by(received, name) if isinstance(event, events.Hello))
        started = next(event for event in said_by(received, name) if isinstance(event, events.Started))
        assert started.late_ns is not None
        assert hello.clock.monotonic_at_zero_ns + started.start_ns - started.late_ns == at_ns


def test_the_clock_of_this_very_machine_is_found_within_the_bound(scene: Scene) -> None:
    with crew_of(scene, *NAMES[:2]) as connection:
        readings = connection.read_clocks()

    assert list(readings) == list(NAMES[:2])
    for reading in readings.values():
        assert abs(reading.offset_ns) <= reading.bound_ns
        assert reading.exchanges == 16


def test_a_client_that_is_killed_is_gone_and_the_others_are_whole(scene: Scene) -> None:
    with crew_of(scene, *NAMES) as connection:
        connection.begin(RUN, scene.plans(*NAMES, seconds="4s"))
        connection.send_controls(dict.fromkeys(NAMES, events.StartWhenReady()))
        received = hear_until(connection, is_started(*NAMES))
        engine = scene.engine("n2")
        scene.processes["n2"].kill()
        received += hear_until(connection, all_over(*NAMES))

        gone = [one for one in received if isinstance(one, Gone)]
        assert [one.client for one in gone] == ["n2"]
        assert "connection closed" in gone[0].reason
        assert gone[0].last_event_ns <= gone[0].noticed_ns
        assert list(connection.clients) == ["n1", "n10"]
        for name in ("n1", "n10"):
            assert sums(said_by(received, name)) == sums(stream_of(fetched(connection, name, scene.folder)))
        with pytest.raises(RunError, match="'n2' is not connected"):
            connection.fetch("n2", scene.folder / "n2.ndjson")

    wait_until(lambda: not is_alive(engine), "the engine of the killed client ends", WAIT_S)
    assert isinstance(stream_of(scene.kept("n2"))[-1], events.Finished)
    assert not list(scene.directory("n2").iterdir())


def test_a_client_that_hangs_is_given_up(scene: Scene) -> None:
    with crew_of(scene, "n1") as connection:
        scene.processes["n1"].send_signal(signal.SIGSTOP)
        try:
            (gone,) = hear_until(connection, all_over("n1"))
        finally:
            scene.processes["n1"].send_signal(signal.SIGCONT)

    assert isinstance(gone, Gone)
    assert "was silent for" in gone.reason
    assert scene.exit_code("n1") == 3


def test_engines_that_are_ended_leave_their_streams(scene: Scene) -> None:
    with crew_of(scene, "n1") as connection:
        connection.begin(RUN, scene.plans("n1", seconds="1h"))
        connection.send_controls({"n1": events.StartWhenReady()})
        hear_until(connection, is_started("n1"))
        connection.end_engines(["n1"])
        (ended,) = [one for one in hear_until(connection, all_over("n1")) if isinstance(one, Ended)]
        whole = stream_of(fetched(connection, "n1", scene.folder))

    assert ended.error is not None
    assert "ended at once" in ended.error
    assert any(isinstance(event, events.Started) for event in whole)


def test_a_client_that_is_stopped_removes_data_keeps_the_stream_and_says_so(scene: Scene) -> None:
    with crew_of(scene, "n1") as connection:
        connection.begin(RUN, scene.plans("n1", seconds="1h"))
        connection.send_controls({"n1": events.StartWhenReady()})
        hear_until(connection, is_started("n1"))
        scene.processes["n1"].terminate()
        received = hear_until(connection, lambda received: any(isinstance(one, Gone) for one in received))

    (gone,) = [one for one in received if isinstance(one, Gone)]
    assert "SIGTERM ended it" in gone.reason
    assert any(isinstance(one, Ended) for one in received)
    assert scene.exit_code("n1") == 130
    assert isinstance(stream_of(scene.kept("n1"))[-1], events.Finished)
    assert not list(scene.directory("n1").iterdir())


LEADER = """
import sys
from pathlib import Path
from assay import events
from assay.bundle.client_set import Role
from assay.cluster.lead import Lead
from assay.loads import native

join, text, data, names = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:]
with Lead("127.0.0.1", join) as lead:
    crew = lead.gather(dict.fromkeys(names, Role.LOAD), 600, lambda _: None)
    plans = {name: native.parse(text, "small.toml", directory=data / name, settings={}) for name in names}
    crew.begin("a-run", plans)
    crew.send_controls(dict.fromkeys(names, events.StartWhenReady()))
    started = set()
    while True:
        for one in crew.receive(1.0):
            if isinstance(getattr(one, "event", None), events.Started):
                started.add(one.client)
                if len(started) == len(names):
                    print("started", flush=True)
"""


def test_a_leader_that_is_killed_leaves_streams_and_nothing_else(scene: Scene) -> None:
    names = NAMES[:2]
    for name in names:
        scene.directory(name)
    words = [str(scene.join), LOAD.format(seconds="1h"), str(scene.folder / "data"), *names]
    leader = subprocess.Popen([sys.executable, "-c", LEADER, *words], stdout=subprocess.PIPE)
    try:
        scene.start(*names)
        assert leader.stdout is not None
        assert leader.stdout.readline() == b"started\n"
        engines = [scene.engine(name) for name in names]
    finally:
        leader.kill()
        leader.communicate(timeout=WAIT_S)

    assert [scene.exit_code(name) for name in names] == [3, 3]
    for name, engine in zip(names, engines, strict=True):
        assert "is gone" in scene.said(name)
        assert not is_alive(engine)
        assert isinstance(stream_of(scene.kept(name))[-1], events.Finished)
        assert not list(scene.directory(name).iterdir())
    assert not scene.join.exists()


def talk(address: tuple[str, int], context: ssl.SSLContext | None) -> bytes:
    """Try to talk to the leader, and give what it answers beyond TLS."""
    with contextlib.suppress(OSError), socket.create_connection(address, WAIT_S) as plain:
        if context is None:
            plain.sendall(b"\x00" * 64)
            return b"" if plain.recv(100)[:1] in {b"", b"\x15"} else b"an answer"  # 21 begins an alert of TLS
        with context.wrap_socket(plain) as wrapped:
            wrapped.sendall(b"\x00" * 64)
            return wrapped.recv(100)
    return b""


def unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_nobody_without_the_key_is_let_in(scene: Scene) -> None:
    with Lead("127.0.0.1", scene.join) as lead, Lead("127.0.0.1", scene.folder / "other"):
        stranger = unverified()
        stranger.load_cert_chain(scene.folder / "other" / "run.crt.pem", scene.folder / "other" / "run.key.pem")
        member = unverified()
        member.load_cert_chain(scene.join / "run.crt.pem", scene.join / "run.key.pem")

        address = lead.join.leader
        assert talk(address, None) == b""
        assert talk(address, unverified()) == b""
        assert talk(address, stranger) == b""
        assert talk(address, member) != b""


def serve_in_a_thread(lead: Lead, card: Card, folder: Path) -> "queue.SimpleQueue[Departure]":
    """Be a client with a card of one's own, and give how that ends."""
    join, at = read_join(lead.join_file)
    ends: queue.SimpleQueue[Departure] = queue.SimpleQueue()

    async def serve() -> Departure:
        settings = ClientSettings(card=card, host="127.0.0.1", root=folder, idle_s=WAIT_S)
        return await ClientWorker(join, security_of(join, at), settings).serve()

    threading.Thread(target=lambda: ends.put(asyncio.run(serve()))).start()
    return ends


def own_card(lead: Lead, **changes: object) -> Card:
    own = Card(name="n1", role=Role.LOAD, assay_version=__version__, token=lead.join.token, hello=capabilities())
    return msgspec.structs.replace(own, **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"assay_version": "0.0.9"}, r"assay 0\.0\.9 with assay-engine .* and the leader assay .* with assay-engine"),
        ({"token": "0" * 32}, "another run"),
        ({"role": Role.OBSERVER}, "joined as observer, and is expected as load"),
    ],
    ids=["version", "token", "role"],
)
def test_a_client_that_does_not_fit_is_refused_with_the_reason(
    scene: Scene, changes: Mapping[str, object], reason: str
) -> None:
    with Lead("127.0.0.1", scene.join) as lead:
        ends = serve_in_a_thread(lead, own_card(lead, **changes), scene.folder)
        with pytest.raises(RunError, match=f"client 'n1' was refused: .*{reason}"):
            lead.gather({"n1": Role.LOAD}, WAIT_S, lambda _: None)
        departure = ends.get(timeout=WAIT_S)

    assert departure.why is Why.REFUSED


def test_a_name_that_is_taken_is_refused(scene: Scene) -> None:
    with Lead("127.0.0.1", scene.join) as lead:
        both = [serve_in_a_thread(lead, own_card(lead), scene.folder) for _ in range(2)]
        wait_until(lambda: not all(ends.empty() for ends in both), "one of two to be refused", WAIT_S)
        lead.gather({"n1": Role.LOAD}, WAIT_S, lambda _: None)

    ended = [ends.get(timeout=WAIT_S) for ends in both]
    assert sorted(one.why.name for one in ended) == ["LET_GO", "NAME_TAKEN"], ended


def test_who_is_missing_is_named(scene: Scene) -> None:
    told: list[str] = []
    with Lead("127.0.0.1", scene.join) as lead:
        scene.start("n1")
        with pytest.raises(RunError, match="n2 did not join"):
            lead.gather({"n1": Role.LOAD, "n2": Role.LOAD}, 5.0, told.append)

    assert any("waiting for" in line and "n2" in line for line in told)
    assert not scene.join.exists()


def test_any_names_are_welcome_where_only_a_number_is_asked_for_and_come_in_the_order_of_names(scene: Scene) -> None:
    with Lead("127.0.0.1", scene.join) as lead:
        scene.start(*reversed(NAMES))
        connection = lead.gather(3, WAIT_S, lambda _: None)

        assert list(connection.clients) == list(NAMES)


def test_facts_of_each_client_come_with_those_of_the_directories(scene: Scene) -> None:
    with crew_of(scene, *NAMES[:2]) as connection:
        facts = connection.look({key: {"data": str(scene.directory("all"))} for key in connection.clients})
        with pytest.raises(RunError, match=r"client 'n1'.*nowhere.*client 'n2'.*nowhere"):
            connection.look({key: {"data": str(scene.folder / "nowhere")} for key in connection.clients})

    for name in NAMES[:2]:
        assert {fact.key: fact.value for fact in facts[name]}["target.data.directory"] == str(scene.directory("all"))


def test_what_an_engine_cannot_do_is_said_when_it_ends(scene: Scene) -> None:
    with crew_of(scene, "n1") as connection:
        connection.begin(RUN, {"n1": plan(scene.folder / "nowhere")})
        (ended,) = [one for one in hear_until(connection, all_over("n1")) if isinstance(one, Ended)]

    assert ended.error is not None
    assert "nowhere" in ended.error


def test_one_run_at_a_time(scene: Scene) -> None:
    with crew_of(scene, "n1") as connection:
        connection.begin(RUN, scene.plans("n1", seconds="1h"))
        with pytest.raises(RunError, match="client 'n1': another run is under way"):
            connection.begin("another", scene.plans("n1"))


def test_several_runs_one_after_the_other(scene: Scene) -> None:
    with crew_of(scene, "n1") as connection:
        for run_id in ("first", "second"):
            connection.begin(run_id, scene.plans("n1", seconds="1s"))
            connection.send_controls({"n1": events.StartWhenReady()})
            received = hear_until(connection, all_over("n1"))
            assert sums(said_by(received, "n1")) == sums(stream_of(fetched(connection, "n1", scene.folder)))


def test_an_idle_client_leaves(scene: Scene) -> None:
    with Lead("127.0.0.1", scene.join):
        scene.start("n1", words=["--idle", "1s"])

        assert scene.exit_code("n1") == 0
        assert "nothing was asked of it" in scene.said("n1")


def test_without_encryption_on_loopback(scene: Scene) -> None:
    with crew_of(scene, "n1", insecure=True) as connection:
        assert list(connection.clients) == ["n1"]
        assert not list(scene.join.glob("*.pem"))


def test_without_encryption_beyond_loopback_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--insecure"):
        Lead("192.0.2.1", tmp_path / "join", insecure=True)
