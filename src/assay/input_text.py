"""Read the text of a file that a user names: a load file, a file of commands.

Whoever wrote it may be somebody else: no more is read than anybody writes, and nothing that never ends or that waits for
others. A pipe that the caller handed on (standard input, a shell's `<(...)`) is read; one that lies in a directory is not.
"""

import os
import re
import stat
from collections.abc import Sequence

from assay.errors import InputError

MOST_BYTES = 4 << 20
"""A load of 2,000 phases has a tenth of it."""
MOST_WORDS = 20_000
"""Of a command line: more than a file for each worker that there can be. The more there are, the longer each takes."""

_HANDED_ON = re.compile(r"/dev/stdin|/dev/fd/[0-9]+|/proc/(self|[0-9]+)/fd/[0-9]+")
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_count(words: Sequence[str], where: str, most: int = MOST_WORDS) -> None:
    """Raise InputError for more words than a command line has."""
    if len(words) > most:
        raise InputError(f"{where}: these are {len(words)} words; {most} are the most")


def read_text(path: str, what: str, most_bytes: int = MOST_BYTES, *, follows: bool = True) -> str:
    """Read a file as text.

    Args:
        path: Its path.
        what: What it is to the user, such as `load file`.
        most_bytes: What it may have.
        follows: Whether a link is followed; not where a file that another user wrote names the path.

    Raises:
        FileNotFoundError: It is not there.
        InputError: It cannot be read, is no regular file, is too large, or is no UTF-8.
    """
    return read_text_and_facts(path, what, most_bytes, follows=follows)[0]


def read_text_and_facts(
    path: str, what: str, most_bytes: int = MOST_BYTES, *, follows: bool = True
) -> tuple[str, os.stat_result]:
    """Read a file as `read_text` does, with the facts of the very file that was read: who owns it, and who may write."""
    if "\0" in path:
        raise InputError(f"cannot read the {what} '{path}': a name of a file has no zero byte")
    try:
        # Without waiting for somebody who writes to a pipe.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(path, flags if follows else flags | os.O_NOFOLLOW)
        try:
            facts = os.fstat(descriptor)
            data = _read(descriptor, path, what, most_bytes)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"cannot read the {what} '{path}': {error.strerror}") from error
    if len(data) > most_bytes:
        raise InputError(f"'{path}' has more than {most_bytes >> 20} MiB; that is no {what}")
    try:
        return data.decode(), facts
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not UTF-8 text at byte {error.start}; a {what} is text") from error


def _read(descriptor: int, path: str, what: str, most_bytes: int) -> bytes:
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG and not (kind == stat.S_IFIFO and _HANDED_ON.fullmatch(path)):
        raise InputError(f"'{path}' is {_KINDS.get(kind, 'no file')}; a {what} is a regular file")
    os.set_blocking(descriptor, True)
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(most_bytes + 1)
