"""The one place that loads Dask: what is used of it, set up by these settings alone.

Dask reads files under /etc and the user's home, and every variable whose name begins with DASK_; none of them counts here,
so that all machines of a run have the same settings. It writes no log: what the user is to know is said in Assay's words.

Raises RunError where `distributed` is not installed: one machine needs none of it.
"""

import logging
import sys
import tempfile
from typing import Any, Final, Protocol

from assay import xdg
from assay.errors import RunError

try:
    with xdg.home_for_others():
        import dask
        from distributed import Scheduler, SchedulerPlugin, Security, Status, Worker
except ModuleNotFoundError as missing:
    raise RunError(
        f"the Python package '{missing.name}' is not installed; runs of many clients need it, on each machine. Install it "
        "with: pip install 'assay[cluster]'"
    ) from missing

__all__ = ["LeaderServer", "Scheduler", "SchedulerPlugin", "Security", "Status", "WorkerServer"]


class Comm(Protocol):
    """A connection of Dask's, of which its own type tells nothing."""

    async def read(self) -> Any:
        """The next message."""

    async def write(self, msg: object) -> Any:
        """Send a message."""

    def abort(self) -> None:
        """Close it at once."""


TCP_TIMEOUT_S: Final = 15
"""So long may data on its way stay unacknowledged before a connection is given up. Below 11 Dask never connects: an
assertion of its own fails."""

SETTINGS: Final[dict[str, Any]] = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-ttl": None,  # `roster.py` notices silence, as soon with a thousand clients as with ten
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


def _set_up() -> None:
    dask.config.refresh(paths=[], env={})
    dask.config.set(SETTINGS)
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "bokeh"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False


_set_up()


class _Bare:
    """What both of Dask's servers do beside their work, and here do not."""

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
        with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
            kwargs |= {"local_directory": scratch, "needs_workdir": False}
            super().__init__(*args, **kwargs)
        while self.local_directory in sys.path:
            sys.path.remove(self.local_directory)
        for handlers, used in ((self.handlers, self._ANSWERS), (self.stream_handlers, self._HEARS)):
            for name in handlers.keys() - used:
                del handlers[name]

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Serve no pages, which would be open to anybody."""


class LeaderServer(_Bare, Scheduler):
    """Dask's scheduler, to which clients connect."""

    _ANSWERS = frozenset({"register-worker", "heartbeat_worker", "unregister", "identity"})
    _HEARS = frozenset({"keep-alive", "log-event", "worker-status-change"})


class WorkerServer(_Bare, Worker):
    """Dask's worker, which a client is."""

    _ANSWERS = frozenset({"terminate", "identity", "ping"})
    _HEARS = frozenset({"close", "remove-worker", "worker-status-change"})
