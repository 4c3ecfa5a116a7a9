"""Find the engine, start it with a Plan, and follow what it says.

The engine's standard output is the bundle's own `events.ndjson`: what it has written is on record even if this process is
killed, and this process reads along as any other reader would. Control lines go down its standard input; when that ends,
the engine stops its load, removes what is not to be kept, and leaves.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from assay import __version__, events
from assay.errors import PlanError, RunError
from assay.plan import Origin, Plan

POLL_S = 0.02
"""How often the stream is looked at: the longest that a phase waits for its start beyond the lead time."""


def find_engine() -> Path:
    """Find `assay-engine`: by $ASSAY_ENGINE, beside this interpreter, or on PATH; raises RunError if it is nowhere."""
    named = os.environ.get("ASSAY_ENGINE")
    beside = Path(sys.executable).with_name("assay-engine")
    for candidate in (Path(named) if named else None, beside):
        if candidate is not None and candidate.is_file():
            return candidate
    found = shutil.which("assay-engine")
    if found is None:
        raise RunError("assay-engine was not found beside this Python or on PATH; install the wheel 'assay-engine'")
    return Path(found)


class EngineProcess:
    """A running engine. As a context manager it is never left behind: leaving asks it to stop, then waits."""

    def __init__(self, plan: Plan, stream: Path, log: Path) -> None:
        """Start the engine on a Plan.

        Args:
            plan: What to do.
            stream: File that becomes the engine's standard output.
            log: File that becomes its standard error; anything in it is a fault of the engine.
        """
        with stream.open("ab") as output, log.open("ab") as errors:
            self._process = subprocess.Popen(
                [find_engine()],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        self._stream = stream
        self._log = log
        self._write(plan.to_json())

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe above
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # it has ended; its stream says why, or follow() does

    def send(self, control: events.Control) -> None:
        """Send one control line."""
        self._write(msgspec.json.encode(control))

    def follow(self) -> Iterator[events.Event | None]:
        """Yield events as they come and None whenever there is nothing new, until the engine has ended.

        Raises:
            RunError: The engine ended without saying so, or wrote what is not an event.
        """
        finished = False
        with self._stream.open("rb") as stream:
            partial = b""
            while True:
                has_ended = self._process.poll() is not None
                lines = (partial + stream.read()).split(b"\n")
                partial = lines.pop()
                for line in lines:
                    event = _decode(line)
                    finished = finished or isinstance(event, events.Finished)
                    yield event
                if has_ended:
                    break
                if not lines:
                    yield None
                    time.sleep(POLL_S)
        if not finished:
            raise RunError(self._obituary())

    def _obituary(self) -> str:
        code = self._process.returncode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        said = self._log.read_text(errors="replace").strip().splitlines()[-3:]
        return f"assay-engine {how} before it was done" + (": " + " ".join(said) if said else "")

    def kill(self) -> None:
        """End it at once; its data set stays behind for `assay clean`."""
        self._process.kill()

    def __enter__(self) -> Self:
        """Nothing more to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its input, which is a stop, and wait for it to clean up."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()


def _decode(line: bytes) -> events.Event:
    try:
        return events.decode(line)
    except msgspec.DecodeError as error:
        raise RunError(f"assay-engine wrote a line that is no event ({error}): {line[:200]!r}") from error


def run_quietly(plan: Plan) -> list[events.Event]:
    """Carry out a Plan without timed phases and return all events; raises RunError with the engine's own words."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        stream = Path(folder) / "events.ndjson"
        with EngineProcess(plan, stream, Path(folder) / "engine.log") as engine:
            seen = [event for event in engine.follow() if event is not None]
    raise_engine_error(seen)
    return seen


def raise_engine_error(seen: list[events.Event]) -> None:
    """Raise the first Error of a stream as the exception of its class."""
    for event in seen:
        if isinstance(event, events.Error):
            raise (PlanError if event.class_ is events.ErrorClass.PLAN else RunError)(event.text)


def capabilities() -> events.Hello:
    """Ask the engine what it is and what kernel and privileges allow; raises RunError if it does not answer."""
    empty = Plan(
        name="hello",
        origin=Origin(front_end="assay", source="capabilities", sha256=""),
        seed=0,
        targets=(),
        file_sets=(),
        phases=(),
    )
    for event in run_quietly(empty):
        if isinstance(event, events.Hello):
            if event.engine.version != __version__:
                raise RunError(
                    f"assay {__version__} found assay-engine {event.engine.version} at {find_engine()}; "
                    "install the same version of both"
                )
            return event
    raise RunError(f"{find_engine()} did not say hello; is it assay-engine?")
