"""Start a worker on every host of a run, and end what was started.

All hosts at once, each for itself: one that cannot be reached, or has no Assay, is a fault, and does not stop the
others; whether a run begins without it is for whoever leads the run. What is started here ends here, whatever happens: by
`close`, and where this process dies, because the shells that hold the workers notice it.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from assay.bundle.client_set import Role
from assay.cluster.hosts import HostSpec, check_user
from assay.cluster.local import LocalWorker
from assay.cluster.worker_order import WorkerOrder, read_join_folder
from assay.errors import AssayError, InputError

AT_ONCE: Final = 64
"""Connections that are being made at a time: each is two key agreements and a Python there."""
_REPORT_S: Final = 2.0
_POLL_S: Final = 0.05
CURE: Final = "pip install 'assay[cluster]'"


class _Worker(Protocol):
    """On one host."""

    async def start(self, order: WorkerOrder) -> None:
        """Start it; raises HostError."""

    async def ended(self) -> str:
        """Wait until it has ended, and return how."""

    async def close(self) -> str:
        """End it; return what could not be ended, or nothing."""


def launch(
    hosts: Sequence[HostSpec],
    join_folder: Path,
    roles: Mapping[str, Role],
    report: Callable[[str], None],
    *,
    ssh_user: str | None = None,
    insecure_as_root: bool = False,
) -> "Launched":
    """Start the workers, and wait until each was started or could not be.

    Args:
        hosts: Where, each with a name of its own.
        join_folder: With `join.json` and what it names, for the workers; it is copied to hosts that ssh reaches.
        roles: What each is there for, by name; who is not in it makes load.
        report: Receives a line on the progress: how many are up, and what could not be ended or removed.
        ssh_user: User on the host, where the host sets none.
        insecure_as_root: Whether workers may be root's without keys.

    Raises:
        InputError: ssh is needed, and its package is not installed, or the user can be none.
        RunError: the folder is no folder to join by.
    """
    if ssh_user is not None:
        try:
            check_user(ssh_user)
        except ValueError as error:
            raise InputError(f"--ssh-user: {error}") from None
    folder = join_folder.absolute()
    files = read_join_folder(folder) if hosts else {}
    orders = [
        WorkerOrder(
            name=host.name,
            role=roles.get(host.name, Role.LOAD),
            folder=folder,
            files=files,
            is_insecure_as_root=insecure_as_root,
        )
        for host in hosts
    ]
    workers = {host.name: _worker(host, ssh_user) for host in hosts}
    launched = Launched(workers, report)
    try:
        launched.start(orders)
    except BaseException:
        launched.close()
        raise
    return launched


def _worker(host: HostSpec, ssh_user: str | None) -> _Worker:
    if host.address is None:
        return LocalWorker(host)
    try:
        from assay.cluster.ssh import SshWorker  # noqa: PLC0415 - who measures alone has no asyncssh
    except ImportError as error:
        raise InputError(
            f"host '{host.name}' is reached by ssh, for which {error.name} is missing here: {CURE}"
        ) from None
    return SshWorker(host, ssh_user)


class Launched:
    """Workers that were started. As a context manager it ends them."""

    def __init__(self, workers: Mapping[str, _Worker], report: Callable[[str], None]) -> None:
        """Start with the workers of a launch."""
        self._workers = workers
        self._report = report
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._faults: dict[str, str] = {}
        self._up = 0
        self._is_closing = self._reports_faults = False
        self._starting: list[asyncio.Task[None]] = []
        self._watching: list[asyncio.Task[None]] = []
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay-launch", daemon=True)
        self._thread.start()

    def start(self, orders: Sequence[WorkerOrder]) -> None:
        """Start each, and wait until it was or could not be."""
        self._wait(self._start_all(orders))

    def faults(self) -> Mapping[str, str]:
        """Explain why a host has no worker, or has none any more, with its last words; by name."""
        self._report_lines()
        return dict(self._faults)

    def report_faults(self) -> None:
        """Report each fault from now on as it comes: whoever starts a run no longer asks for them."""
        self._reports_faults = True
        for name, fault in self._faults.items():
            self._lines.put(f"{name}: {fault}")

    def close(self) -> None:
        """End the workers and remove what was copied to them; what could not be is reported. Never raises an Exception."""
        if self._is_closing:
            return
        self._is_closing = True
        try:
            with contextlib.suppress(Exception):
                self._wait(self._close_all())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_REPORT_S)
            if not self._thread.is_alive():
                self._loop.close()

    def __enter__(self) -> Self:
        """Nothing more to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End them."""
        self.close()

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for work in the loop's thread, and pass on the messages in this one."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        reported_s, reported_up = time.monotonic(), self._up
        while True:
            with contextlib.suppress(TimeoutError):
                future.exception(_POLL_S)
            self._report_lines()
            if future.done():
                future.result()
                return
            if time.monotonic() - reported_s > _REPORT_S:
                reported_s = time.monotonic()
                if self._up != reported_up and not self._is_closing:
                    reported_up = self._up
                    self._report(f"{self._up} of {len(self._workers)} workers are started")

    def _report_lines(self) -> None:
        while not self._lines.empty():
            self._report(self._lines.get())

    async def _start_all(self, orders: Sequence[WorkerOrder]) -> None:
        at_once = asyncio.Semaphore(AT_ONCE)
        self._starting = [asyncio.create_task(self._start_one(order, at_once)) for order in orders]
        await asyncio.gather(*self._starting)

    async def _start_one(self, order: WorkerOrder, at_once: asyncio.Semaphore) -> None:
        worker = self._workers[order.name]
        async with at_once:
            try:
                await worker.start(order)
            except AssayError as fault:
                self._note_fault(order.name, str(fault))
                await self._close_one(order.name)
                return
        self._up += 1
        self._watching.append(asyncio.create_task(self._watch(order.name)))

    async def _watch(self, name: str) -> None:
        how = await self._workers[name].ended()
        if not self._is_closing:
            self._note_fault(name, how)
            await self._close_one(name)

    def _note_fault(self, name: str, fault: str) -> None:
        self._faults[name] = fault
        if self._reports_faults:
            self._lines.put(f"{name}: {fault}")

    async def _close_all(self) -> None:
        for tasks in (self._starting, self._watching):
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*map(self._close_one, self._workers))

    async def _close_one(self, name: str) -> None:
        """End a worker, once: to cancel who waits for it would leave on the host what is being removed there."""
        if name not in self._closing:
            self._closing[name] = asyncio.create_task(self._close_now(name))
        await asyncio.shield(self._closing[name])

    async def _close_now(self, name: str) -> None:
        if left := await self._workers[name].close():
            self._lines.put(f"{name}: {left}")
