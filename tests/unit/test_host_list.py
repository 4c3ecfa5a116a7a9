"""Who is taken for lost, who is let in, and what of their words is believed: without a network."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from assay import __version__, events
from assay.bundle.client_set import Role
from assay.bundle.strict_json import decode
from assay.cluster.connection import ClientEvent, Ended, Gone, JoinedClient, Received
from assay.cluster.host_list import (
    FIRST_WORD_BYTES,
    FIRST_WORDS,
    LOST_BEATS,
    WATCH_S,
    Connected,
    HostList,
    admit_expected,
)
from assay.cluster.join_file import new_join
from assay.cluster.wire import CARD, Card, ClientMessage, EchoAt, Facts, LeaderMessage, card_of
from assay.host.facts import Fact
from unit.memory_run import hello

S = 1_000_000_000
BEGUN = 1_000 * S
WATCH_NS = round(WATCH_S * S)


class Comm:
    """What a client would be told."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, object]] = []

    def send(self, message: Mapping[str, object]) -> None:
        """Keep it."""
        self.sent.append(message)


class State:
    """Of a client, as Dask knows it."""

    def __init__(self, name: str, card: object) -> None:
        self.name, self.host, self.extra = name, "192.0.2.7", {CARD: card}


class Server:
    """The part of Dask's scheduler that the host list uses."""

    def __init__(self) -> None:
        self.stream_handlers: dict[str, Any] = {}
        self.stream_comms: dict[str, Comm] = {}
        self.workers: dict[str, State] = {}
        self.removed: list[str] = []
        self.faults: dict[str, str] = {}

    async def remove_worker(self, worker: str, **_: object) -> None:
        """Note it."""
        self.removed.append(worker)


def attached() -> tuple[HostList, Server]:
    host_list, server = HostList(), Server()
    host_list.attach(server, new_join("tls://192.0.2.1:1", is_encrypted=True))  # type: ignore[arg-type]
    return host_list, server


def card(host_list: HostList, name: str = "n1", **changes: Any) -> Card:
    greeting = hello()
    own = msgspec.structs.replace(greeting, engine=msgspec.structs.replace(greeting.engine, version=__version__))
    made = Card(name=name, role=Role.LOAD, assay_version=__version__, token=host_list._join.token, hello=own)
    return msgspec.structs.replace(made, **changes)


def join(host_list: HostList, server: Server, found: Card | bytes, name: str = "n1") -> str:
    """Have a client connect, and give Dask's address of it."""
    worker = f"tls://192.0.2.7:{len(server.workers) + 1}"
    server.workers[worker] = State(name, found if isinstance(found, bytes) else msgspec.json.encode(found))
    server.stream_comms[worker] = Comm()
    host_list.add_worker(server, worker)  # type: ignore[arg-type]
    return worker


def received(host_list: HostList) -> list[Received]:
    found = []
    while not host_list.received.empty():
        found.append(host_list.received.get_nowait())
    return found


def ready() -> bytes:
    return msgspec.json.encode(events.Ready(t_ns=1, phase_index=0, workers=1))


def say(server: Server, worker: str, number: int, *lines: bytes, run_id: str = "", **words: object) -> None:
    all_words = {"is_over": False, "error": None} | words
    server.stream_handlers[ClientMessage.EVENTS.value](
        worker=worker, run_id=run_id, number=number, lines=lines, **all_words
    )


# -- silence -----------------------------------------------------------------------------------------------------------


def silent_since_the_beginning(host_list: HostList) -> Connected:
    found = card(host_list)
    joined = JoinedClient(name="n1", role=Role.LOAD, hostname="h", address="192.0.2.7", hello=found.hello)
    one = Connected(found, joined, "tls://192.0.2.7:1", BEGUN)
    host_list.by_name["n1"] = one
    return one


def lost_after_s(host_list: HostList, *, leader_stands_at_s: int | None = None, stands_s: int = 0) -> float:
    """Look as often as the watch does, until the client is lost; the leader may stand still meanwhile."""
    last_ns = BEGUN
    for _ in range(1000):
        now_ns = last_ns + WATCH_NS
        if leader_stands_at_s is not None and last_ns == BEGUN + leader_stands_at_s * S:
            now_ns += stands_s * S
        if host_list.overdue(last_ns, now_ns):
            return (now_ns - BEGUN) / S
        last_ns = now_ns
    raise AssertionError("never lost")


def test_a_silent_client_is_lost_after_ten_periods() -> None:
    host_list, _ = attached()
    silent_since_the_beginning(host_list)

    assert lost_after_s(host_list) == pytest.approx(LOST_BEATS * 1.0 + WATCH_S)


def test_with_more_clients_than_can_be_heard_each_second_the_patience_grows_with_the_period() -> None:
    host_list, _ = attached()
    host_list.period_s = 5.0
    silent_since_the_beginning(host_list)

    assert lost_after_s(host_list) == pytest.approx(LOST_BEATS * 5.0 + WATCH_S)


def test_time_in_which_the_leader_stood_still_is_nobodys_silence() -> None:
    host_list, _ = attached()
    silent_since_the_beginning(host_list)

    assert lost_after_s(host_list, leader_stands_at_s=4, stands_s=60) == pytest.approx(LOST_BEATS * 1.0 + 60 + WATCH_S)


def test_a_word_ends_the_silence() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))
    one = host_list.by_name["n1"]
    one.last_event_ns, one.pardoned_ns = 0, 3 * S

    server.stream_handlers[ClientMessage.BEAT.value](worker=worker)

    assert one.last_event_ns > 0
    assert one.pardoned_ns == 0


# -- who is let in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"token": "another"}, "another run"),
        ({"assay_version": "9.9.9"}, "install the same version"),
        ({"name": "n2"}, "two names"),
        ({"role": Role.OBSERVER}, "expected as load"),
    ],
    ids=["token", "version", "name", "role"],
)
def test_who_does_not_fit_is_told_why_and_is_not_there(changes: dict[str, Any], reason: str) -> None:
    host_list, server = attached()
    host_list.expect(admit_expected({"n1": Role.LOAD, "n2": Role.LOAD}))

    worker = join(host_list, server, card(host_list, **changes))

    assert host_list.by_name == {}
    (told,) = server.stream_comms[worker].sent
    assert told["op"] == LeaderMessage.DISMISS.value
    assert reason in str(told["reason"])


def test_who_says_nothing_that_can_be_read_is_not_let_in() -> None:
    host_list, server = attached()

    for data in (b"", b"{}", b"[" * 1000, b" " * (1 << 17)):
        join(host_list, server, data, name=f"x{len(server.workers)}")

    assert host_list.by_name == {}
    assert len(host_list.refused) == 4


def test_a_card_is_no_longer_than_cards_are() -> None:
    with pytest.raises(ValueError, match="not a client"):
        card_of(b" " * (1 << 17))


def test_what_a_client_answers_has_the_limits_of_what_is_kept() -> None:
    host_list, _ = attached()
    found = card(host_list)
    machine = msgspec.structs.replace(found.hello.machine, ram_bytes=1 << 80)
    with pytest.raises(ValueError, match="a number is too large"):
        msgspec.structs.replace(found, hello=msgspec.structs.replace(found.hello, machine=machine)).__post_init__()
    fact = Fact(key="k", value=1, source="s")
    for facts, said in (
        ((fact,) * 20_001, "20001 facts"),
        ((msgspec.structs.replace(fact, value=1 << 65),), "a number is too large"),
        ((msgspec.structs.replace(fact, value=("x" * 20_000,)),), "20000 characters"),
    ):
        with pytest.raises(ValueError, match=said):
            decode(b'{"type":"Facts","facts":' + _json(facts) + b"}", Facts)
    for address in ("--help", "a.example", "1.2.3.4:5 --x", ""):
        with pytest.raises(ValueError, match="does not appear"):
            EchoAt(address=address, port=1, key=b"k")
    for port, key in ((0, b"k"), (1 << 16, b"k"), (1, b"k" * 2000)):
        with pytest.raises(ValueError, match="no clock can be asked"):
            EchoAt(address="192.0.2.1", port=port, key=key)


def _json(facts: tuple[Fact, ...]) -> bytes:
    return json.dumps([msgspec.to_builtins(fact) for fact in facts]).encode()


def test_who_came_before_it_was_known_who_is_expected_is_dismissed_then() -> None:
    host_list, server = attached()
    stranger = join(host_list, server, card(host_list, "stranger"), name="stranger")
    join(host_list, server, card(host_list))

    host_list.expect(admit_expected({"n1": Role.LOAD}))

    assert list(host_list.by_name) == ["n1"]
    assert "no client 'stranger' is expected" in str(server.stream_comms[stranger].sent[0]["reason"])
    host_list.remove_worker(server, stranger)  # type: ignore[arg-type]
    assert received(host_list) == []


def test_nobody_comes_in_once_the_run_has_begun() -> None:
    host_list, server = attached()
    join(host_list, server, card(host_list))
    assert not host_list.shut(2)
    assert host_list.shut(1)

    late = join(host_list, server, card(host_list, "late"), name="late")

    assert list(host_list.by_name) == ["n1"]
    assert "begun without it" in str(server.stream_comms[late].sent[0]["reason"])


def test_a_number_is_of_those_that_make_load_and_no_more_come_in() -> None:
    host_list, server = attached()
    observer = msgspec.structs.replace(card(host_list, "s1"), role=Role.OBSERVER)
    for name, each in (("s1", observer), ("n1", card(host_list)), ("n2", card(host_list, "n2"))):
        last = join(host_list, server, each, name=name)
        assert not host_list.shut(3)

    assert host_list.shut(1)

    assert list(host_list.by_name) == ["s1", "n1"]
    assert "1 clients are there already" in str(server.stream_comms[last].sent[0]["reason"])


# -- words -------------------------------------------------------------------------------------------------------------


def test_a_number_that_is_missing_is_counted() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))

    for number in (0, 1, 4, 5):
        say(server, worker, number, ready())

    assert host_list.batches_missed == {"n1": 2}
    assert len(received(host_list)) == 4


def test_words_of_another_run_are_not_heard() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))
    host_list.by_name["n1"].run_id = "second"

    say(server, worker, 7, ready(), run_id="first")
    say(server, worker, 0, ready(), run_id="second")

    assert len(received(host_list)) == 1
    assert host_list.batches_missed == {}


def test_the_end_comes_after_the_last_words() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))

    say(server, worker, 0, ready(), is_over=True, error="no room")

    said, ended = received(host_list)
    assert isinstance(said, ClientEvent)
    assert ended == Ended(client="n1", error="no room")


def test_who_says_what_is_no_event_is_given_up() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))

    async def say_nonsense() -> None:
        say(server, worker, 0, b'{"event": "nonsense"}')
        await asyncio.sleep(0)

    asyncio.run(say_nonsense())
    host_list.remove_worker(server, worker)  # type: ignore[arg-type]

    assert server.removed == [worker]
    (gone,) = received(host_list)
    assert isinstance(gone, Gone)
    assert "not an event" in gone.reason
    assert gone.is_lie


def _is_lost_by(*lines: bytes, times: int = 1) -> str:
    """Say why the leader gives a client up that says these lines so often; nothing where it does not."""
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))

    async def say_it() -> None:
        for number in range(times):
            say(server, worker, number, *lines)
        await asyncio.sleep(0)

    asyncio.run(say_it())
    if not server.removed:
        return ""
    host_list.remove_worker(server, worker)  # type: ignore[arg-type]
    gone = received(host_list)[-1]
    assert isinstance(gone, Gone)
    assert gone.is_lie
    return gone.reason


def test_who_says_more_than_a_client_says_is_given_up_before_it_fills_memory() -> None:
    warning = msgspec.json.encode(events.Warning(t_ns=1, phase_index=None, id="x", text="w"))

    assert _is_lost_by(warning, times=FIRST_WORDS // 2) == ""
    # Each second allows for more: far beyond what a slow machine takes to say it.
    assert "20000 events in" in _is_lost_by(*[warning] * (2 * FIRST_WORDS))
    assert "bytes in" in _is_lost_by(*[b" " * (FIRST_WORD_BYTES // 8)] * 16)


def test_a_reason_is_as_long_as_a_reason_is() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))

    say(server, worker, 0, is_over=True, error="e" * 10**6)
    ended = received(host_list)[-1]

    assert isinstance(ended, Ended)
    assert ended.error is not None
    assert len(ended.error) == 500


def test_who_is_gone_is_said_once_with_its_own_reason_where_it_gave_one() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))
    before_ns = host_list.by_name["n1"].last_event_ns

    server.stream_handlers[ClientMessage.LEAVES.value](worker=worker, reason="SIGTERM ended it")
    for _ in range(2):
        host_list.remove_worker(server, worker)  # type: ignore[arg-type]
    say(server, worker, 0, ready())

    (gone,) = received(host_list)
    assert isinstance(gone, Gone)
    assert gone.reason == "it left: SIGTERM ended it"
    assert before_ns <= gone.last_event_ns <= gone.noticed_ns


def test_nobody_is_lost_who_was_let_go() -> None:
    host_list, server = attached()
    worker = join(host_list, server, card(host_list))

    host_list.close_softly()
    host_list.remove_worker(server, worker)  # type: ignore[arg-type]

    assert server.stream_comms[worker].sent == [{"op": LeaderMessage.LET_GO.value}]
    assert received(host_list) == []
