"""Open files that a user wants written, where another user may have put a link in the way.

Root can be made to write anywhere through a link. So a link on the way to a folder is followed only where nobody but this
user and root can have put it there, and a link at the place itself never. The way is gone along from open folder to open
folder: nobody can exchange one afterwards. A file that is there is written to only if it is a regular one of this user's,
with no other name.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from assay.errors import InputError
from assay.own_files import Last, walked

_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TRIES: Final = 8


@contextlib.contextmanager
def way_to(folder: Path) -> Iterator[Path]:
    """Give a path to a folder that leads to it and nowhere else while this is entered.

    Raises:
        InputError: a link on the way can be somebody else's.
        OSError: it is not there, or no folder.
    """
    with walked(folder, Last.ANY, cure="name the folder itself", has_safe_folders=False) as step:
        if not stat.S_ISDIR(step.facts.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        yield Path(f"/proc/self/fd/{step.place}")


@contextlib.contextmanager
def output(path: Path, *, appends: bool = False) -> Iterator[BinaryIO]:
    """Open a file to write, made where it is not there.

    Args:
        path: Its path.
        appends: Whether what is there stays, and this goes after it.

    Raises:
        InputError: what is there is no regular file of this user's, or a link on the way can be somebody else's.
        OSError: it cannot be written.
    """
    with way_to(path.parent) as folder, _opened(folder / path.name, path)[0] as file:
        if appends:
            file.seek(0, os.SEEK_END)
        else:
            file.truncate()
        yield file


def check_output(path: Path) -> None:
    """Look whether a file can be written later, and leave nothing of it behind; raises as `output` does."""
    with way_to(path.parent) as folder:
        file, is_new = _opened(folder / path.name, path)
        file.close()
        if is_new:
            (folder / path.name).unlink()


def _opened(at: Path, path: Path) -> tuple[BinaryIO, bool]:
    """Open a file in an open folder, and report whether it was created."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileExistsError):
            return os.fdopen(os.open(at, _MAKE, 0o666), "wb"), True
        with contextlib.suppress(FileNotFoundError):
            # Looked at first: opening a device can already do something.
            refuse_foreign(at.lstat(), path)
            file = os.fdopen(os.open(at, _OPEN), "wb")
            try:
                refuse_foreign(os.fstat(file.fileno()), path)
            except InputError:
                file.close()
                raise
            return file, False
    raise InputError(f"{path} comes and goes: somebody else works there. Name another file")


def refuse_foreign(facts: os.stat_result, path: Path) -> None:
    """Raise InputError unless what is at a path is a regular file of this user's, with no other name."""
    if stat.S_ISLNK(facts.st_mode):
        raise InputError(f"{path} is a link, which is not followed; name the file itself")
    if not stat.S_ISREG(facts.st_mode):
        raise InputError(f"{path} is no regular file; name another")
    if facts.st_uid != os.geteuid():
        raise InputError(f"{path} belongs to user {facts.st_uid}, not to you; name a file of your own")
    if facts.st_nlink > 1:
        raise InputError(f"{path} has other names, too (hard links), and is not written; name another file")
