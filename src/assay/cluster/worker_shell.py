"""A shell that holds a worker, on this machine or at the other end of ssh: `hold_worker.sh`, and its protocol.

The script is the same for both. It is sent down the standard input of a plain `sh`, so that nothing of it, and no word that
needs quotes, is on a command line; then it takes lines. It ends the worker on request, and when its input ends: with the
connection, or with this process.
"""

import asyncio
import collections
import contextlib
import dataclasses
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from assay import __version__
from assay.errors import AssayError

STEP_S: Final = 60.0
"""Patience with one step: a Python whose files come over a slow network takes its time."""
END_S: Final = 25.0
"""The shell gives a worker 10 s to end, and 3 s more after it was killed."""
_SCRIPT: Final = Path(__file__).with_name("hold_worker.sh")
_CHUNK_BYTES: Final = 4096
_LONGEST_LINE: Final = 4096
_MOST_LINES: Final = 200
_LINES_KEPT: Final = 3
_LINE_SHOWN: Final = 300
_FOLDER: Final = re.compile(r"/(?:.*/)?assay-[A-Za-z0-9]{10}")
COPIED: Final = "assay-engine"
"""Name of the engine in the folder that is made there."""


class HostError(AssayError):
    """A host could not be made to run a worker. The text has the reason, and does not name the host."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShellChannel:
    """The three streams of a shell that was started with `command`."""

    read_output: Callable[[int], Awaitable[bytes]]
    read_errors: Callable[[int], Awaitable[bytes]]
    write: Callable[[bytes], None]
    end_input: Callable[[], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Look:
    """What is on a host."""

    assay: str
    """What `assay --version` printed, in its last line; `none` where it is not on PATH, `refused: ` and why where it was not
    run."""
    machine: str
    """Kernel and architecture, as in `Linux x86_64`."""
    engines: tuple[tuple[str, str], ...]
    """What each `assay-engine --version` printed, and the engine's path."""

    def engine(self) -> str | None:
        """Give the path of an engine of this version, if there is one."""
        wanted = engine_version()
        return next((path for version, path in self.engines if version == wanted), None)


def engine_version() -> str:
    """Give what an engine of this version prints of itself."""
    return f"assay-engine {__version__}"


def this_machine() -> str:
    """Give what `Look.machine` is here."""
    here = os.uname()
    return f"{here.sysname} {here.machine}"


class WorkerShell:
    """The shell, and its output. One task at a time may wait for it."""

    def __init__(self) -> None:
        """Choose the word that marks its lines."""
        self._mark = secrets.token_hex(8)
        self._channel: ShellChannel | None = None
        self._lines: _Lines | None = None
        self._errors: asyncio.Task[None] | None = None
        self._end: asyncio.Task[str] | None = None
        self._last: collections.deque[str] = collections.deque(maxlen=_LINES_KEPT)
        self._left = ""
        self.folder: str | None = None
        """That it made there, and removes."""
        self.worker: int | None = None
        """Its process id there."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the shell's command: none of them needs quotes in any shell."""
        return ("/bin/sh", "-s", self._mark)

    async def open(self, channel: ShellChannel) -> None:
        """Give it its script; raises HostError."""
        self._channel = channel
        self._lines = _Lines(channel.read_output)
        self._errors = asyncio.create_task(self._keep_errors(_Lines(channel.read_errors)))
        channel.write(_SCRIPT.read_bytes())
        await self._expect("ready")

    async def look(self, python: str | None) -> Look:
        """Ask what is there.

        Args:
            python: The Python that has Assay; None: `assay` on PATH.

        Raises:
            HostError: it does not answer.
        """
        self._write(f"{python or ''}\n")
        assay = await self._expect("assay")
        machine = await self._expect("machine")
        engines: list[tuple[str, str]] = []
        while True:
            word, text = await self._next("the engines there")
            if word == "looked":
                return Look(assay=assay, machine=machine, engines=tuple(engines))
            version, _, path = text.partition(" /")
            engines.append((version, f"/{path}"))

    async def make_folder(self) -> str:
        """Have it make a folder for the worker's files, which nobody else can open or replace; raises HostError."""
        self._write("folder\n")
        made = await self._expect("folder")
        if not _FOLDER.fullmatch(made):
            raise HostError(
                f"no safe folder for the key of the run can be made there: {made}. Have TMPDIR there name a folder that is "
                "closed to others"
            )
        self.folder = made
        return self.folder

    async def use_copied_engine(self) -> str:
        """Have the worker use the engine that was copied into the folder.

        Returns:
            What that engine reports of itself, or the shell of it where it does not run there.
        """
        self._write("engine copied\n")
        return await self._expect("engine")

    def use_engine(self, path: str) -> None:
        """Have the worker use an engine that is there."""
        self._write(f"engine {path}\n")

    async def start(self, arguments: Sequence[str]) -> None:
        """Start `assay` with arguments, none of which has a line end; raises HostError."""
        self._write("".join(f"+{argument}\n" for argument in arguments) + "start\n")
        self.worker = int(await self._expect("started"))
        self._end = asyncio.create_task(self._hear_end())

    async def ended(self) -> str:
        """Wait until the worker that was started has ended, and return how: with its last lines."""
        assert self._end is not None  # noqa: S101 - started before
        return await asyncio.shield(self._end)

    async def _hear_end(self) -> str:
        assert self._lines is not None  # noqa: S101 - opened before
        code = None
        while (line := await self._lines.next()) is not None:
            word, text = self._of(line)
            if word == "ended":
                code = text
            elif word == "left":
                self._left = f"process {text} does not end: it waits for storage that does not answer"
        await self._errors_read()
        how = "its shell, or the connection to it, ended" if code is None else _how(code)
        return f"the worker is gone: {how}{self._last_lines()}"

    def end(self) -> None:
        """Ask it to end the worker and to remove the folder."""
        if self._channel is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._channel.write(b"end\n")
                self._channel.end_input()

    @property
    def left(self) -> str:
        """What it had to leave behind, or nothing."""
        return self._left

    def _write(self, text: str) -> None:
        assert self._channel is not None  # noqa: S101 - opened before
        try:
            self._channel.write(text.encode())
        except (OSError, RuntimeError) as error:
            raise HostError(f"the shell there has ended{self._last_lines()}") from error

    async def _expect(self, wanted: str) -> str:
        while True:
            word, text = await self._next(f"'{wanted}'")
            if word == wanted:
                return text

    async def _next(self, what: str) -> tuple[str, str]:
        """Give the next line of the script; raises HostError where it ended, or is silent."""
        assert self._lines is not None  # noqa: S101 - opened before
        try:
            async with asyncio.timeout(STEP_S):
                for _ in range(_MOST_LINES):
                    line = await self._lines.next()
                    if line is None:
                        break
                    word, text = self._of(line)
                    if word:
                        return word, text
        except TimeoutError:
            raise HostError(f"the shell there did not report {what} within {STEP_S:g} s{self._last_lines()}") from None
        await self._errors_read()
        raise HostError(f"the shell there ended before it reported {what}{self._last_lines()}")

    def _of(self, line: str) -> tuple[str, str]:
        """Split a line of the script's in word and text; both are empty for other lines."""
        mark, _, rest = line.partition(" ")
        if mark != self._mark:
            return "", ""
        word, _, text = rest.partition(" ")
        return word, text

    async def _keep_errors(self, lines: "_Lines") -> None:
        while (line := await lines.next()) is not None:
            if line.strip():
                self._last.append(line.strip()[:_LINE_SHOWN])

    async def _errors_read(self) -> None:
        """Have read what was written before the end."""
        if self._errors is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._errors), 1.0)

    def _last_lines(self) -> str:
        return f": {' / '.join(self._last)}" if self._last else ""

    async def close(self) -> None:
        """Let go of its streams, which have ended."""
        if self._end is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._end, 1.0)
        if self._errors is not None:
            self._errors.cancel()


def _how(code: str) -> str:
    """Describe how a program ended, by the number of which a shell makes its exit code: 128 and more is a signal."""
    number = int(code) if code.isdigit() else 0
    return f"it was killed by signal {number - 128}" if number > 128 else f"it ended with code {code}"


class _Lines:
    """Lines out of chunks, each cut after a length that no line of the script's has."""

    def __init__(self, read: Callable[[int], Awaitable[bytes]]) -> None:
        self._read = read
        self._rest = b""
        self._has_ended = False

    async def next(self) -> str | None:
        """Give the next line without its end; None after the last."""
        while b"\n" not in self._rest and not self._has_ended:
            chunk = await self._read(_CHUNK_BYTES)
            self._has_ended = not chunk
            if len(self._rest) <= _LONGEST_LINE:
                self._rest += chunk
            elif b"\n" in chunk:
                self._rest = self._rest[:_LONGEST_LINE] + chunk[chunk.index(b"\n") :]
        if not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return line[:_LONGEST_LINE].decode(errors="replace")
