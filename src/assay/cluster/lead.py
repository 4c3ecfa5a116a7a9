"""The leader's side: where clients connect, the key by which they may, and who has come.

The leader listens on one address of this machine, never on all. Key and join file lie in the join folder from the start
until all clients have joined: who is connected needs them no more, and a leader that is killed later leaves no key behind.
"""

import asyncio
import contextlib
import re
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from assay.bundle.client_set import MOST_CLIENTS, Role
from assay.cluster.addresses import in_uri, is_loopback, only_address, own_address
from assay.cluster.dask_connection import DaskConnection
from assay.cluster.dask_parts import LeaderServer, Security
from assay.cluster.host_list import HostList, admit_expected
from assay.cluster.join_file import JOIN, JoinFile, JoinFolder, new_join
from assay.cluster.keys import make_keys
from assay.cluster.leader_loop import LeaderLoop
from assay.cluster.security import open_security, security_by
from assay.errors import InputError, RunError, reason_of

_LOOK_S: Final = 0.1
_SOON_S: Final = 0.5
_REPORT_S: Final = 2.0
"""Time between two lines on missing clients: the first if one has joined meanwhile, the second if not."""
_NAMED_AT_MOST: Final = 8
_CLOSING_S: Final = 10.0
_FILES_EACH: Final = 7
"""Of a leader for one client: connections for its stream, its heartbeats, what is asked, and one more in passing; one of ssh
or three pipes of a worker here; and the file of its output."""
_PORT = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:]*):(?P<port>[0-9]{1,5})")


class Lead:
    """As a context manager: clients can join while it is entered."""

    def __init__(self, address: str | None, join_folder: Path, insecure: bool = False) -> None:
        """Take what the user named; nothing is opened yet.

        Args:
            address: IP address or interface of this machine, and `:PORT` where a port is to be kept to; None: the one
                address that this machine has besides loopback.
            join_folder: Where the key and `join.json` are put.
            insecure: Without encryption; for clients on this machine alone.

        Raises:
            InputError: the address cannot be meant, or is not loopback although `insecure`.
        """
        self._host, self._port = _host_and_port(address, is_local=insecure)
        if insecure and not is_loopback(self._host):
            raise InputError(
                f"without encryption anybody in the network of {self._host} could control the clients; leave "
                "--insecure out, or use 127.0.0.1 with clients on this machine alone"
            )
        self._is_insecure = insecure
        self._folder_path = join_folder
        self._opened = contextlib.ExitStack()
        self._connection: DaskConnection | None = None
        self._loop: LeaderLoop
        self._host_list: HostList
        self._server: LeaderServer
        self._folder: JoinFolder
        self.join: JoinFile

    @property
    def join_file(self) -> Path:
        """What `assay worker --join` is given."""
        return self._folder_path / JOIN

    def __enter__(self) -> Self:
        """Listen, and write the join folder; raises RunError where this machine does not allow it."""
        _allow_files()
        with contextlib.ExitStack() as opened:
            self._folder = JoinFolder(self._folder_path)
            opened.callback(self._folder.remove)
            security = open_security()
            if not self._is_insecure:
                security = security_by(*self._folder.write_keys(make_keys()))
            self._loop = LeaderLoop()
            self._loop.start()
            opened.callback(self._loop.stop, _CLOSING_S)
            self._host_list = HostList()
            try:
                self._server = self._loop.call(self._listen(security))
            except OSError as error:
                raise RunError(
                    f"{in_uri(self._host)}:{self._port}: cannot be listened on: {reason_of(error)}. Nothing was started"
                ) from error
            opened.callback(self._close_server)
            self.join = new_join(self._server.address, is_encrypted=not self._is_insecure)
            self._loop.now(lambda: self._host_list.attach(self._server, self.join))
            self._folder.write_join(self.join)
            self._opened = opened.pop_all()
        return self

    async def _listen(self, security: Security) -> LeaderServer:
        server = LeaderServer(
            host=in_uri(self._host),
            port=self._port,
            protocol="tcp" if self._is_insecure else "tls",
            security=security,
            dashboard=False,
            extensions={},
            plugins=(self._host_list,),
        )
        try:
            await server
        except RuntimeError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from None
            raise
        self._watching = asyncio.create_task(self._host_list.watch())
        return server

    def gather(
        self,
        expected: Mapping[str, Role] | int,
        timeout_s: float,
        report: Callable[[str], None],
        progress: Callable[[str], None] | None = None,
    ) -> DaskConnection:
        """Wait until all have joined, and admit no others.

        Args:
            expected: Names with roles, in the order in which the user named them, or how many of any name.
            timeout_s: How long to wait.
            report: Receives a line on each client that is refused, and when all have joined.
            progress: Receives who has joined, now and then; None: as `report`.

        Raises:
            RunError: a client did not come, or was refused; the text names whom, and why.
        """
        count = expected if isinstance(expected, int) else len(expected)
        if not 0 < count <= MOST_CLIENTS:
            raise InputError(f"these are {count} clients; a run has 1 to {MOST_CLIENTS}")
        if (most := _allow_files() // _FILES_EACH) < count:
            raise RunError(
                f"{count} clients need more open files than are allowed, which suffice for {most} (ulimit -n)"
            )
        self._loop.now(lambda: self._host_list.expect(admit_expected(expected)))
        give_up_s = time.monotonic() + timeout_s
        telling = _Telling(expected, report, progress or report)
        while not self._loop.now(lambda: self._host_list.shut(expected)):
            there, refused = self._loop.now(lambda: (self._there(expected), dict(self._host_list.refused)))
            telling.look(there, refused)
            if time.monotonic() > give_up_s:
                raise RunError(telling.missing(there, timeout_s))
            time.sleep(_LOOK_S)
        names = self._loop.now(lambda: tuple(self._host_list.by_name))
        telling.all_there(self._loop.now(lambda: self._there(expected)))
        self._folder.remove()
        ordered = sorted(names, key=_natural) if isinstance(expected, int) else tuple(expected)
        self._connection = DaskConnection(self._loop, self._host_list, self._server, ordered, self._opened.close)
        return self._connection

    def _there(self, expected: Mapping[str, Role] | int) -> tuple[str, ...]:
        """Name those of whom N are expected, or all."""
        return self._host_list.loads() if isinstance(expected, int) else tuple(self._host_list.by_name)

    def _close_server(self) -> None:
        async def close() -> None:
            self._watching.cancel()
            await self._server.close(reason="the run is over")

        with contextlib.suppress(Exception):
            self._loop.call(close(), _CLOSING_S)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let clients go, stop listening, and remove the key."""
        if self._connection is None:
            # Nobody leads them: without a connection they only waited.
            with contextlib.suppress(Exception):
                self._loop.now(self._host_list.close_softly)
            self._opened.close()
        else:
            self._connection.close()


def _allow_files() -> int:
    """Allow this process as many open files as it may have, and return how many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most if most != resource.RLIM_INFINITY else _FILES_EACH * MOST_CLIENTS


class _Telling:
    """Report who has come and who is missing, once each, and again now and then."""

    def __init__(
        self, expected: Mapping[str, Role] | int, report: Callable[[str], None], progress: Callable[[str], None]
    ) -> None:
        self._expected, self._progress = expected, progress
        self._count = expected if isinstance(expected, int) else len(expected)
        self._report = report
        self._last_count = 0
        self._reported_s = time.monotonic()
        self._refused: dict[str, str] = {}

    def look(self, there: tuple[str, ...], refused: Mapping[str, str]) -> None:
        """Report what is new; raises RunError where one that is needed was refused."""
        for name, reason in refused.items():
            if self._refused.get(name) == reason:
                continue
            self._refused[name] = reason
            if not isinstance(self._expected, int) and name in self._expected:
                raise RunError(f"client '{name}' was refused: {reason}. Nothing was measured")
            self._report(f"a client called '{name}' was refused: {reason}")
        now_s = time.monotonic()
        if now_s - self._reported_s > (_SOON_S if len(there) != self._last_count else _REPORT_S):
            self._progress(f"{self._joined_line(there)}{self._still(there)}")
            self._last_count, self._reported_s = len(there), now_s

    def all_there(self, names: tuple[str, ...]) -> None:
        """Report the end."""
        self._report(self._joined_line(names))

    def _joined_line(self, there: tuple[str, ...]) -> str:
        names = f": {_listed(sorted(there, key=_natural))}" if there else ""
        return f"{len(there)} of {self._count} clients have joined{names}"

    def _still(self, there: tuple[str, ...]) -> str:
        missing = [] if isinstance(self._expected, int) else [name for name in self._expected if name not in there]
        return f"; waiting for {_listed(missing)}" if missing else ""

    def missing(self, there: tuple[str, ...], timeout_s: float) -> str:
        """Report who did not come."""
        who = (
            f"{self._count - len(there)} of {self._count} clients"
            if isinstance(self._expected, int)
            else _listed([name for name in self._expected if name not in there])
        )
        present = f"; {self._joined_line(there)}" if there else ""
        others = "".join(f"; '{name}' was refused: {reason}" for name, reason in list(self._refused.items())[:3])
        return (
            f"{who} did not join in {timeout_s:g} s{present}{others}. Nothing was measured; does 'assay worker' run there, "
            "and is the network path from there to this machine open?"
        )


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _natural(name: str) -> list[tuple[int, str]]:
    """Order names with numbers as people do: h2 before h10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _host_and_port(address: str | None, *, is_local: bool) -> tuple[str, int]:
    if address is None:
        return ("127.0.0.1" if is_local else only_address()), 0
    match = _PORT.fullmatch(address)
    if match is None:
        return own_address(address), 0
    port = int(match["port"])
    if not 0 < port < 1 << 16:
        raise InputError(f"{address}: no valid port {port}")
    return own_address(match["host"].strip("[]")), port
