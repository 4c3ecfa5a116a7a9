"""Check that nobody but this user and root can change files and folders.

Environment variables name folders, and a variable may name a folder of another user: sudo can keep the environment. So a
path is walked from the root by descriptors, and each step is looked at after it was opened. A step is safe where it belongs
to this user or root, and nobody else may write to it (`ownership.py`). A folder on the way may be a sticky one, such as
/tmp: others cannot replace in it what is not theirs. What lies in a safe folder nobody else can exchange between two looks.
"""

import contextlib
import enum
import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from assay.closing import close
from assay.errors import InputError
from assay.ownership import foreign_owner, stranger_of, user_name

_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PARTIAL = ".part"
_SCRATCH = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - with the sticky bit, and a name of its own
_CURE: Final = "make it your own ('chown', 'chmod go-w')"
_MOST_LINKS: Final = 40
"""On one way, as in the kernel."""


class NotOwnError(InputError):
    """Somebody else can have changed what is there; the text names who, and the cure."""

    def __init__(self, reason: str, cure: str) -> None:
        """Of a path, with why it is not taken."""
        super().__init__(f"{reason}; {cure}")
        self.reason = reason


# -- the walk ----------------------------------------------------------------------------------------------------------


class Last(enum.Enum):
    """Conditions for the end of a path, in addition to those for all of it."""

    ANY = enum.auto()
    """Whatever it is."""
    PASSED = enum.auto()
    """As a folder on the way: it may be sticky. A file is safe."""
    SAFE = enum.auto()
    """A safe folder."""
    OWN = enum.auto()
    """A safe folder of this user's."""


class OpenedPlace(NamedTuple):
    """What was opened on a way."""

    path: Path
    """Without links."""
    place: int
    """Descriptor (O_PATH), closed by the walk."""
    facts: os.stat_result

    def check(self, cure: str, *, is_passed: bool = True) -> None:
        """Raise NotOwnError where somebody else can change it; a folder that is only passed may be sticky."""
        is_sticky = is_passed and stat.S_ISDIR(self.facts.st_mode) and self.facts.st_mode & stat.S_ISVTX
        why = foreign_owner(self.facts) if is_sticky else stranger_of(self.facts, f"/proc/self/fd/{self.place}")
        if why is not None:
            raise NotOwnError(f"{self.path} {why}", cure)


@contextlib.contextmanager
def walked(
    path: Path,
    last: Last,
    *,
    cure: str = _CURE,
    follows: bool = True,
    has_safe_folders: bool = True,
    makes: int | None = None,
) -> Iterator[OpenedPlace]:
    """Walk to the end of a path, and give it open.

    Args:
        path: Where to.
        last: What it has to be.
        cure: What to do where it is refused, for the message.
        follows: Whether a link on the way is followed; one that is has to be safe, and so has the folder that it lies in.
        has_safe_folders: Whether each folder on the way has to be safe, and not only those of links.
        makes: Mode of folders that are made where they are not there; the last has 0700. None: none is made. Nothing is made
            below a folder that is refused.

    Raises:
        NotOwnError: somebody else can change something on the way.
        OSError: it is not there, or something on the way is no folder.
    """
    left = list(reversed(path.absolute().parts[1:]))
    links = 0
    with contextlib.ExitStack() as held:
        way = [_open_step(Path("/"), None, held)]  # the folders on the way down, for `..`
        while left:
            name = left.pop()
            if name == "..":
                way = way[:-1] or way
                continue
            if has_safe_folders:
                way[-1].check(cure)
            mode = None if makes is None else makes if left else 0o700
            step = _open_or_make(way[-1], name, mode, held)
            if not stat.S_ISLNK(step.facts.st_mode):
                way.append(step)
                continue
            if not follows:
                raise NotOwnError(f"{step.path} is a link or no folder", cure)
            _check_link(way[-1], step, cure)
            if (links := links + 1) > _MOST_LINKS:
                raise NotOwnError(f"{path}: its links lead in a circle", "name it without them")
            target = Path(os.readlink("", dir_fd=step.place))
            if target.is_absolute():
                way = way[:1]
            left += reversed([part for part in target.parts if part != target.anchor])
        _check_last(way[-1], last, cure)
        yield way[-1]


def _check_link(folder: OpenedPlace, link: OpenedPlace, cure: str) -> None:
    try:
        folder.check(cure)
        link.check(cure)
    except NotOwnError as error:
        name = link.path.name
        raise NotOwnError(f"'{name}' is a link that others can have put there ({error.reason})", cure) from error


def _open_step(path: Path, above: int | None, held: contextlib.ExitStack) -> OpenedPlace:
    name = path if above is None else path.name
    try:
        # As a folder first: else what is mounted when somebody looks (autofs) is not, and the empty folder is opened.
        place = os.open(name, _STEP | os.O_DIRECTORY, dir_fd=above)
    except NotADirectoryError:
        place = os.open(name, _STEP, dir_fd=above)
    held.callback(close, place)
    return OpenedPlace(path, place, os.fstat(place))


def _open_or_make(above: OpenedPlace, name: str, mode: int | None, held: contextlib.ExitStack) -> OpenedPlace:
    """Open the next of a way; with a mode a folder is made where nothing is there."""
    if mode is not None:
        with contextlib.suppress(FileNotFoundError):
            return _open_step(above.path / name, above.place, held)
        with contextlib.suppress(FileExistsError):  # somebody was quicker: whose it is is looked at
            os.mkdir(name, mode, dir_fd=above.place)
            _sync(above)
    return _open_step(above.path / name, above.place, held)


def _sync(step: OpenedPlace) -> None:
    """Have the names in a folder on storage, where that can be asked for (`bundle/durable.py`); raises OSError."""
    try:
        descriptor = os.open(".", _FOLDER, dir_fd=step.place)
        try:
            os.fsync(descriptor)
        finally:
            close(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.EACCES}:
            raise


def _check_last(step: OpenedPlace, last: Last, cure: str) -> None:
    if last in {Last.SAFE, Last.OWN} and not stat.S_ISDIR(step.facts.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(step.path))
    if last is not Last.ANY:
        step.check(cure, is_passed=last is Last.PASSED)
    if last is Last.OWN and step.facts.st_uid != os.geteuid():
        raise NotOwnError(f"{step.path} belongs to user {user_name(step.facts.st_uid)}, not to you", cure)


# -- folders -----------------------------------------------------------------------------------------------------------


def safe_folder(path: Path) -> Path:
    """Give the path of a safe folder without links: nobody else can redirect it.

    Raises:
        NotOwnError: somebody else can change what is there.
        OSError: it is not there, or no folder.
    """
    with walked(path, Last.SAFE) as step:
        return step.path


def check_above(path: Path, *, cure: str = _CURE) -> None:
    """Raise NotOwnError where others than its owner can exchange what a path leads to; OSError where it is not there."""
    with walked(path, Last.ANY, cure=cure):
        pass


def find_stranger(path: Path) -> str | None:
    """Name the first part of the way to a file that another user could change, with the reason; None: nobody could.

    Raises:
        OSError: it is not there, or cannot be looked at.
    """
    try:
        with walked(path, Last.PASSED):
            return None
    except NotOwnError as error:
        return error.reason


def make_safe_folder(path: Path) -> Path:
    """Make a folder and those above it where they are not there, for this user alone; raises as `safe_folder` does."""
    with walked(path, Last.SAFE, makes=0o700) as step:
        return step.path


def open_safe_folder(path: Path, *, cure: str) -> int:
    """Open a folder that is there; it may be a sticky one of root, such as /var/tmp.

    Args:
        path: No part of it may be a link.
        cure: What to do where others could exchange it, for the message.

    Returns:
        Its descriptor, which the caller closes.

    Raises:
        FileNotFoundError: it is not there.
        OSError: it cannot be opened.
        NotOwnError: another user can exchange it, or a folder above it.
    """
    return _open_folder(path, Last.PASSED, cure, makes=None)


def open_own_folder(path: Path, *, cure: str, makes: bool = False) -> int:
    """Open a safe folder of this user's; as `open_safe_folder`.

    Args:
        path: No part of it may be a link.
        cure: What to do where others could exchange it, for the message.
        makes: Make it, and those above it, where they are not there.
    """
    return _open_folder(path, Last.OWN, cure, makes=0o755 if makes else None)


def _open_folder(path: Path, last: Last, cure: str, *, makes: int | None) -> int:
    try:
        with walked(path, last, cure=cure, follows=False, makes=makes) as step:
            return os.open(".", _FOLDER, dir_fd=step.place)
    except NotADirectoryError:
        raise NotOwnError(f"{path} is a link or no folder", cure) from None


def scratch_place() -> Path:
    """Give the folder for temporary files: $TMPDIR may be another user's, who could exchange what is made there.

    Raises:
        NotOwnError: there is none where nobody else can.
    """
    for place in (Path(tempfile.gettempdir()), *_SCRATCH):
        with contextlib.suppress(OSError, NotOwnError), walked(place, Last.PASSED) as step:
            return step.path
    raise NotOwnError("there is no folder for temporary files that others cannot change", "name one with TMPDIR")


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for as long as this is entered; raises as `scratch_place` does, and OSError where none can be made."""
    with tempfile.TemporaryDirectory(prefix="assay-", dir=scratch_place()) as folder:
        yield Path(folder)


# -- files -------------------------------------------------------------------------------------------------------------


def read_own(folder: Path, name: str, most_bytes: int) -> bytes | None:
    """Read a file in a safe folder; None of one that has more than it may.

    Raises:
        NotOwnError: somebody else can have written it.
        OSError: it is not there, or cannot be read.
    """
    with walked(folder, Last.SAFE) as step:
        descriptor = os.open(name, _READ, dir_fd=step.place)
        with os.fdopen(descriptor, "rb") as file:
            _refuse_foreign_file(descriptor, step.path / name)
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
    with walked(folder, Last.SAFE, makes=0o700) as step:
        place = step.place
        descriptor = os.open(partial, _WRITE, 0o600, dir_fd=place)
        with os.fdopen(descriptor, "r+b") as file:
            _refuse_foreign_file(descriptor, step.path / partial)
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


def check_own(path: Path) -> None:
    """Raise NotOwnError where a file, its folder or one above it can be changed by others; OSError where it is not there."""
    with walked(path.parent, Last.SAFE) as step:
        descriptor = os.open(path.name, _STEP, dir_fd=step.place)
        try:
            _refuse_foreign_file(descriptor, step.path / path.name)
        finally:
            close(descriptor)


def _refuse_foreign_file(descriptor: int, path: Path) -> None:
    if why := refusal(os.fstat(descriptor), path, is_folder=False, at=f"/proc/self/fd/{descriptor}"):
        raise NotOwnError(*why)


def refusal(
    facts: os.stat_result, path: Path, *, is_folder: bool, at: str | Path | None = None
) -> tuple[str, str] | None:
    """Give why a folder or file is not taken for this user's own, and the cure; None: it is.

    Args:
        facts: Of it.
        path: Its path, for the message.
        is_folder: Whether it is to be a folder.
        at: Where it can be looked at, if not there.
    """
    if stat.S_ISLNK(facts.st_mode):
        cure = "make a folder there" if is_folder else "put the file itself there, or name it by its path"
        return f"{path} is a link, and links are not followed", cure
    if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(facts.st_mode):
        kind = "a folder" if stat.S_ISDIR(facts.st_mode) else "no folder" if is_folder else "no file"
        return f"{path} is {kind}", _CURE
    why = stranger_of(facts, path if at is None else at)
    return None if why is None else (f"{path} {why}", _CURE)
