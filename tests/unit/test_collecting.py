"""What clients kept is fetched, and is theirs alone until a sealed run has it."""

import contextlib
import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from assay import events
from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet, Lost, Member, OnLost, PhaseStart, Role, Share
from assay.bundle.held import held
from assay.clocks import ClockReading
from assay.cluster import fetch_progress, group_run, recalling
from assay.cluster.asked import ClientsAsked
from assay.cluster.collecting import collect, to_complete
from assay.cluster.connection import Connection, Received
from assay.cluster.fetch_progress import FetchProgress
from assay.cluster.group_run import run_group
from assay.cluster.hosts import HostSpec
from assay.cluster.kept_runs import KeptRun
from assay.cluster.not_collected import REASON
from assay.errors import AssayError, BundleError, InputError, RunError
from assay.running.stream_lock import is_being_written, lock_for_writer
from unit.bundle_streams import interval, plan
from unit.memory_run import hello
from unit.scripted_connection import Script, ScriptedConnection
from unit.test_group_run import Received as Listening
from unit.test_group_run import run

NS = 10**9
OFFSET_NS = {"a": 500 * NS, "b": -20 * NS}
BEGAN_NS = hello().clock.monotonic_at_zero_ns
RELAYED, WHOLE = 3, 5


def stream(ticks: int) -> list[events.Event]:
    return [hello(), *(interval(tick) for tick in range(ticks))]


def client_set(lost: Lost | None = None) -> ClientSet:
    return ClientSet(
        share=Share.OWN,
        on_lost=OnLost.CONTINUE,
        members=tuple(
            Member(
                name=name,
                role=Role.LOAD,
                hostname=name,
                address=name,
                facts=(),
                clock=(ClockReading(at_ns=0, offset_ns=offset_ns, bound_ns=1000, exchanges=16),),
                lost=lost if name == "b" else None,
            )
            for name, offset_ns in OFFSET_NS.items()
        ),
        starts=(PhaseStart(phase_index=0, at_ns=123, members=("a", "b")),),
    )


def left_behind(runs: Path, lost: Lost | None = None) -> RunBundle:
    """A run whose leader was killed: what it had heard of both clients, and no end."""
    bundle = RunBundle.create(runs, "set", plan=plan(), argv=("assay", "run"))
    for name in OFFSET_NS:
        bundle.stream_path(name).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in stream(RELAYED)))
    bundle.keep_client_set(client_set(lost))
    return RunBundle.open(bundle.path)


def crew_of(*names: str) -> ScriptedConnection:
    return ScriptedConnection({name: Script(stream=stream(WHOLE)) for name in names})


def members_of(bundle: RunBundle) -> dict[str, Lost | None]:
    found = bundle.client_set()
    assert found is not None
    return {member.name: member.lost for member in found.members}


def ticks_of(bundle: RunBundle) -> dict[str, int]:
    workers = bundle.workers()
    return {name: workers.filter(workers["client"] == name).height for name in bundle.clients}


def test_a_client_that_was_not_fetched_is_lost_when_the_run_is_sealed_and_is_fetched_later(tmp_path: Path) -> None:
    bundle, a, b = left_behind(tmp_path), crew_of("a"), crew_of("b")

    part = collect(bundle, [a], tmp_path)

    lost = members_of(part.bundle)["b"]
    assert members_of(part.bundle)["a"] is None
    assert lost is not None
    # Its last interval, by its own clock, and that by the leader's.
    assert lost.heard_ns == BEGAN_NS + interval(RELAYED - 1).t_ns - OFFSET_NS["b"]
    assert (lost.reason, lost.phase_index, lost.is_collected) == (REASON, 0, False)
    assert (part.bundle.path, part.clients) == (bundle.path, ("a",))

    whole = collect(part.bundle, [b], tmp_path)

    assert (whole.clients, whole.failed) == (("b",), {})
    assert ticks_of(whole.bundle) == {"a": WHOLE, "b": WHOLE}
    assert members_of(whole.bundle)["b"] == msgspec.structs.replace(lost, is_collected=True)
    assert (a.removed, b.removed) == (["a"], ["b"])


def test_what_was_said_to_be_collected_and_was_not_is_not_when_the_run_is_sealed(tmp_path: Path) -> None:
    ended = Lost(heard_ns=5, noticed_ns=6, reason="no room", phase_index=0, is_collected=True)

    part = collect(left_behind(tmp_path, ended), [crew_of("a")], tmp_path)

    assert members_of(part.bundle)["b"] == msgspec.structs.replace(ended, is_collected=False)


def test_one_that_cannot_be_fetched_does_not_keep_the_others_and_forgets_nothing(tmp_path: Path) -> None:
    connection = crew_of("a", "b")
    connection.scripts["a"].cannot_be_fetched = "it did not come whole"

    found = collect(left_behind(tmp_path), [connection], tmp_path)

    assert (found.clients, found.failed) == (("b",), {"a": "it did not come whole"})
    assert connection.removed == ["b"]


def test_why_nothing_comes_of_a_client_is_told(tmp_path: Path) -> None:
    connection = crew_of("a", "b", "c")
    connection.scripts["a"].cannot_be_recalled = "its engine is still at work"
    connection.scripts["b"].is_forgotten = True
    bundle = left_behind(tmp_path)

    found = collect(bundle, [connection], tmp_path)

    assert found.failed == {
        "a": "its engine is still at work",
        "b": f"has nothing of {bundle.run_id}",
        "c": f"is not a client of {bundle.run_id}",
    }
    assert not RunBundle.open(bundle.path).is_sealed


def test_a_stream_that_has_less_than_the_run_stays_where_it_is(tmp_path: Path) -> None:
    connection = ScriptedConnection({"a": Script(stream=stream(RELAYED - 1))})
    bundle = left_behind(tmp_path)

    found = collect(bundle, [connection], tmp_path)

    assert "the run has more of it" in found.failed["a"]
    assert connection.removed == []
    assert ticks_of(RunBundle.open(bundle.path)) == {"a": RELAYED, "b": RELAYED}


def test_nothing_is_forgotten_where_the_run_cannot_be_made_whole(tmp_path: Path) -> None:
    sealed = collect(left_behind(tmp_path), [crew_of("a")], tmp_path).bundle
    (sealed.path / "hist.parquet").write_bytes(b"damaged")
    before, b = sorted(tmp_path.iterdir()), crew_of("b")

    with pytest.raises(BundleError):
        collect(RunBundle.open(sealed.path), [b], tmp_path)

    assert b.fetched == ["b"]
    assert b.removed == []
    assert sorted(tmp_path.iterdir()) == before


def test_nothing_is_forgotten_where_a_run_cannot_be_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, bundle = crew_of("a"), left_behind(tmp_path)

    def full(_self: RunBundle, _code: int | None = None) -> None:
        raise RunError("no space left")

    monkeypatch.setattr(RunBundle, "seal", full)
    with pytest.raises(RunError, match="no space left"):
        collect(bundle, [connection], tmp_path)

    assert connection.removed == []
    monkeypatch.undo()
    assert ticks_of(collect(bundle, [connection], tmp_path).bundle)["a"] == WHOLE


def test_a_client_that_cannot_forget_is_a_remark(tmp_path: Path) -> None:
    connection = crew_of("a")
    connection.scripts["a"].cannot_forget = "read-only file system"

    found = collect(left_behind(tmp_path), [connection], tmp_path)

    assert found.clients == ("a",)
    assert found.remarks == ("a: what it recorded is in the run, and stays on its machine too: read-only file system",)


# -- runs under way ------------------------------------------------------------------------------------------------------


def test_a_run_that_somebody_works_on_is_not_collected(tmp_path: Path) -> None:
    bundle = left_behind(tmp_path)

    with held(bundle.path) as is_free:
        assert is_free
        with pytest.raises(RunError, match=f"{bundle.run_id} is under way"), to_complete(bundle):
            pytest.fail("it was held")
    with to_complete(bundle) as again:
        assert again.run_id == bundle.run_id


class Looking(Listening):
    """Looks at the folder of runs while a run goes on."""

    def __init__(self, runs: Path, look: Callable[[RunBundle], object]) -> None:
        super().__init__()
        self.runs, self.seen, self._look = runs, list[object](), look

    def look(self) -> events.Control | None:
        """Note what there is to see."""
        (folder,) = self.runs.iterdir()
        self.seen.append(self._look(RunBundle.open(folder)))
        return None


def lead(runs: Path, connection: Connection, listener: Listening) -> tuple[RunBundle, AssayError | None]:
    return run_group(
        plan(),
        connection,
        share=Share.OWN,
        on_lost=OnLost.CONTINUE,
        listener=listener,
        runs=runs,
        argv=("assay", "quick"),
    )


def test_a_leader_holds_its_run_to_the_end(tmp_path: Path) -> None:
    def is_free(bundle: RunBundle) -> bool:
        with held(bundle.path) as found:
            return found

    listener = Looking(tmp_path, is_free)

    bundle, _ = lead(tmp_path, crew_of("a"), listener)

    assert listener.seen
    assert not any(listener.seen)
    assert is_free(bundle)


def test_starts_are_written_down_while_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_run, "WRITE_S", 0.0)

    def starts(bundle: RunBundle) -> tuple[int, int]:
        found = bundle.client_set()
        assert found is not None
        return len(found.starts), len(found.members[0].clock)

    listener = Looking(tmp_path, starts)

    lead(tmp_path, crew_of("a"), listener)

    assert listener.seen[-1] == (1, 2)


class Breaking(ScriptedConnection):
    """Clients of which the leader receives nothing more once the phase has begun."""

    def receive(self, timeout_s: float) -> Sequence[Received]:
        """Give what there is, until the phase is over."""
        found = super().receive(timeout_s)
        if any(script.starts for script in self.scripts.values()):
            raise RunError("the leader has a fault")
        return found


def test_a_run_that_a_fault_of_its_leader_ended_says_that_nothing_was_fetched(tmp_path: Path) -> None:
    connection = Breaking({"a": Script(), "b": Script()})
    before_ns = time.monotonic_ns()

    bundle, error = lead(tmp_path, connection, Listening())

    assert str(error) == "the leader has a fault"
    for lost in members_of(RunBundle.open(bundle.path)).values():
        assert lost is not None
        assert before_ns <= lost.heard_ns <= lost.noticed_ns
        assert (lost.reason, lost.is_collected) == (REASON, False)
    assert connection.removed == []
    whole = collect(bundle, [connection], tmp_path)
    assert whole.clients == ("a", "b")


class Checking(ScriptedConnection):
    """Looks whether the run is sealed, before a client forgets it."""

    def __init__(self, scripts: dict[str, Script], runs: Path) -> None:
        super().__init__(scripts)
        self._runs = runs

    def remove_run(self, client: str) -> str:
        """Only what is sealed."""
        (folder,) = self._runs.iterdir()
        assert RunBundle.open(folder).is_sealed
        return super().remove_run(client)


def test_clients_forget_a_run_once_it_is_sealed(tmp_path: Path) -> None:
    connection = Checking({"a": Script(), "b": Script()}, tmp_path)

    run(tmp_path, connection)

    assert connection.removed == ["a", "b"]


def test_clients_keep_what_could_not_be_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: RunBundle, _code: int | None = None) -> None:
        raise RunError("no space left")

    monkeypatch.setattr(RunBundle, "seal", full)
    connection = crew_of("a")
    connection.scripts["a"].stream.clear()

    lead(tmp_path, connection, Listening())

    assert connection.fetched == ["a"]
    assert connection.removed == []


def test_a_client_is_not_lost_for_want_of_cleaning_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connection = ScriptedConnection({"a": Script(cannot_forget="read-only file system")})

    bundle, error = lead(tmp_path, connection, Listening())

    assert error is None
    assert members_of(bundle) == {"a": None}
    assert "a: what it recorded is in the run, and stays on its machine too" in capsys.readouterr().err


# -- on the client -------------------------------------------------------------------------------------------------------


def kept_run(root: Path) -> KeptRun:
    kept = KeptRun.make(root, "a-run", "a", plan())
    kept.stream.write_bytes(b"one\n")
    return kept


@contextlib.contextmanager
def writing(kept: KeptRun) -> Iterator[None]:
    """Another process has the stream as its standard output, and this one has closed it."""
    with kept.stream.open("ab") as output:
        lock_for_writer(output.fileno())
        writer = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=output)
    try:
        yield
    finally:
        writer.communicate(b"\n")


def test_a_stream_has_no_digest_while_its_engine_writes(tmp_path: Path) -> None:
    kept = kept_run(tmp_path)

    with writing(kept), pytest.raises(RunError, match="its engine is still at work"):
        kept.digest()
    assert kept.digest().bytes == len(b"one\n")


def test_two_may_read_a_stream_that_nobody_writes(tmp_path: Path) -> None:
    kept = kept_run(tmp_path)

    with kept.stream.open("rb") as first, kept.stream.open("rb") as second:
        assert not is_being_written(first.fileno())
        assert not is_being_written(second.fileno())


def test_what_cannot_be_removed_whole_keeps_its_stream(tmp_path: Path) -> None:
    kept = kept_run(tmp_path)
    kept.log.mkdir()

    with pytest.raises(OSError, match=r"engine\.log"):
        kept.remove()

    assert kept.digest().bytes == len(b"one\n")
    kept.log.rmdir()
    kept.remove()
    assert not kept.folder.exists()


# -- whom to reach -------------------------------------------------------------------------------------------------------


def host(name: str) -> HostSpec:
    return HostSpec(name=name, address=name)


def asked(*names: str) -> ClientsAsked:
    return ClientsAsked(hosts=tuple(map(host, names)))


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Whom the leader tried to reach, in order; `b` cannot be."""
    tried: list[tuple[str, ...]] = []

    @contextlib.contextmanager
    def gathered(wanted: ClientsAsked, _told: Callable[[str], None]) -> Iterator[Connection]:
        names = tuple(one.name for one in wanted.hosts)
        tried.append(names)
        if "b" in names:
            raise RunError("not every client could be started. b: ssh: connection refused. Nothing was measured")
        yield crew_of(*names)

    monkeypatch.setattr(recalling, "connect", gathered)
    return tried


def test_one_that_cannot_be_reached_does_not_keep_the_others(tmp_path: Path, reached: list[tuple[str, ...]]) -> None:
    found = recalling.recall(left_behind(tmp_path), asked("a", "b"), tmp_path, lambda _: None)

    assert reached == [("a", "b"), ("a",), ("b",)]
    assert (found.clients, found.failed) == (("a",), {"b": "ssh: connection refused"})


def test_who_alone_cannot_be_reached_is_an_error(tmp_path: Path, reached: list[tuple[str, ...]]) -> None:
    with pytest.raises(RunError, match=r"b: ssh: connection refused\. Nothing was fetched$"):
        recalling.recall(left_behind(tmp_path), asked("b"), tmp_path, lambda _: None)

    assert reached == [("b",)]


def test_who_is_whole_already_is_not_called(tmp_path: Path, reached: list[tuple[str, ...]]) -> None:
    part = recalling.recall(left_behind(tmp_path), asked("a"), tmp_path, lambda _: None).bundle
    reached.clear()

    found = recalling.recall(part, asked("a"), tmp_path, lambda _: None)

    assert (found.clients, found.whole, found.failed, reached) == ((), ("a",), {}, [])


def test_who_is_no_client_of_the_run_is_refused_before_anybody_is_called(
    tmp_path: Path, reached: list[tuple[str, ...]]
) -> None:
    bundle = left_behind(tmp_path)

    with pytest.raises(InputError, match=rf"'z' is not a client of {bundle.run_id}, in which they are called a, b"):
        recalling.recall(bundle, asked("a", "z"), tmp_path, lambda _: None)

    assert reached == []


def test_a_run_is_not_sealed_under_its_leader(tmp_path: Path, reached: list[tuple[str, ...]]) -> None:
    bundle = left_behind(tmp_path)

    with held(bundle.path), pytest.raises(RunError, match="is under way"):
        recalling.recall(bundle, asked("a"), tmp_path, lambda _: None)

    assert reached == []
    assert not RunBundle.open(bundle.path).is_sealed


# -- progress --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Clock:
    """Stands still until it is moved."""

    now_s: float = 100.0

    def monotonic(self) -> float:
        """Tell the time."""
        return self.now_s


def test_how_far_fetching_is_is_told_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(), list[str]()
    monkeypatch.setattr(fetch_progress, "time", clock)
    progress = FetchProgress(("a", "b"), said.append)

    for now_s, done_bytes in ((101.9, 1 << 20), (102.0, 2 << 20), (103.9, 3 << 20), (104.1, 4 << 20)):
        clock.now_s = now_s
        progress.look("b", done_bytes, 8 << 20)

    assert said == [
        "fetching what the clients recorded: b, 2 of 2, 2.00 MiB of 8.00 MiB",
        "fetching what the clients recorded: b, 2 of 2, 4.00 MiB of 8.00 MiB",
    ]
