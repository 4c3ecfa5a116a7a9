"""No pickle that somebody sends is read by a leader or a worker, in whatever form; and no message takes more than it has.

The attacker speaks Dask's protocol by hand on real connections: what is looked for is a folder that each pickle would make.
"""

import asyncio
import contextlib
import functools
import os
import pickle
import resource
import socket
import struct
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="runs of many clients need the extra 'cluster'")

import msgpack  # type: ignore[import-untyped]
from distributed import core, protocol, scheduler, worker

from assay.cluster.dask_parts import LeaderServer, WorkerServer
from assay.cluster.plain_messages import MOST_OBJECTS, decode
from assay.cluster.plain_transport import FIRST_BYTES, LARGEST_BYTES, PickleRefusedError

# Dask's worker that is not let in leaves connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

HOST = "127.0.0.1"
PATIENCE_S = 20.0
HANDSHAKE = {"compression": None, "python": (3, 11), "pickle-protocol": 5}
FORMS = (
    "pickled",
    "pickled, in a list",
    "serialized",
    "compressed",
    "by value",
    "as an error",
    "as a plugin",
    "an enum",
)


class _Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.mark),)


def bomb(mark: Path) -> bytes:
    return pickle.dumps(_Bomb(mark))


def pack(*frames: bytes) -> bytes:
    """Write a message as Dask does: the size of all in one piece, their number, their lengths, and the frames."""
    head = struct.pack(f"Q{len(frames)}Q", len(frames), *map(len, frames))
    whole = head + b"".join(frames)
    return struct.pack("Q", len(whole)) + whole


def message(form: str, mark: Path, **words: object) -> bytes:  # noqa: PLR0911 - one each
    """Write a message that has a pickle in one of the forms that Dask reads."""
    data = bomb(mark)
    sub: dict[str, object] = {"num-sub-frames": 1, "split-num-sub-frames": [1], "split-offsets": [0]}
    in_pickle = {"serializer": "pickle", "writeable": (), **sub}
    match form:
        case "pickled":
            return pack(
                msgpack.dumps({**words, "x": {"__Pickled__": 1}}),
                msgpack.dumps({"pickled-obj": data, "num-sub-frames": 0}),
            )
        case "pickled, in a list":
            return pack(
                msgpack.dumps([words, {"__Pickled__": 1}]), msgpack.dumps({"pickled-obj": data, "num-sub-frames": 0})
            )
        case "serialized":
            return pack(msgpack.dumps({**words, "x": {"__Serialized__": 1}}), msgpack.dumps(in_pickle), data)
        case "compressed":
            header = {**in_pickle, "compression": ("zlib",)}
            return pack(
                msgpack.dumps({**words, "x": {"__Serialized__": 1}}), msgpack.dumps(header), zlib.compress(data)
            )
        case "by value":
            return pack(msgpack.dumps({**words, "x": {"__Serialized__": 0, "data": (in_pickle, [data])}}))
        case "as an error":
            return pack(msgpack.dumps({**words, "status": "uncaught-error", "exception": data, "traceback": data}))
        case "as a plugin":
            plugins = {"status": "OK", "time": 0.0, "heartbeat-interval": 1.0, "worker-plugins": {"x": data}}
            return pack(msgpack.dumps({**words, **plugins}))
    enum = {"__Enum__": True, "__module__": "distributed.core", "__name__": "Status", "name": "running"}
    return pack(msgpack.dumps({**words, "x": enum}))


async def read(reader: asyncio.StreamReader) -> None:
    """Read a message, whatever it is."""
    (size,) = struct.unpack("Q", await reader.readexactly(8))
    await reader.readexactly(size)


async def speak(address: str, *messages: bytes) -> bool:
    """Connect, greet, and send these; whether the other side closed the connection."""
    host, port = address.rpartition("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b"".join(messages))
        with contextlib.suppress(OSError):
            await writer.drain()
        while True:
            try:
                await asyncio.wait_for(read(reader), 0.2)
            except TimeoutError:
                return False
            except (OSError, asyncio.IncompleteReadError):
                return True
    finally:
        writer.close()


@contextlib.contextmanager
def listening(greeting: bytes, answer: bytes) -> Iterator[str]:
    """Greet whoever connects, and answer its first message; gives the address."""

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as connection, contextlib.suppress(OSError, struct.error):
                    connection.settimeout(0.5)
                    for said in (greeting, answer):
                        (size,) = struct.unpack("Q", connection.recv(8, socket.MSG_WAITALL))
                        connection.recv(size, socket.MSG_WAITALL)
                        connection.sendall(said)
                    connection.recv(1)

    with socket.create_server((HOST, 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        try:
            yield f"tcp://{HOST}:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def with_leader(work: Callable[[LeaderServer], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        async with LeaderServer(
            port=0, dashboard=False, plugins=(), host=HOST, protocol="tcp", extensions={}
        ) as leader:
            await work(leader)

    asyncio.run(asyncio.wait_for(all_of_it(), PATIENCE_S))


def a_worker(address: str) -> WorkerServer:
    return WorkerServer(
        address, nthreads=1, name="a", memory_limit=0, metrics={}, host=HOST, protocol="tcp", extensions={}
    )


@pytest.mark.long
@pytest.mark.parametrize("to", ["leader", "worker"])
@pytest.mark.parametrize("when", ["greeting", "asking"])
def test_a_pickle_that_comes_in_is_not_read(tmp_path: Path, to: str, when: str) -> None:
    async def attack(leader: LeaderServer) -> None:
        worker = a_worker(leader.address)
        await worker
        address = leader.address if to == "leader" else worker.address

        async def say(form: str, op: str) -> None:
            mark = tmp_path / form
            greeting = pack(msgpack.dumps(HANDSHAKE)) if when == "asking" else message(form, mark, **HANDSHAKE)
            await speak(address, greeting, message(form, mark, op=op, address="tcp://127.0.0.1:1", name="b"))

        try:
            for op in ("heartbeat_worker", "register-worker") if to == "leader" else ("ping", "assay-look"):
                await asyncio.gather(*(say(form, op) for form in FORMS))
        finally:
            await worker.close(timeout=5, executor_wait=False)

    with_leader(attack)

    assert list(tmp_path.iterdir()) == []


def answers(folder: Path, when: str) -> Iterator[tuple[bytes, bytes]]:
    """Give what is greeted and answered with, in each form."""
    for form in FORMS:
        said = message(form, folder / form, **HANDSHAKE)
        yield said if when == "greeting" else pack(msgpack.dumps(HANDSHAKE)), message(form, folder / form)


@pytest.mark.long
@pytest.mark.parametrize("when", ["greeting", "answering"])
def test_a_pickle_in_an_answer_to_the_leader_is_not_read(tmp_path: Path, when: str) -> None:
    async def ask(leader: LeaderServer) -> None:
        async def one(greeting: bytes, answer: bytes) -> None:
            with listening(greeting, answer) as address, contextlib.suppress(Exception):
                await asyncio.wait_for(leader.rpc(address).anything(), 5.0)

        await asyncio.gather(*(one(*said) for said in answers(tmp_path, when)))

    with_leader(ask)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("when", ["greeting", "answering"])
def test_a_pickle_from_a_leader_is_not_read(tmp_path: Path, when: str) -> None:
    async def join(greeting: bytes, answer: bytes) -> None:
        with listening(greeting, answer) as address:
            worker = a_worker(address)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(worker.start(), 0.5)  # type: ignore[no-untyped-call]
            with contextlib.suppress(Exception):
                await asyncio.wait_for(worker.close(timeout=0.1, executor_wait=False), 1.0)

    async def all_of_them() -> None:
        await asyncio.gather(*(join(*said) for said in answers(tmp_path, when)))

    asyncio.run(asyncio.wait_for(all_of_them(), PATIENCE_S))

    assert list(tmp_path.iterdir()) == []


HUGE = struct.pack("Q", 1 << 60)


@pytest.mark.parametrize(
    "data",
    [
        HUGE,
        struct.pack("Q", FIRST_BYTES + 1),
        struct.pack("Q", 0),
        struct.pack("Q", 8) + struct.pack("Q", 1 << 61),
        struct.pack("QQQ", 16, 1 << 61, 0),
        struct.pack("QQQ", 16, 1, 1 << 60),
        struct.pack("QQQ", 16, 1, FIRST_BYTES + 1),
        struct.pack("QQQ", 16, 0, 0),
        pack(b"\x90", b"\x90"),
        pack(b""),
        pack(b"\xc1"),
        pack(b"\x91" * 100_000),
        pack(b"\xdd\xff\xff\xff\xff"),
        pack(b"\xdc\xff\xff" * 300_000),
        pack(b"\xdd" + struct.pack(">I", MOST_OBJECTS) + b"\x90" * MOST_OBJECTS),
        pack(b"\xc6\xff\xff\xff\xff" + b"x" * 10),
        pack(b"\xd9\x02\xff\xff"),
    ],
    ids=lambda data: data[:32].hex(),
)
def test_a_message_that_is_none_ends_its_connection_and_takes_no_memory(data: bytes) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def attack(leader: LeaderServer) -> None:
        for greeting in (b"", pack(msgpack.dumps(HANDSHAKE))):
            assert await speak(leader.address, greeting, data)

    with_leader(attack)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 64 << 10


def test_messages_are_read_as_they_were_written() -> None:
    plain: dict[str, Any] = {"op": "x", "b": b"\0\xff", "n": [1, -1, 2**40, 1.5, None, True], "t": {"é": "x" * 300}}
    said: object
    for said in (
        plain,
        None,
        7,
        [{}, []],
        [plain] * 20,
        {"b": b"x" * 70_000, "s": "y" * 70_000, "l": list(range(70_000))},
    ):
        assert decode(msgpack.dumps(said)) == said
    large = {"bytes": bytes(LARGEST_BYTES // 2)}
    assert decode(msgpack.dumps(large)) == large
    with pytest.raises(ValueError, match="values in one message"):
        decode(msgpack.dumps([0] * (MOST_OBJECTS + 1)))


def test_nothing_in_dask_reads_or_writes_a_pickle_in_this_process() -> None:
    data = pickle.dumps([1])
    for use in (
        functools.partial(protocol.pickle.loads, data),
        functools.partial(protocol.pickle.dumps, [1]),
        functools.partial(scheduler.pickle.loads, data),  # type: ignore[attr-defined]
        functools.partial(worker.pickle.loads, data),  # type: ignore[attr-defined]
        functools.partial(
            protocol.deserialize,  # type: ignore[attr-defined]
            {"serializer": "pickle"},
            [data],
        ),
    ):
        with pytest.raises((PickleRefusedError, TypeError, ValueError)):
            use()
    assert isinstance(core.error_message(ValueError("no")), dict)
    assert core.clean_exception(**core.error_message(ValueError("no")))[1].args == ("ValueError: no",)  # type: ignore[union-attr]
