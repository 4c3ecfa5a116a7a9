"""Find the engine, start it with a Plan, and follow its events.

The engine's standard output is the bundle's own stream of events: what it has written is on record even if this process is
killed, and this process reads along as any other reader would. Control lines go down its standard input; when that ends,
the engine stops its load, removes what is not to be kept, and leaves.

An engine whose I/O hangs (state D) cannot be killed. This process never waits for it without end: it warns, and a
second Ctrl-C leaves the engine behind.
"""

import contextlib
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from assay import __version__, events
from assay.bundle.durable import OnlyRead
from assay.bundle.run_place import open_in_run
from assay.closing import close
from assay.errors import AssayError, InputError, Interrupted, PlanError, RunError, reason_of
from assay.own_files import NotOwnError, check_own, scratch_folder
from assay.plan import Origin, Plan, Target, User
from assay.running.growing_file import GrowingFile
from assay.running.handed_over import scripts_by_descriptor
from assay.running.stopping import Stopped, Stops
from assay.running.stream_lock import lock_for_writer
from assay.targets import directories

POLL_S = 0.02
"""How often the stream is looked at: the longest that a phase waits for its start beyond the lead time."""
HELLO_WAIT_S = 30.0
"""An engine sends hello within milliseconds; after this time, the program is not an engine."""
PATIENCE_S = 10.0
"""Time after a stop that the engine may be silent before the user is informed."""
KILL_WAIT_S = 3.0
"""A killed process is gone at once, unless the kernel holds it in an I/O."""
STOPPING = "stopping"
"""Identifier of warnings about an engine that is to end, or is silent."""
_LOOK_S = 1.0
"""Time between two looks at what a silent engine waits for."""
UNRECORDED = 4
"""The engine's exit code when its events could not be written."""
_GARBAGE_SHOWN = 200
_NEW = 0o666
"""Mode of a new file; the umask takes from it."""


def find_engine() -> Path:
    """Find `assay-engine`: by $ASSAY_ENGINE, next to this interpreter, or on PATH; raises RunError if it is nowhere."""
    named = os.environ.get("ASSAY_ENGINE")
    if named:
        if not Path(named).is_file():
            raise RunError(f"$ASSAY_ENGINE is '{named}', and there is no such file; unset it or name assay-engine")
        if why := _is_of_others(Path(named).resolve()):
            raise RunError(f"$ASSAY_ENGINE is '{named}', and is not started: {why}; unset it or name assay-engine")
        return Path(named)
    sibling = Path(sys.executable).with_name("assay-engine")
    if sibling.is_file():
        return sibling
    found = shutil.which("assay-engine")
    if found is None:
        raise RunError("assay-engine was not found next to this Python or on PATH; install the wheel 'assay-engine'")
    return Path(found)


def _is_of_others(program: Path) -> str:
    """Describe how another user could have changed the program; empty: impossible."""
    for file in (Path(__file__).resolve(), program):
        try:
            check_own(file)
        except NotOwnError as error:
            return str(error) if file == program else ""
        except OSError:
            return ""
    return ""


def _other_user(plan: Plan) -> User | None:
    """Give the user of a Plan if it is another one than that of this process; raises InputError if that may not be."""
    user = plan.user
    if user is None or (user.uid, user.gid) == (os.geteuid(), os.getegid()):
        return None
    if os.geteuid() != 0:
        raise InputError(f"this run works as user {user.uid}, group {user.gid}, and only root can start it so")
    return user


class EngineProcess:
    """A running engine. As a context manager it is not left behind, unless the kernel does not let go of it."""

    def __init__(self, plan: Plan, stream: Path, log: Path, *, host: str = "") -> None:
        """Start the engine on a Plan, as the Plan's user.

        Args:
            plan: What to do.
            stream: File that becomes the engine's standard output.
            log: File that becomes its standard error; anything in it is a fault of the engine.
            host: This machine's name, where what is wrong is read on another one.

        Raises:
            InputError: Nobody but root may start it as the Plan's user.
            RunError: It cannot be started.
        """
        user = _other_user(plan)
        self._program = find_engine()
        self._stream = stream
        self._log = log
        where = f" on {host}" if host else ""
        cleans = [f"'assay clean {shlex.quote(str(path))}'{where}" for path in directories(plan).values()]
        self._cure = f". What was measured is kept; {', '.join(cleans)} removes data that was left" if cleans else ""
        try:
            # Open for reading from the start: a folder that somebody removes is noticed, and no reason not to read on.
            self._lines = OnlyRead(io.FileIO(open_in_run(stream, os.O_RDONLY | os.O_CREAT, _NEW)))
        except OSError as error:
            raise RunError(f"{stream}: cannot be written: {error.strerror}. Nothing was measured") from error
        try:
            with contextlib.ExitStack() as opened:
                output, errors = (opened.enter_context(_appended(path)) for path in (stream, log))
                lock_for_writer(output)
                plan, scripts = opened.enter_context(scripts_by_descriptor(plan)) if user else (plan, ())
                self._process = self._start(output, errors, user, scripts)
        except BaseException:
            self._lines.close()
            raise
        self._write(plan.to_json())

    def _start(self, output: int, errors: int, user: User | None, scripts: Sequence[int]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                [self._program],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                user=user.uid if user else None,
                group=user.gid if user else None,
                extra_groups=[] if user else None,
                pass_fds=scripts,
            )
        except PermissionError as error:
            whom = f"user {user.uid}, group {user.gid}" if user else "you"
            raise RunError(
                f"{self._program} could not be started as {whom}: {error.strerror}. Every folder above it must be open to "
                "that user. Nothing was measured"
            ) from error
        except OSError as error:
            raise RunError(f"{self._program} could not be started: {reason_of(error)}. Nothing was measured") from error

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
            return  # it has ended; its stream has the reason, or follow() raises

    def send(self, control: events.Control) -> None:
        """Send one control line."""
        self._write(msgspec.json.encode(control))

    def follow(self, stops: Stops) -> Iterator[events.Event | None]:
        """Yield events as they come and None whenever there is nothing new, until the engine has ended.

        Stops are passed on: the first asks the engine to stop, the second kills it. What the user should know about
        that comes as a Warning between the engine's own events.

        Raises:
            RunError: The engine ended without a final event, or wrote what is not an event.
            Interrupted: A second stop ended it, or left it behind.
        """
        outcome: events.Outcome | None = None
        is_lost = False
        ending = _Ending(self._process, stops)
        lines = GrowingFile(self._lines, self._stream)
        while True:
            has_ended = self._process.poll() is not None
            new = lines.read()
            for offset, line in new:
                event = self._decode(line, offset)
                if isinstance(event, events.Finished):
                    outcome = event.outcome
                ending.hear(event)
                yield event
            if has_ended and lines.are_over():
                break
            if not (is_lost or outcome) and lines.are_lost():
                is_lost = True
                self.send(events.StopRun())
            if text := ending.act(self):
                yield events.Warning(t_ns=0, phase_index=None, id=STOPPING, text=text)
            elif not new:
                yield None
                time.sleep(POLL_S)
        self._check_end(ending, outcome, is_lost=is_lost)

    def _check_end(self, ending: "_Ending", outcome: events.Outcome | None, *, is_lost: bool) -> None:
        """Raise what `follow` raises where it has not ended as it should."""
        if ending.was_killed:
            raise Interrupted(f"ended at once{self._cure}")
        if is_lost and outcome is not events.Outcome.COMPLETE:  # it may have been done before it was asked to stop
            raise RunError(
                f"{self._stream} was removed, moved away or unmounted while the run was on, so the run was stopped"
            )
        if outcome is None or self._process.returncode != 0:
            raise RunError(self._obituary())

    def _decode(self, line: bytes, offset: int) -> events.Event:
        try:
            return events.decode(line)
        except msgspec.DecodeError as error:
            self.kill()  # at once: whatever it is, it may write without end
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_WAIT_S)
            self._set_aside(offset)
            raise RunError(
                f"{self._program} wrote a line that is no event ({error}): {_shown(line)}. Is it the assay-engine of "
                f"assay {__version__}? It was ended{self._cure}"
            ) from error

    def _set_aside(self, offset: int) -> None:
        """Move what is no event from the stream to the log, so that what came before can be read."""
        with (
            contextlib.suppress(OSError),
            os.fdopen(open_in_run(self._stream, os.O_RDWR), "r+b") as stream,
            os.fdopen(open_in_run(self._log, os.O_WRONLY | os.O_APPEND), "ab") as log,
        ):
            stream.seek(offset)
            log.write(stream.read(1 << 20))
            stream.truncate(offset)

    def _obituary(self) -> str:
        text = " ".join(_last_lines(self._log))
        code = self._process.returncode
        if code == UNRECORDED:
            return (
                f"{self._stream.parent}: no more events could be written there, so the run was stopped. "
                "Make room, or keep runs in another place with --runs DIR or $ASSAY_RUNS"
            )
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        text = f": {text}" if text else ""
        return f"{self._program} {how} before it was done{text}{self._cure}"

    def kill(self) -> None:
        """End it and what it started at once; its data set stays behind for `assay clean`."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own

    def abandonment(self) -> str:
        """Describe what remains if even killing does not end it."""
        return (
            f"assay-engine (process {self.pid}) was killed but does not end: it waits for storage that does not answer. "
            f"It is left behind and ends when the storage answers{self._cure}"
        )

    def _end(self) -> None:
        """Ask it to stop and clean up, wait a while, and kill it if it does not."""
        self._close_input()
        for wait_s in (PATIENCE_S, KILL_WAIT_S):
            try:
                self._process.wait(wait_s)
            except subprocess.TimeoutExpired:
                self.kill()
            else:
                return

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def __enter__(self) -> Self:
        """Nothing more to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its input, which is a stop, and end it if it runs on."""
        self._lines.close()
        if kind is not None and issubclass(kind, Stopped):
            self.kill()
        # After an AssayError follow() has seen it end, or has given it up.
        if kind is None or issubclass(kind, AssayError):
            self._close_input()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0)
        else:
            self._end()


@contextlib.contextmanager
def _appended(path: Path) -> Iterator[int]:
    """Open a file for another process to write at its end."""
    descriptor = open_in_run(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _NEW)
    try:
        yield descriptor
    finally:
        close(descriptor)


class _Ending:
    """Watches the end that the user asked for, and a silent engine."""

    def __init__(self, process: "subprocess.Popen[bytes]", stops: Stops) -> None:
        self._process = process
        self._stops = stops
        self._begun_s = time.monotonic()
        self._has_sent_hello = False
        self._last_event_s = self._looked_s = self._begun_s
        self._stopped_s: float | None = None
        self._killed_s: float | None = None
        self._has_given_reason = False

    @property
    def was_killed(self) -> bool:
        """Whether a second stop came."""
        return self._killed_s is not None

    def hear(self, event: events.Event) -> None:
        """Take note of a sign of life. Intervals go on while workers hang: once a stop came, they are none."""
        self._has_sent_hello = True
        if self._stopped_s is None or not isinstance(event, events.Interval):
            self._last_event_s = time.monotonic()
            self._has_given_reason = False

    def act(self, engine: EngineProcess) -> str:
        """Pass stops on, and warn the user; raises Interrupted or RunError to give the engine up."""
        now = time.monotonic()
        if not self._has_sent_hello and now - self._begun_s > HELLO_WAIT_S:
            engine.kill()
            raise RunError(f"{find_engine()} sent no hello within {HELLO_WAIT_S:g} s; is it assay-engine?")
        if self._killed_s is not None:
            if now - self._killed_s > KILL_WAIT_S:
                raise Interrupted(engine.abandonment())
            return ""
        if self._stops.count > 1:
            engine.kill()
            self._killed_s = now
            return ""
        if self._stops.count and self._stopped_s is None:
            engine.send(events.StopRun())
            self._stopped_s = self._last_event_s = now
            self._has_given_reason = False
            return "stopping: the load ends and its data is removed. Ctrl-C again ends at once and leaves the data"
        if not self._has_given_reason and now > max(self._last_event_s + PATIENCE_S, self._looked_s + _LOOK_S):
            self._looked_s = now
            text = self._why_silent(engine.pid)
            self._has_given_reason = bool(text)
            return text
        return ""

    def _why_silent(self, pid: int) -> str:
        """Report the reason after a stop; before that only hanging storage or a stopped engine: a load may be silent."""
        states = _thread_states(pid)
        waiting, is_stopped = states.count("D"), "T" in states
        text = f"assay-engine (process {pid}) has sent no event for {PATIENCE_S:g} s"
        if waiting:
            threads = "thread waits" if waiting == 1 else "threads wait"
            text += f": {waiting} {threads} for storage that does not answer (state D)"
        elif is_stopped:
            text += f": somebody stopped it (state T). 'kill -CONT {pid}' lets it go on"
        if self._stopped_s is not None:
            return f"{text}. Ctrl-C again kills it"
        return text if waiting or is_stopped else ""


def _thread_states(pid: int) -> list[str]:
    """State letters of the threads of a process and its children: the first word after the name in parentheses (proc(5))."""
    states = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
            for child in (task / "children").read_text().split():
                states += _thread_states(int(child))
    return states


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace")
    return repr(text if len(text) <= _GARBAGE_SHOWN else text[:_GARBAGE_SHOWN] + "…")


def _last_lines(log: Path) -> list[str]:
    try:
        return log.read_text(errors="replace").strip().splitlines()[-3:]
    except OSError:
        return []


def run_quietly(plan: Plan) -> list[events.Event]:
    """Execute a Plan without timed phases and return all events.

    Raises:
        RunError: With the engine's own words.
        PlanError: The engine refuses the Plan.
        Interrupted: The user stopped it.
    """
    with Stops() as stops, scratch_folder() as folder:
        stream = folder / "events.ndjson"
        with EngineProcess(plan, stream, folder / "engine.log") as engine:
            seen = []
            for event in engine.follow(stops):
                if isinstance(event, events.Warning) and event.id == STOPPING:
                    sys.stderr.write(f"  {event.text}\n")
                elif event is not None:
                    seen.append(event)
    raise_engine_error(seen)
    raise_stop(seen, stops)
    return seen


def raise_engine_error(seen: list[events.Event]) -> None:
    """Raise the first Error of a stream as the exception of its class."""
    for event in seen:
        if isinstance(event, events.Error):
            raise (PlanError if event.class_ is events.ErrorClass.PLAN else RunError)(event.text)


def raise_stop(seen: list[events.Event], stops: Stops) -> None:
    """Raise the error of a stream that ended by a stop."""
    if stops.count:
        raise Interrupted("stopped; what was measured until then is kept")
    if any(isinstance(event, events.Finished) and event.outcome is events.Outcome.STOPPED for event in seen):
        raise RunError("the engine was stopped from outside; what was measured until then is kept")


def capabilities(*targets: Target, user: User | None = None) -> events.Hello:
    """Ask the engine what it is and what kernel and privileges allow, as a user.

    Raises:
        InputError: Nobody but root may start it as that user.
        RunError: It does not answer, or one of the targets cannot be written to or is in use by another run.
    """
    empty = Plan(
        name="hello",
        origin=Origin(front_end="assay", source="capabilities", sha256=""),
        seed=0,
        targets=targets,
        file_sets=(),
        phases=(),
        user=user,
    )
    seen = run_quietly(empty)
    for event in seen:
        if isinstance(event, events.Warning) and event.id == events.DATA_LEFT_BEHIND:
            raise RunError(f"{event.text}. Nothing was measured")
    for event in seen:
        if isinstance(event, events.Hello):
            if event.engine.version != __version__:
                raise RunError(
                    f"assay {__version__} found assay-engine {event.engine.version} at {find_engine()}; "
                    "install the same version of both"
                )
            return event
    raise RunError(f"{find_engine()} sent no hello; is it assay-engine?")
