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
from pathlib import Path

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def printed(
    command: Sequence[str | Path],
    size: tuple[int, int],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[str, str, int]:
    """Run a command with its standard output on a terminal and its standard error in a file.

    Args:
        command: Program and arguments.
        size: Columns and lines.
        env: Variables on top of one's own.
        cwd: Folder to run in.

    Returns what came to the terminal, without colours; what came to the file; the exit code.
    """
    columns, lines = size
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    own = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    env = own | {"TERM": "xterm"} | dict(env or {})
    with (
        tempfile.TemporaryFile() as beside,
        subprocess.Popen(command, stdin=follower, stdout=follower, stderr=beside, env=env, cwd=cwd) as running,
    ):
        os.close(follower)
        shown = bytearray()
        while piece := _read(leader):
            shown += piece
        running.wait()
        beside.seek(0)
        said = beside.read().decode()
    os.close(leader)
    return _ANSI.sub("", shown.decode()).replace("\r\n", "\n"), said, running.returncode


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # EIO: the other end is closed
        return b""
