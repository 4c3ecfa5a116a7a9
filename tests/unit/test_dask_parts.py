"""Dask's servers do what Assay asks of them, and nothing else of what they could do for others."""

import asyncio
import contextlib
import pickle
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="runs of many clients need the extra 'cluster'")

from distributed import core

from assay.bundle.client_set import Role
from assay.cluster.dask_parts import LeaderServer, WorkerServer
from assay.cluster.join_file import new_join
from assay.cluster.plain_transport import _NoPickle
from assay.cluster.security import open_security
from assay.cluster.wire import Card, Question
from assay.cluster.worker import ClientSettings, ClientWorker
from unit.memory_run import hello


def test_neither_side_runs_a_function_that_somebody_sends(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    function, nothing = pickle.dumps(mark.touch), pickle.dumps({})

    async def send(leader: LeaderServer, worker: WorkerServer) -> None:
        for address, name in (
            (leader.address, "run_function"),
            (worker.address, "run"),
            (worker.address, "run_coroutine"),
        ):
            with contextlib.suppress(Exception):
                await getattr(_open(address), name)(function=function, args=pickle.dumps(()), kwargs=nothing)

    asyncio.run(_with_both(send))

    assert not mark.exists()


def test_a_worker_is_known_and_its_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pickles: list[str] = []
    for name in ("loads", "dumps"):
        monkeypatch.setattr(f"distributed.protocol.pickle.{name}", lambda *_, **__: pickles.append("one"))
        monkeypatch.setattr(_NoPickle, name, lambda *_, **__: pickles.append("one"))

    async def look(leader: LeaderServer, worker: WorkerServer) -> None:
        assert list(leader.workers) == [worker.address]
        await worker.close(timeout=5, executor_wait=False)
        for _ in range(3000):
            if not leader.workers:
                break
            await asyncio.sleep(0.01)
        assert not leader.workers

    asyncio.run(_with_both(look))
    assert not pickles, "an honest run needs none"


def test_nobody_speaks_for_another_client() -> None:
    """Dask takes the word of a message for whose stream it came by, and lets anybody have anybody removed."""
    heard: list[str] = []

    async def lie(leader: LeaderServer, worker: WorkerServer) -> None:
        leader.stream_handlers["say"] = lambda worker, **_: heard.append(worker)
        other = WorkerServer(
            leader.address, nthreads=1, name="b", memory_limit=0, metrics={}, host="127.0.0.1", extensions={}
        )
        await other
        other.batched_send({"op": "say", "worker": worker.address})
        await _wait_for(lambda: bool(heard))
        for name in ("unregister", "remove_worker", "close_worker", "retire_workers"):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(getattr(_open(leader.address), name)(address=worker.address, workers=["a"]), 0.5)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(_open(worker.address).terminate(), 0.5)
        assert set(leader.workers) == {worker.address, other.address}
        assert heard == [other.address]
        await other.close(timeout=5, executor_wait=False)

    asyncio.run(_with_both(lie))


@pytest.mark.parametrize(
    "said", [{"op": "assay-nothing"}, {"op": ["x"]}, {}, 7, "text", {"op": "say", "no": 1}, {"__Pickled__": 1}]
)
def test_who_says_what_no_client_says_is_gone_and_the_others_stay(said: object) -> None:
    async def lie(leader: LeaderServer, worker: WorkerServer) -> None:
        leader.stream_handlers["say"] = lambda worker: None  # noqa: ARG005
        other = WorkerServer(
            leader.address, nthreads=1, name="b", memory_limit=0, metrics={}, host="127.0.0.1", extensions={}
        )
        await other
        address = other.address
        other.batched_stream.send(said)
        await _wait_for(lambda: address not in leader.workers)
        assert list(leader.workers) == [worker.address]
        assert leader.faults[address].startswith("it sent what no client sends (")
        await other.close(timeout=5, executor_wait=False)

    asyncio.run(_with_both(lie))


def test_what_dask_says_of_a_worker_keeps_no_other_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lie(leader: LeaderServer, worker: WorkerServer) -> None:
        await worker.close(timeout=5, executor_wait=False)
        liar = WorkerServer(
            leader.address, nthreads=1, name="liar", memory_limit=0, metrics={}, host="127.0.0.1", extensions={}
        )
        with monkeypatch.context() as lying:
            lying.setattr("distributed.worker.get_versions", lambda: ["none"])
            await liar
        honest = WorkerServer(
            leader.address, nthreads=1, name="b", memory_limit=0, metrics={}, host="127.0.0.1", extensions={}
        )
        await honest
        assert honest.address in leader.workers
        for one in (liar, honest):
            await one.close(timeout=5, executor_wait=False)

    asyncio.run(_with_both(lie))


async def _wait_for(is_so: Callable[[], bool]) -> None:
    for _ in range(3000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it did not come to be so")


def _open(address: str) -> Any:
    return core.rpc(address)  # type: ignore[no-untyped-call]  # Dask's


async def _with_both(work: Callable[[LeaderServer, WorkerServer], Awaitable[None]]) -> None:
    settings: dict[str, Any] = {"host": "127.0.0.1", "protocol": "tcp", "extensions": {}}
    async with LeaderServer(port=0, dashboard=False, plugins=(), **settings) as leader:
        worker = WorkerServer(leader.address, nthreads=1, name="a", memory_limit=0, metrics={}, **settings)
        await worker
        try:
            await work(leader, worker)
        finally:
            await worker.close(timeout=5, executor_wait=False)


@pytest.mark.parametrize("token", [{}, {"token": "0" * 32}, {"token": None}, {"token": b"x"}, {"token": ["x"]}])
def test_a_client_answers_its_leader_alone(tmp_path: Path, token: dict[str, object]) -> None:
    """Without keys anybody on the machine can connect, and a Plan is as good as a program."""
    join = new_join("tcp://127.0.0.1:1", is_encrypted=False)

    async def ask() -> None:
        card = Card(name="a", role=Role.LOAD, assay_version="0", token=join.token, hello=hello())
        settings = ClientSettings(card=card, host="127.0.0.1", root=tmp_path, idle_s=1.0)
        asked = ClientWorker(join, open_security(), settings)._question_handlers()
        for question in Question:
            words = {"comm": None, "exchanges": 1} if question is Question.CLOCK else {"run_id": "r", "plan": b"{}"}
            with pytest.raises((TypeError, ValueError), match=r"not the leader|'token'"):
                await asked[question.value](**words, **token)
        assert await asked[Question.DIGEST.value](token=join.token, run_id="r") == b'{"type":"NothingKept"}'

    asyncio.run(ask())
    assert list(tmp_path.iterdir()) == []
