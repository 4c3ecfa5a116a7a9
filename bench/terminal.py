"""What does a command print on a terminal of so many columns and lines?"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Printed:
    """What a command printed."""

    raw: str
    """On the terminal, as it came."""
    beside: str
    """On standard error, where that was not the terminal."""
    code: int
    """Its exit code."""

    @property
    def text(self) -> str:
        """What came to the terminal, without colours."""
        return _ANSI.sub("", self.raw).replace("\r\n", "\n")


def printed(
    command: Sequence[str | Path],
    size: tuple[int, int],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    has_all: bool = False,
) -> Printed:
    """Run a command on a terminal of its own, with nobody at its standard input.

    Args:
        command: Program and arguments.
        size: Columns and lines.
        env: Variables on top of one's own.
        cwd: Folder to run in.
        has_all: Whether standard error is that terminal too, and not a file.
    """
    columns, lines = size
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    own = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    with (
        tempfile.TemporaryFile() as beside,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower if has_all else beside,
            env=own | {"TERM": "xterm-256color"} | dict(env or {}),
            cwd=cwd,
        ) as running,
    ):
        os.close(follower)
        shown = bytearray()
        while piece := _read(leader):
            shown += piece
        code = running.wait()
        beside.seek(0)
        said = beside.read().decode()
    os.close(leader)
    return Printed(raw=shown.decode(), beside=said, code=code)


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # EIO: the other end is closed
        return b""
