"""Files that Assay reads back as its own, in folders that are this user's: caches, the catalog, the key, suites, settings.

Environment variables name these folders, and a variable may name a folder of another user: sudo can keep the environment.
A folder is safe where nobody but this user and root can change what lies in it, or where its path leads: it and the folders
above belong to one of the two, and nobody else may write to them. A folder above may be one like /tmp, whose sticky bit
keeps others from renaming what they do not own. Nobody else can exchange what lies in a safe folder between two looks. A
file there is opened without following a link, and owner and mode are those of what was opened.
"""

import contextlib
import fcntl
import grp
import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from assay.errors import InputError

_ENTER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PARTIAL = ".part"
_SCRATCH = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - with the sticky bit, and a name of its own
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotOwnError(InputError):
    """Somebody else can have changed what is there; the text says who, and the cure."""


def safe_folder(path: Path) -> Path:
    """Give the path of a safe folder without links: nobody else can make it lead elsewhere.

    Raises:
        NotOwnError: somebody else can change what is there.
        OSError: it is not there, or no folder.
    """
    with _opened(path) as (_, resolved):
        return resolved


def check_above(path: Path) -> None:
    """Raise NotOwnError where others than its owner can exchange what a path leads to; OSError where it is not there."""
    with _opened(path, is_above=True):
        pass


def make_safe_folder(path: Path) -> Path:
    """Make a folder and those above it where they are not there, for this user alone; raises as `safe_folder` does."""
    missing: list[str] = []
    while not os.path.lexists(path):
        missing.append(path.name)
        path = path.parent
    with _opened(path) as (place, resolved), contextlib.ExitStack() as held:
        places, at = [place], resolved
        for name in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=places[-1])
            inner = os.open(name, _ENTER, dir_fd=places[-1])
            held.callback(os.close, inner)
            places.append(inner)
            at /= name
            _check(os.fstat(inner), at)
        return at


def read_own(folder: Path, name: str, most_bytes: int) -> bytes | None:
    """Read a file in a safe folder; None of one that has more than it may.

    Raises:
        NotOwnError: somebody else can have written it.
        OSError: it is not there, or cannot be read.
    """
    with _opened(folder) as (place, resolved):
        descriptor = os.open(name, _READ, dir_fd=place)
        with os.fdopen(descriptor, "rb") as file:
            _check(os.fstat(descriptor), resolved / name, is_folder=False)
            data = file.read(most_bytes + 1)
    return data if len(data) <= most_bytes else None


def replace_own(folder: Path, name: str, data: bytes) -> None:
    """Replace a file in a safe folder, which is made where it is not there; of two at once, one leaves it to the other.

    Who is killed meanwhile leaves one file behind, `.NAME.part`, which the next uses again.

    Raises:
        NotOwnError: somebody else can change what is there.
        OSError: it cannot be written.
    """
    partial = f".{name}{_PARTIAL}"
    with _opened(make_safe_folder(folder)) as (place, resolved):
        descriptor = os.open(partial, _WRITE, 0o600, dir_fd=place)
        with os.fdopen(descriptor, "r+b") as file:
            _check(os.fstat(descriptor), resolved / partial, is_folder=False)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # It may have got its name from whoever held it until now.
                if not os.path.samestat(os.fstat(descriptor), os.stat(partial, dir_fd=place, follow_symlinks=False)):
                    return
            except (BlockingIOError, FileNotFoundError):
                return
            file.truncate()
            file.write(data)
            file.flush()
            os.replace(partial, name, src_dir_fd=place, dst_dir_fd=place)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for as long as this is entered, where nobody else can exchange it: $TMPDIR may be another user's.

    Raises:
        OSError: none can be made.
    """
    for place in (Path(tempfile.gettempdir()), *_SCRATCH):
        with contextlib.suppress(OSError, NotOwnError):
            _check_scratch(place)
            break
    else:
        raise NotOwnError("there is no folder for temporary files that others cannot change; name one with TMPDIR")
    with tempfile.TemporaryDirectory(prefix="assay-", dir=place) as folder:
        yield Path(folder).resolve()


def _check_scratch(place: Path) -> None:
    with _opened(place, is_above=True) as (descriptor, resolved):
        _check(os.fstat(descriptor), resolved, is_above=True)


def check_own(path: Path) -> None:
    """Raise NotOwnError where a file, its folder or one above it can be changed by others; OSError where it is not there."""
    with _opened(path.parent) as (place, resolved):
        _check(os.stat(path.name, dir_fd=place, follow_symlinks=False), resolved / path.name, is_folder=False)


def refusal(facts: os.stat_result, path: Path, *, is_folder: bool) -> str:
    """Say why a folder or file is not taken for this user's own, and the cure; empty: it is."""
    if stat.S_ISLNK(facts.st_mode):
        cure = "make a folder there" if is_folder else "put the file itself there, or name it by its path"
        return f"'{path}' is a link, and links are not followed; {cure}"
    if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(facts.st_mode):
        kind = "a folder" if stat.S_ISDIR(facts.st_mode) else "no folder" if is_folder else "no file"
        return f"'{path}' is {kind}"
    if facts.st_uid not in {os.geteuid(), 0}:
        return f"'{path}' belongs to user {facts.st_uid}, who is neither you nor root; make it your own"
    if can_others_write(facts):
        return f"others may write to '{path}'; chmod go-w it"
    return ""


def is_own_folder(facts: os.stat_result) -> bool:
    """Whether what was looked at is a folder of this user's that nobody else can write to."""
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not can_others_write(facts)


def stranger(uid: int) -> str | None:
    """Name a user who is not this one; None: it is this one."""
    if uid == os.geteuid():
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def can_others_write(facts: os.stat_result) -> bool:
    """Whether somebody but the owner may write, other than by the owner's own group of one."""
    writers = stat.S_IMODE(facts.st_mode) & _OTHERS_WRITE
    return bool(writers) and not (writers == stat.S_IWGRP and _has_one_member(facts.st_gid, facts.st_uid))


def _has_one_member(gid: int, uid: int) -> bool:
    """Whether a group is a user's private one, as many systems make for each user, with a umask of 002."""
    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


@contextlib.contextmanager
def _opened(path: Path, *, is_above: bool = False) -> Iterator[tuple[int, Path]]:
    """Give a descriptor of a safe folder, and its path without links; `is_above`: only the folders above have to be safe."""
    try:
        resolved = path.resolve(strict=True)
    except RuntimeError as error:
        raise NotOwnError(f"'{path}': its links lead in a circle") from error
    with contextlib.ExitStack() as held:
        at = Path("/")
        place = os.open(at, _ENTER)
        held.callback(os.close, place)
        for name in resolved.parts[1:]:
            _check(os.fstat(place), at, is_above=True)
            place = os.open(name, _ENTER, dir_fd=place)
            held.callback(os.close, place)
            at /= name
        if not is_above:
            _check(os.fstat(place), at)
        yield place, resolved


def _check(facts: os.stat_result, path: Path, *, is_folder: bool = True, is_above: bool = False) -> None:
    why = refusal(facts, path, is_folder=is_folder)
    is_sticky = is_above and stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX
    if why and not (is_sticky and facts.st_uid in {os.geteuid(), 0}):
        raise NotOwnError(why)
