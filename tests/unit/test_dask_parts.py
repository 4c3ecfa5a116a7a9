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

from assay.cluster.dask_parts import LeaderServer, WorkerServer


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


def test_a_worker_is_known_and_its_end_is_noticed() -> None:
    async def look(leader: LeaderServer, worker: WorkerServer) -> None:
        assert list(leader.workers) == [worker.address]
        await worker.close(timeout=5, executor_wait=False)
        for _ in range(3000):
            if not leader.workers:
                break
            await asyncio.sleep(0.01)
        assert not leader.workers

    asyncio.run(_with_both(look))


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
