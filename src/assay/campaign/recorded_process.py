"""Start a process that the journal records before it can do anything.

It is started held: a shell waits for a line on a pipe, and only then becomes the command. Who is killed before that leaves
a closed pipe, and the shell ends. A process is known again by its number, the moment of the kernel's clock when it began
(proc(5), field 22 of /proc/PID/stat), and the start of the kernel: words of a command line can be anybody's.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from assay.devices.device_identity import boot_id
from assay.errors import RunError

_HELD: Final = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
_STARTED_FIELD: Final = 22 - 3
"""In what is behind the name of the command, which may hold anything and ends with the last bracket."""


class ProcessIdentity(NamedTuple):
    """By which a process is known again."""

    process: int
    started_ticks: int
    boot_id: str


@contextmanager
def started(
    words: Sequence[str],
    record: Callable[[ProcessIdentity], None],
    *,
    out: BinaryIO,
    err: BinaryIO,
    variables: Mapping[str, str],
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a command in a session of its own, with nothing on standard input, once its process was recorded.

    Args:
        words: The command.
        record: Called before the command begins; where that raises, it never does.
        out: Its standard output.
        err: Its standard error.
        variables: Of its environment, in addition to those of this process.

    Raises:
        RunError: no process can be started.
    """
    try:
        process = subprocess.Popen(
            [*_HELD, *words],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            env={**os.environ, **variables},
            start_new_session=True,
        )
    except OSError as error:
        raise RunError(f"no process can be started: {error.strerror}") from error
    with process:
        pipe = process.stdin
        if pipe is None:
            raise RuntimeError("a pipe was asked for")
        begun_ticks = _started_ticks(process.pid)
        try:
            if begun_ticks is None:
                raise RunError(f"/proc/{process.pid}/stat has nothing about the measurement's process")
            record(ProcessIdentity(process.pid, begun_ticks, boot_id()))
            with suppress(BrokenPipeError):  # it ended by itself, with a code
                pipe.write(b"go\n")
                pipe.flush()
        finally:
            with suppress(BrokenPipeError):
                pipe.close()
        yield process


class FoundProcess:
    """A process that was recorded, and still is the same one; it is reached by a descriptor of it."""

    def __init__(self, identity: ProcessIdentity, descriptor: int) -> None:
        """Of an open one."""
        self.number = identity.process
        self._descriptor = descriptor

    def end(self, patience_s: float) -> None:
        """Have it end, and end it where it does not."""
        for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, None)):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)
            if self._has_ended(wait_s):
                return

    def has_ended(self) -> bool:
        """Whether it has, but for being reaped."""
        return self._has_ended(0)

    def _has_ended(self, wait_s: float | None) -> bool:
        deadline_s = None if wait_s is None else time.monotonic() + wait_s
        while True:
            left_s = None if deadline_s is None else max(deadline_s - time.monotonic(), 0)
            ready, _, _ = select.select([self._descriptor], [], [], left_s)
            if ready or left_s == 0:
                return bool(ready)


@contextmanager
def found(identity: ProcessIdentity) -> Iterator[FoundProcess | None]:
    """Find a process that was recorded; None: it has ended."""
    if identity.boot_id != boot_id() or not identity.boot_id:
        yield None
        return
    try:
        descriptor = os.pidfd_open(identity.process)
    except OSError:
        yield None
        return
    try:
        # Looked at behind the descriptor: what it was opened of is what has the number now, or has ended.
        is_same = _started_ticks(identity.process) == identity.started_ticks
        process = FoundProcess(identity, descriptor)
        yield process if is_same and not process.has_ended() else None
    finally:
        os.close(descriptor)


def _started_ticks(process: int) -> int | None:
    try:
        text = Path(f"/proc/{process}/stat").read_bytes()
        return int(text.rpartition(b")")[2].split()[_STARTED_FIELD])
    except (OSError, ValueError, IndexError):
        return None
