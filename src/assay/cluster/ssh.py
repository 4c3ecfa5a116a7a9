"""A worker on another machine, started by ssh.

As OpenSSH does it: ~/.ssh/config and the machine's own configuration, known_hosts of user and machine, the agent and the
user's keys. A host whose key is not known is refused, whatever the configuration; no password is asked for. There,
everything lies in one folder that is open to its user alone: the files to join by, and this machine's engine where that one
has none of the same version. The folder goes with the worker.
"""

import asyncio
import contextlib
import getpass
import logging
import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, cast

import asyncssh

from assay.cluster.hosts import HostSpec
from assay.cluster.worker_order import WorkerOrder, check_version
from assay.cluster.worker_shell import COPIED, END_S, HostError, ShellChannel, WorkerShell, engine_version, this_machine
from assay.errors import RunError
from assay.own_files import find_stranger
from assay.running.engine import find_engine

CONNECT_S: Final = 20.0
LOGIN_S: Final = 30.0
COPY_S: Final = 120.0
"""For the engine, a few MiB, over a slow link."""
_KEEPALIVE_S: Final = 15
"""Period of keep-alives: devices on the path drop silent connections; after four that nobody answers it is
gone."""
_MACHINE_KNOWN_HOSTS: Final = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_USER_KNOWN_HOSTS: Final = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_CONFIGURATIONS: Final = ("~/.ssh/config", "/etc/ssh/ssh_config")
_POLL_S: Final = 0.02
_KILL: Final = "case $(tr '\\0' ' ' </proc/{worker}/cmdline) in *{folder}/*) kill -KILL -{worker};; esac"
"""Ends a worker's process group by its number, if that is still the number of what was started with its folder."""

logging.getLogger("asyncssh").addHandler(logging.NullHandler())  # what concerns the user is raised


class SshWorker:
    """A worker at the other end of a connection of its own."""

    def __init__(self, host: HostSpec, ssh_user: str | None) -> None:
        """Nothing is connected yet."""
        assert host.address is not None  # noqa: S101 - such a host is this machine
        self._host = host
        self._address = host.address
        self._user = host.user or ssh_user
        self._shell = WorkerShell()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._process: asyncssh.SSHClientProcess[bytes] | None = None

    async def start(self, order: WorkerOrder) -> None:
        """Connect, copy what is needed, and start it; raises HostError."""
        try:
            self._connection = await self._connect()
            self._process = await self._connection.create_process(
                "exec " + " ".join(self._shell.words), encoding=None, request_pty=False
            )
            process = self._process
            await self._shell.open(
                ShellChannel(
                    read_output=_to_the_end(process.stdout),
                    read_errors=_to_the_end(process.stderr),
                    write=process.stdin.write,
                    end_input=process.stdin.write_eof,
                )
            )
            await self._prepare(self._connection, order)
        except asyncssh.Error as error:
            raise HostError(f"ssh: {error.reason}") from error
        except OSError as error:
            raise HostError(f"ssh: {_reason(error)}") from error

    async def _connect(self) -> asyncssh.SSHClientConnection:
        where = {"host": self._address} | ({"port": self._host.port} if self._host.port else {})
        who = {"username": self._user} if self._user else {}
        try:
            options = await asyncssh.SSHClientConnectionOptions.construct(
                config=_configurations(),
                command=None,
                request_pty=False,
                password=None,
                password_auth=False,
                kbdint_auth=False,
                agent_forwarding=False,
                x11_forwarding=False,
                connect_timeout=CONNECT_S,
                login_timeout=LOGIN_S,
                keepalive_interval=_KEEPALIVE_S,
                **where,
                **who,
            )
            known = _known_hosts(options)
            return await asyncssh.connect(self._address, self._host.port or (), options=options, known_hosts=known)
        except asyncssh.HostKeyNotVerifiable as error:
            raise HostError(
                f"ssh: {error.reason}. Connect once by hand ('{self._by_hand()}') and compare the key that it shows"
            ) from error
        except asyncssh.PermissionDenied as error:
            raise HostError(
                f"ssh: {error.reason}: no key of yours opens it, and passwords are not asked for. 'ssh-copy-id' puts one "
                "there, 'ssh-add' unlocks one here"
            ) from error
        except TimeoutError:
            raise HostError(f"ssh: {self._address} did not answer within {CONNECT_S:g} s") from None
        except ValueError as error:  # a configuration or a key file that cannot be read
            raise HostError(f"ssh: {error}") from error

    def _by_hand(self) -> str:
        port = f"-p {self._host.port} " if self._host.port else ""
        return f"ssh {port}{self._user or getpass.getuser()}@{self._address}"

    async def _prepare(self, connection: asyncssh.SSHClientConnection, order: WorkerOrder) -> None:
        look = await self._shell.look(self._host.python)
        check_version(look.assay)
        engine = look.engine()
        if engine is None:
            _check_machine(look.machine)
        folder = await self._shell.make_folder()
        try:
            async with asyncio.timeout(COPY_S):
                for name, content in order.files.items():
                    await _write_new(connection, f"{folder}/{name}", content, 0o600)
                if engine is None:
                    content = await asyncio.to_thread(find_engine().read_bytes)
                    await _write_new(connection, f"{folder}/{COPIED}", content, 0o700)
        except TimeoutError:
            raise HostError(f"files could not be copied there within {COPY_S:g} s") from None
        except RunError as error:
            raise HostError(f"there is no {engine_version()}, and none to copy: {error}") from error
        if engine is not None:
            self._shell.use_engine(engine)
        elif (version := await self._shell.use_copied_engine()) != engine_version():
            raise HostError(
                f"there is no {engine_version()}, and this machine's does not run there ({version}). Install "
                "the wheel 'assay-engine' there"
            )
        await self._shell.start(order.arguments(folder))

    async def ended(self) -> str:
        """Wait until it has ended, and return how."""
        return await self._shell.ended()

    async def close(self) -> str:
        """End it and remove its folder; return what could not be, or nothing."""
        left = ""
        if self._connection is None:
            return left
        try:
            if self._process is not None:
                self._shell.end()
                async with asyncio.timeout(END_S):
                    while self._process.returncode is None and not self._connection.is_closed():  # noqa: ASYNC110 - asyncssh has no event for it
                        await asyncio.sleep(_POLL_S)
                left = await self._clear(self._connection)
        except TimeoutError:
            left = "its shell did not end"
        except (OSError, asyncssh.Error) as error:
            left = f"the connection is gone ({error}), so it is unknown whether its folder {self._shell.folder} is, too"
        finally:
            self._connection.close()
            with contextlib.suppress(TimeoutError, OSError, asyncssh.Error):
                await asyncio.wait_for(self._connection.wait_closed(), END_S)
            await self._shell.close()
            self._connection = self._process = None
        return left or self._shell.left

    async def _clear(self, connection: asyncssh.SSHClientConnection) -> str:
        """Do what its shell could not, because it was killed; return what could not be done, or nothing."""
        folder = self._shell.folder
        if folder is None:
            return ""
        kill = _KILL.format(worker=self._shell.worker, folder=shlex.quote(folder)) if self._shell.worker else ":"
        words = f"[ -d {shlex.quote(folder)} ] || exit 0; {kill}; rm -rf {shlex.quote(folder)}"
        async with asyncio.timeout(END_S):
            done = await connection.run(_in_shell(words), encoding=None)
        return f"its folder {folder} could not be removed: {_last_words(done)}" if done.exit_status else ""


def _to_the_end(reader: asyncssh.SSHReader[bytes]) -> Callable[[int], Awaitable[bytes]]:
    """Read as from a pipe: the end of the connection is the end of the input."""

    async def read(most_bytes: int) -> bytes:
        try:
            return await reader.read(most_bytes)
        except (OSError, asyncssh.Error):
            return b""

    return read


def _reason(error: OSError) -> str:
    """Explain why no connection could be made: asyncio puts an address, and tuples of it, into its words."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _configurations() -> list[str]:
    """Give the configurations of ssh that are there; raises HostError for one that others could have written.

    It names programs to start, such as a ProxyCommand. OpenSSH refuses such a file, too.
    """
    there = [path for path in map(_expand, _CONFIGURATIONS) if os.access(path, os.R_OK)]
    for path in there:
        if (why := find_stranger(Path(path))) is not None:
            raise HostError(f"ssh: {path} is not read, because {why}, and it can name programs to start")
    return there


def _expand(path: str) -> str:
    return str(Path(path).expanduser()) if "HOME" in os.environ else path


def _known_hosts(options: asyncssh.SSHClientConnectionOptions) -> asyncssh.SSHKnownHosts:
    """Read the known host keys of user and machine; a file that cannot be read, or others could have written, has none.

    Asyncssh leaves out the machine's files where nothing names them, and checks no key after `UserKnownHostsFile none`,
    where OpenSSH only looks into none of the user's.
    """
    users = cast("Sequence[str]", options.config.get("UserKnownHostsFile", _USER_KNOWN_HOSTS))
    machines = cast("Sequence[str]", options.config.get("GlobalKnownHostsFile", _MACHINE_KNOWN_HOSTS))
    known = asyncssh.SSHKnownHosts()
    for path in (*users, *machines):
        with contextlib.suppress(OSError):
            if find_stranger(Path(_expand(path))) is not None:
                continue
            for line in Path(_expand(path)).read_text(errors="replace").splitlines():
                with contextlib.suppress(ValueError):  # a line that OpenSSH passes over, too
                    known.load(line)
    return known


def _check_machine(there: str) -> None:
    """Raise HostError where this machine's engine cannot run."""
    if there != this_machine():
        raise HostError(
            f"there is no {engine_version()}, and this machine's is for {this_machine()}, that one {there}. Install "
            "the wheel 'assay-engine' there"
        )


async def _write_new(connection: asyncssh.SSHClientConnection, path: str, content: bytes, mode: int) -> None:
    """Write a file that was not there, for its user alone, through a shell: not every host has SFTP; raises HostError."""
    quoted = shlex.quote(path)
    words = f"umask 077; set -C; cat >{quoted} && chmod {mode:o} {quoted}"
    done = await connection.run(_in_shell(words), input=content, encoding=None)
    if done.exit_status:
        raise HostError(f"{path} could not be written there: {_last_words(done)}")


def _in_shell(words: str) -> str:
    return f"exec /bin/sh -c {shlex.quote(words)}"


def _last_words(done: asyncssh.SSHCompletedProcess) -> str:
    """Give the last line of what a command printed as its error."""
    text = done.stderr or b""
    lines = (text if isinstance(text, str) else bytes(text).decode(errors="replace")).strip().splitlines()
    return lines[-1] if lines else f"exit status {done.exit_status}"
