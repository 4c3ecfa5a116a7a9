"""Ask another machine's engine for its clock, with no Python in the way.

An exchange through a worker takes as long as its Python does, some milliseconds; an echo answers within tens of
microseconds, and half of that is the bound of the reading (`assay.clocks`). `assay-engine echo` and `assay-engine ask` do
both sides; a datagram without a MAC by the echo's key is not answered.

A key is one echo's, made with it, and one machine's that asks: questions are numbered with the clock of who asks, and an
echo answers no number twice. It travels by a way that is already safe, and to the engine by standard input.
"""

import contextlib
import ipaddress
import os
import secrets
import select
import subprocess
import tempfile
import time
from types import TracebackType
from typing import IO, Final, Self

import msgspec

from assay.clocks import Exchange
from assay.errors import RunError, reason_of
from assay.running.engine import find_engine

KEY_BYTES: Final = 32
EXCHANGES: Final = 64
"""Few milliseconds for all on a local network: some of them find no queue and no sleeping CPU."""
_START_WAIT_S = 30.0
"""An echo reports its port within milliseconds; after this long, what was started is no echo."""
_ASK_WAIT_S = 30.0
"""The engine gives up by itself, after 10 s."""
_END_WAIT_S = 3.0
_LONGEST_LINE = 1000
_SHOWN = 300


class _EchoAddress(msgspec.Struct):
    """The first line of an echo."""

    address: str
    port: int


class _Asked(msgspec.Struct):
    """What came of asking."""

    exchanges: list[Exchange]
    lost: int


class Echo:
    """An echo on this machine, at an address that one of its interfaces has. As a context manager it ends with the block."""

    def __init__(self, address: str) -> None:
        """Start with its own key; raises RunError if the address is not of one interface, or the echo does not start."""
        self.key = secrets.token_bytes(KEY_BYTES)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the echo
        program = find_engine()
        try:
            self._process = subprocess.Popen(
                [program, "echo", _join(address, 0)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            raise RunError(
                f"{program} could not be started: {reason_of(error)}; the clock here cannot be asked"
            ) from error
        try:
            report = self._begin()
        except BaseException:
            self.close()
            raise
        self.address, self.port = report.address, report.port

    def _begin(self) -> _EchoAddress:
        assert self._process.stdin is not None  # noqa: S101 - opened as pipes above
        assert self._process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):  # it has ended, with its reason
            self._process.stdin.write(self.key)
            self._process.stdin.flush()
        line = _line_of(self._process.stdout)
        try:
            return msgspec.json.decode(line, type=_EchoAddress)
        except msgspec.DecodeError as error:
            self._end()
            self._log.seek(0)
            reason = _last_line(self._log.read(_LONGEST_LINE)) or f"it printed {line[:_SHOWN]!r}"
            raise RunError(f"no echo of the clock could be started: {reason}") from error

    def close(self) -> None:
        """End it; nothing answers afterwards."""
        self._end()
        for stream in (self._process.stdout, self._log):
            if stream is not None:
                stream.close()

    def _end(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        """Return the echo, which answers already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()


def ask(address: str, port: int, key: bytes, exchanges: int = EXCHANGES) -> tuple[Exchange, ...]:
    """Ask an echo for its time N times, one question after the other.

    Returns:
        The exchanges that came through, at least one; nanoseconds of both machines' CLOCK_MONOTONIC.

    Raises:
        RunError: No answer came, or the engine cannot ask.
    """
    program, whom = find_engine(), _join(address, port)
    words = [str(program), "ask", whom, "--exchanges", str(exchanges)]
    try:
        done = subprocess.run(words, input=key, capture_output=True, timeout=_ASK_WAIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise RunError(f"the clock of {whom} was asked for {_ASK_WAIT_S:g} s without an end") from error
    except OSError as error:
        raise RunError(
            f"{program} could not be started: {reason_of(error)}; the clock of {whom} was not asked"
        ) from error
    if done.returncode != 0:
        line = _last_line(done.stderr) or f"it ended with code {done.returncode}"
        raise RunError(f"the clock of {whom} could not be read: {line}")
    try:
        asked = msgspec.json.decode(done.stdout, type=_Asked)
    except msgspec.DecodeError as error:
        raise RunError(f"{program} gave no result when it asked {whom} for its clock: {error}") from error
    return tuple(asked.exchanges)


def _join(address: str, port: int) -> str:
    """Write address and port as one word; what is not an address goes on as it is, and is refused."""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(address).version == 6:
            return f"[{address}]:{port}"
    return f"{address}:{port}"


def _line_of(stream: IO[bytes]) -> bytes:
    """Give the first line that comes in time, or what came of it."""
    deadline_s, line = time.monotonic() + _START_WAIT_S, b""
    while not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not select.select([stream], [], [], left_s)[0]:
            break
        new = os.read(stream.fileno(), _LONGEST_LINE)
        if not new:
            break
        line += new
    return line


def _last_line(line: bytes) -> str:
    lines = line.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("assay-engine: ")[:_SHOWN] if lines else ""
