"""The one place that loads Dask: what is used of it, set up by these settings alone.

Dask reads files under /etc and the user's home, and every variable whose name begins with DASK_; none of them counts here,
so that all machines of a run have the same settings. It writes no log: messages to the user are Assay's own.

Raises RunError where `distributed` is not installed: one machine needs none of it.
"""

import asyncio
import contextlib
import inspect
import logging
import re
import secrets
import sys
import time
from typing import Any, Final, Protocol

from assay import xdg
from assay.errors import RunError
from assay.own_files import scratch_folder

try:
    with xdg.home_for_others():
        import dask
        from distributed import Scheduler, SchedulerPlugin, Security, Status, Worker
        from distributed.comm.core import CommClosedError
except ModuleNotFoundError as missing:
    raise RunError(
        f"the Python package '{missing.name}' is not installed; runs of many clients need it, on each machine. Install it "
        "with: pip install 'assay[cluster]'"
    ) from missing

__all__ = ["LeaderServer", "Scheduler", "SchedulerPlugin", "Security", "Status", "WorkerServer"]


class Comm(Protocol):
    """A connection of Dask's, whose own type is opaque."""

    async def read(self) -> Any:
        """The next message."""

    async def write(self, msg: object) -> Any:
        """Send a message."""

    def abort(self) -> None:
        """Close it at once."""


TCP_TIMEOUT_S: Final = 15
"""Time for which sent data may stay unacknowledged before a connection is given up. Below 11 Dask never connects: an
assertion of its own fails."""

SETTINGS: Final[dict[str, Any]] = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-ttl": None,  # `host_list.py` notices silence, as soon with a thousand clients as with ten
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.use-file-locking": False,
    "distributed.comm.timeouts.connect": "30s",
    "distributed.comm.timeouts.tcp": f"{TCP_TIMEOUT_S}s",
    "distributed.comm.compression": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.log-length": 10,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.log-length": 100,
    "distributed.diagnostics.nvml": False,
}


_STREAM_ENDS: Final = "close-stream"
_HEARTBEAT_S: Final = 5.0
_LONGEST_NAME: Final = 100
_ADDRESS: Final = re.compile(r"(tcp|tls)://([0-9.]{1,15}|\[[0-9a-fA-F:.]{1,45}\]):[0-9]{1,5}", re.ASCII)
_NO_METRICS: Final[dict[str, Any]] = {
    "bandwidth": {"total": 0, "workers": {}, "types": {}},
    "digests_total_since_heartbeat": {},
    "memory": 0,
    "managed_bytes": 0,
    "spilled_bytes": {"memory": 0, "disk": 0},
    "event_loop_interval": 0.0,
}
"""What Dask's scheduler needs from a worker when it joins."""


def _set_up() -> None:
    dask.config.refresh(paths=[], env={})
    dask.config.set(SETTINGS)
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "bokeh"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False


_set_up()

from assay.cluster.plain_transport import LARGEST_BYTES, use_plain_transport  # noqa: E402 - Dask is set up first
from assay.cluster.wire import CARD  # noqa: E402 - same

use_plain_transport()


class _Bare:
    """Side tasks of both of Dask's servers, which are off here."""

    local_directory: str
    handlers: dict[str, Any]
    stream_handlers: dict[str, Any]
    _ANSWERS: frozenset[str]
    """What of Dask's own is answered; whoever uses the server adds to it."""
    _HEARS: frozenset[str]
    """The same of what comes on the stream between the two."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Have no folder: Dask makes one, and looks there for modules first of all, for as long as it runs.

        And do nothing that Assay does not ask for: Dask's servers run functions that others send, load plugins, take files.
        """
        with scratch_folder() as scratch:
            kwargs |= {"local_directory": str(scratch), "needs_workdir": False}
            super().__init__(*args, **kwargs)
        while self.local_directory in sys.path:
            sys.path.remove(self.local_directory)
        for handlers, used in ((self.handlers, self._ANSWERS), (self.stream_handlers, self._HEARS)):
            for name in handlers.keys() - used:
                del handlers[name]

    async def handle_stream(self, comm: Any, extra: dict[str, Any] | None = None) -> None:
        """Receive what comes on a stream; raises for what is not a message of it.

        What is `extra`, such as whose stream it is, is kept: Dask lets a message claim that it is another's.
        """
        extra = extra or {}
        try:
            with contextlib.suppress(CommClosedError):
                while True:
                    received = await comm.read()
                    for message in received if isinstance(received, list) else [received]:
                        if (op := message.pop("op")) == _STREAM_ENDS:
                            return
                        done = self.stream_handlers[op](**(message | extra))
                        if inspect.isawaitable(done):
                            await done
                    await asyncio.sleep(0)
        finally:
            await comm.close()

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Serve no pages, which would be open to every user."""


class LeaderServer(_Bare, Scheduler):
    """Dask's scheduler, to which clients connect."""

    _ANSWERS = frozenset({"register-worker", "heartbeat_worker"})
    _HEARS = frozenset()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Receive what Dask's workers report of themselves, and ignore it."""
        super().__init__(*args, **kwargs)
        self.faults: dict[str, str] = {}
        """What a client sent that none sends, by Dask's address of it; it is not connected any more."""
        self.stream_handlers |= dict.fromkeys(("keep-alive", "log-event", "worker-status-change"), _ignored)

    async def add_worker(self, comm: Any, **received: Any) -> None:
        """Register a client. Of what its Dask sends only its address and its name are used."""
        address, name, card = received.get("address"), received.get("name"), (received.get("extra") or {}).get(CARD)
        if not isinstance(address, str) or not _ADDRESS.fullmatch(address) or not isinstance(name, str):
            raise ValueError("it did not give its address")
        await super().add_worker(
            comm,
            address=address,
            resolve_address=False,
            name=name[:_LONGEST_NAME],
            status=Status.running.name,
            server_id=secrets.token_hex(8),
            nthreads=1,
            now=time.time(),
            resources={},
            memory_limit=0,
            metrics=_NO_METRICS,
            services={},
            local_directory="",
            versions={},
            nanny="",
            extra={CARD: card},
            stimulus_id="assay-join",
        )

    def heartbeat_worker(self, *, address: str, **_: Any) -> dict[str, Any]:
        """Report that the leader is there. The measure of a client is what it sends on its stream."""
        status = "OK" if address in self.workers else "missing"
        return {"status": status, "time": time.time(), "heartbeat-interval": _HEARTBEAT_S}

    async def handle_worker(self, comm: Any, worker: str) -> None:
        """Receive from a client that was let in, until its connection ends."""
        comm.most_bytes = LARGEST_BYTES
        await super().handle_worker(comm, worker)

    async def handle_stream(self, comm: Any, extra: dict[str, Any] | None = None) -> None:
        """Note a fault before the client is taken for gone."""
        try:
            await super().handle_stream(comm, extra)
        except Exception as error:
            self._note(extra, f"it sent what no client sends ({type(error).__name__}: {str(error)[:200]})")
            raise
        finally:
            if comm.refused is not None:
                self._note(extra, comm.refused)

    def _note(self, extra: dict[str, Any] | None, fault: str) -> None:
        if extra is not None:
            self.faults.setdefault(extra["worker"], fault)


class WorkerServer(_Bare, Worker):
    """Dask's worker, which a client is."""

    _ANSWERS = frozenset()
    _HEARS = frozenset({"close", "remove-worker"})

    def handle_comm(self, comm: Any) -> Any:
        """Take a connection, by which a Plan may come."""
        comm.most_bytes = LARGEST_BYTES
        return super().handle_comm(comm)


def _ignored(**_: object) -> None:
    """Do nothing."""
