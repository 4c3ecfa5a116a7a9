"""Start `assay` without loading it again: a server that has loaded everything forks a process for each start.

Loading what Assay is made of takes 1 s of CPU time, more than many a command itself. A started process is `assay` as
installed, from `assay.start.main` on: same words, variables, folder and streams. What else a process inherits (control
group, namespaces, limits, priority, ignored signals) comes from the server, so `Prestarted.can_start` compares that with
the caller's own. Starts on terminals, below other programs and as other users are real ones.

Protocol, one connection a start: a `Start` as MessagePack with the descriptors of standard output and error; the answers are
the pid, and the exit status when it has ended.
"""

import contextlib
import gc
import importlib
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_MOST_BYTES = 1 << 20
"""Of a message."""
_READ_EARLY = ("PYTHON", "POLARS", "LC_", "LANG", "TZ", "OPENBLAS", "OMP_", "LD_", "MALLOC")
"""Variables that programs and libraries read when they are loaded."""
_INHERITED = ("Uid", "Gid", "Groups", "Umask", "SigBlk", "SigIgn", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")
"""Lines of /proc/PID/status."""
_NOT_LOADED = ("assay.__main__",)


class Start(msgspec.Struct, frozen=True):
    """A process that is to be started. What goes to it is bytes: not every name is a text."""

    words: Sequence[bytes]
    folder: bytes
    environment: Mapping[bytes, bytes]


class Prestarted:
    """The server, started when it is first needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._folder = tempfile.TemporaryDirectory(prefix="assay-prestarted-")
        self._path = str(Path(self._folder.name, "socket"))
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._usual = inherited(os.getpid())

    def can_start(self, environment: Mapping[str, str]) -> bool:
        """Whether a process from the server inherits what one from here would."""
        early = {name for name in {*environment, *os.environ} if name.startswith(_READ_EARLY)}
        if any(environment.get(name) != os.environ.get(name) for name in early):
            return False
        own = inherited(os.getpid())
        # Begun in a control group of one test, the server would keep that group from ending.
        if self._process is None and own != self._usual:
            return False
        return inherited(self._server().pid) == own

    def run(
        self, command: str, words: Sequence[str], folder: str, environment: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run `COMMAND WORDS` with nobody at its standard input.

        Raises:
            subprocess.TimeoutExpired: It took longer; it has been killed.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(timeout_s)
            connection.connect(self._path)
            start = Start(
                words=[os.fsencode(word) for word in (command, *words)],
                folder=os.fsencode(folder),
                environment={os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            )
            (output, its_output), (errors, its_errors) = os.pipe(), os.pipe()
            try:
                socket.send_fds(connection, [msgspec.msgpack.encode(start)], [its_output, its_errors])
            finally:
                os.close(its_output)
                os.close(its_errors)
            texts: dict[int, str] = {}
            readers = [threading.Thread(target=_read_all, args=(each, texts)) for each in (output, errors)]
            for reader in readers:
                reader.start()
            pid = int(connection.recv(64))
            try:
                status = int(connection.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired([command, *words], timeout_s) from None
            finally:
                for reader in readers:
                    reader.join()
        code = os.waitstatus_to_exitcode(status)
        return subprocess.CompletedProcess([command, *words], code, texts[output], texts[errors])

    def end(self) -> None:
        """End the server."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
        self._folder.cleanup()

    def _server(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._process is None:
                tests = str(Path(__file__).parents[1])
                search = os.pathsep.join(part for part in (os.environ.get("PYTHONPATH"), tests) if part)
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "testbed.prestarted", self._path],
                    env={**os.environ, "PYTHONPATH": search},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                assert self._process.stdout is not None
                if self._process.stdout.readline() != b"ready\n":
                    raise RuntimeError("the server that starts assay did not start")
            return self._process


def inherited(pid: int) -> Sequence[object]:
    """What a process hands on to those that it starts, beside words, variables, folder and streams."""
    proc = Path("/proc", str(pid))
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    namespaces = {one.name: str(one.readlink()) for one in (proc / "ns").iterdir()}
    return (
        [status.get(name) for name in _INHERITED],
        (proc / "cgroup").read_text(),
        (proc / "limits").read_text(),
        (proc / "oom_score_adj").read_text(),
        namespaces,
        os.getpriority(os.PRIO_PROCESS, pid),
        os.sched_getscheduler(pid),
        os.sched_getaffinity(pid),
        os.getsid(pid),
        os.getpgid(pid),
    )


def become(words: Sequence[str]) -> None:
    """Be `assay` from here on; this does not return."""
    sys.argv = list(words)
    # The name in usage lines comes from these.
    own = sys.modules["__main__"]
    own.__package__, own.__spec__, own.__file__ = None, None, sys.argv[0]
    # Those of the server were made for other descriptors.
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115 - to the end
        for number, mode, old in ((0, "r", sys.stdin), (1, "w", sys.stdout), (2, "w", sys.stderr))
    )
    code = 1
    try:
        importlib.import_module("assay.start").main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as Python ends with one that nothing catches
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def main(path: str) -> None:
    """Serve starts until standard input ends."""
    _load_everything()
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, selectors.DefaultSelector() as waiting:
        listener.bind(path)
        listener.listen(64)
        waiting.register(listener, selectors.EVENT_READ)
        waiting.register(0, selectors.EVENT_READ)
        os.write(1, b"ready\n")
        while True:
            for key, _ in waiting.select():
                if key.fileobj == 0:
                    return
                if key.fileobj is listener:
                    connection, _address = listener.accept()
                    _start(connection, waiting)
                else:
                    pid, connection = key.data
                    waiting.unregister(key.fileobj)
                    os.close(key.fd)
                    _, status = os.waitpid(pid, 0)
                    with contextlib.suppress(OSError):
                        connection.send(b"%d" % status)
                    connection.close()


def _start(connection: socket.socket, waiting: selectors.BaseSelector) -> None:
    message, descriptors, _, _ = socket.recv_fds(connection, _MOST_BYTES, 2)
    start = msgspec.msgpack.decode(message, type=Start)
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in enumerate((nothing, *descriptors)):
            os.dup2(descriptor, number)
        os.closerange(3, 1 << 16)
        os.chdir(start.folder)
        os.environ.clear()
        os.environb.update(start.environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        become([os.fsdecode(word) for word in start.words])
    for descriptor in descriptors:
        os.close(descriptor)
    connection.send(b"%d" % pid)
    waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))


def _load_everything() -> None:
    """Load all of Assay that loads without what is optional."""
    import assay  # noqa: PLC0415 - the client of this module needs none of it

    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if module.name not in _NOT_LOADED:
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _read_all(descriptor: int, texts: dict[int, str]) -> None:
    with os.fdopen(descriptor, encoding="utf-8") as stream:
        texts[descriptor] = stream.read()


if __name__ == "__main__":
    main(sys.argv[1])
