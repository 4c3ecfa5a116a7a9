"""Opening what a user wants written, where others may have put a link in the way.

Root can be made to write anywhere through a link. So a link on the way to a folder is followed only where nobody but this
user and root can have put it there, and a link at the place itself never. The way is gone along from open folder to open
folder: nobody can exchange one afterwards. A file that is there is written to only if it is a regular one of this user's,
with no other name.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from assay.errors import InputError
from assay.own_files import can_others_write

_ENTER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_LINKS: Final = 40
"""On one way, as in the kernel."""
_TRIES: Final = 8


@contextlib.contextmanager
def way_to(folder: Path) -> Iterator[Path]:
    """Give a path to a folder that leads to it and nowhere else while this is entered.

    Raises:
        InputError: a link on the way can be somebody else's.
        OSError: it is not there, or no folder.
    """
    place = _walk(Path.cwd() / folder)
    try:
        yield Path(f"/proc/self/fd/{place}")
    finally:
        os.close(place)


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
    """Open a file in an open folder, and say whether it was made for that."""
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


def _walk(path: Path) -> int:
    """Open a folder step by step from the root."""
    left = list(reversed(path.parts[1:]))
    # The folders on the way down, for `..`.
    places = [os.open("/", _ENTER)]
    try:
        links = 0
        while left:
            name = left.pop()
            if name == "..":
                if len(places) > 1:
                    os.close(places.pop())
                continue
            target = _link(name, places[-1], path)
            if target is None:
                places.append(os.open(name, _ENTER, dir_fd=places[-1]))
                continue
            links += 1
            if links > _MOST_LINKS:
                raise InputError(f"{path}: its links lead in a circle")
            if target.is_absolute():
                while len(places) > 1:
                    os.close(places.pop())
            left += [part for part in reversed(target.parts) if part != "/"]
        return places.pop()
    finally:
        for place in places:
            os.close(place)


def _link(name: str, place: int, path: Path) -> Path | None:
    """Read a link that may be followed; None where there is none. Raises InputError for one of somebody else's."""
    facts = os.stat(name, dir_fd=place, follow_symlinks=False)
    if not stat.S_ISLNK(facts.st_mode):
        return None
    folder, own = os.fstat(place), {os.geteuid(), 0}
    is_kept = facts.st_uid in own and folder.st_mode & stat.S_ISVTX
    if folder.st_uid not in own or (can_others_write(folder) and not is_kept):
        raise InputError(
            f"{path}: '{name}' is a link that others can have put there, and is not followed; name the folder itself"
        )
    return Path(os.readlink(name, dir_fd=place))
