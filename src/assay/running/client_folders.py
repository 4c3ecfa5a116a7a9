"""Create, choose and remove the folder of a client that works in a folder of its own.

`DIRECTORY/assay-clients/NAME`, so that clients of one storage do not meet in the data folder and its lock. The client
makes what is not there before its engine starts, and removes it afterwards: only folders that Assay made, which their
mark requires, and only if nothing else is in them. The mark is there for a later run too, where a client died. Nothing
is followed: each folder is opened in the one before it, and one that is a link, or that other users can write to, is
refused.
"""

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from assay.errors import RunError, reason_of
from assay.plan import Plan, User
from assay.targets import CLIENT_FOLDERS, directories

FOLDER_MARK: Final = ".assay-folder"
"""File in a folder that Assay made."""
_MARK_TEXT: Final = b"assay-folder 1 made\n"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSING: Final = frozenset({errno.ENOENT, errno.EEXIST, errno.ESTALE})
"""What a folder on shared storage gives while another client makes or removes it, or this one remembers it as it was."""
_PATIENCE_S: Final = 30.0
"""Longer than the 20 s for which sshfs caches a folder."""
_FIRST_WAIT_S: Final = 0.01
_LONGEST_WAIT_S: Final = 1.0


def folder_of(directory: Path, client: str) -> Path:
    """Give the folder of a client in a directory."""
    return directory / CLIENT_FOLDERS / client


def folders_to_make(plan: Plan) -> tuple[Path, ...]:
    """List the folders of a client's Plan that the client makes: none where it works in the user's directory."""
    found = (path for path in directories(plan).values() if path.parent.name == CLIENT_FOLDERS)
    return tuple(dict.fromkeys(found))


def folders_in(directory: Path) -> tuple[Path, ...]:
    """List the folders of clients that there are in a directory; none where those are behind a link."""
    parent = directory / CLIENT_FOLDERS
    if parent.is_symlink() or not parent.is_dir():
        return ()
    return tuple(sorted(path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()))


def make_folders(folders: Sequence[Path], *, user: User | None = None) -> None:
    """Make what is not there of folders that `folders_to_make` lists.

    Args:
        folders: In order.
        user: Whose the client's folder is to be: who does the work of the Plan; None: this user.

    Raises:
        RunError: the directory is not there, or what is there is not this user's alone. What was made is removed again.
    """
    for number, folder in enumerate(folders):
        try:
            _make(folder, user)
        except RunError:
            remove_folders(folders[: number + 1])
            raise


def remove_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Remove those folders that Assay made and nothing is left in; gives those that stay with something in them.

    What is not there any more is no matter. Never raises for a folder that cannot be removed: it stays.
    """
    return tuple(folder for folder in folders if not _remove(folder))


def _make(folder: Path, user: User | None) -> None:
    directory = folder.parent.parent
    give_up_s, wait_s = time.monotonic() + _PATIENCE_S, _FIRST_WAIT_S
    try:
        while True:
            with contextlib.ExitStack() as opened:
                place = _opened(opened, os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                _check_sticky(place, directory)
                try:
                    parent = _opened(opened, _made(place, CLIENT_FOLDERS, folder.parent))
                    _opened(opened, _made(parent, folder.name, folder, user))
                except OSError as error:
                    if error.errno not in _PASSING or time.monotonic() > give_up_s:
                        raise
                else:
                    return
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
    except OSError as error:
        raise RunError(f"{folder} could not be made: {reason_of(error)}. Nothing was measured") from error


def _opened(stack: contextlib.ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _made(parent: int, name: str, path: Path, user: User | None = None) -> int:
    """Open a folder in an open one, made and marked if it is not there; raises OSError, RunError for one that is not own."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        is_new = False
    else:
        is_new = True
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            raise RunError(
                f"{path} is there and is no directory; Assay keeps the folders of clients there. Move it away"
            ) from None
        raise
    try:
        if is_new:
            # At once: a folder without it would be taken for the user's.
            try:
                _mark(folder)
            except OSError:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=parent)
                raise
            if user is not None:
                os.fchown(folder, user.uid, user.gid)
        _check_own(folder, path, user)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _mark(folder: int) -> None:
    """Write the mark into a folder of this user. On shared storage one may seem to be there that was just removed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(FOLDER_MARK, flags | os.O_EXCL, 0o644, dir_fd=folder)
    except FileExistsError:
        descriptor = os.open(FOLDER_MARK, flags, 0o644, dir_fd=folder)
    try:
        os.write(descriptor, _MARK_TEXT)
    finally:
        os.close(descriptor)


def _check_own(folder: int, path: Path, user: User | None) -> None:
    """Refuse a folder in which others could put things in the way; as engine/src/files/owner.rs does."""
    facts = os.fstat(folder)
    if facts.st_mode & _OTHERS_WRITE:
        raise RunError(f"{path} can be written to by other users; 'chmod go-w' takes that away. Nothing was measured")
    wanted = os.geteuid() if user is None else user.uid
    if facts.st_uid != wanted and not _is_whose_new_files_are(folder, facts.st_uid):
        raise RunError(
            f"{path} belongs to user {facts.st_uid}, and not to this one. Nothing was measured; move it away"
        )


def _is_whose_new_files_are(folder: int, owner: int) -> bool:
    """Whether what this user makes belongs to `owner`, as on a network file system that maps root to another user."""
    name = f".assay-owner-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
        )
    except OSError:
        return False
    try:
        return os.fstat(descriptor).st_uid == owner
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _check_sticky(directory: int, path: Path) -> None:
    """Refuse a directory in which other users could put a link in the place of the clients' folder."""
    mode = os.fstat(directory).st_mode
    if mode & _OTHERS_WRITE and not mode & stat.S_ISVTX:
        raise RunError(
            f"other users can replace folders in {path} (its mode is {stat.S_IMODE(mode):04o}; chmod +t or go-w takes that"
            " away), and clients work in folders there. Nothing was measured"
        )


def _is_marked(folder: int) -> bool:
    try:
        descriptor = os.open(FOLDER_MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        facts = os.fstat(descriptor)
        return stat.S_ISREG(facts.st_mode) and os.read(descriptor, len(_MARK_TEXT) + 1) == _MARK_TEXT
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> bool:
    """Remove a client's folder and, if it was the last, the one that has them; whether it is gone."""
    try:
        with contextlib.ExitStack() as opened:
            user = _opened(opened, os.open(folder.parent.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            parent = _opened(opened, os.open(CLIENT_FOLDERS, _FOLDER, dir_fd=user))
            is_gone = _remove_marked(parent, folder.name)
            _remove_marked(user, CLIENT_FOLDERS)
            return is_gone
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _remove_marked(parent: int, name: str) -> bool:
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        return True
    try:
        if not _is_marked(folder) or any(_others_in(folder)):
            return False
        os.unlink(FOLDER_MARK, dir_fd=folder)
        try:
            os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return True
        except OSError:
            # Somebody has begun to work in it: it is still one that Assay made.
            with contextlib.suppress(OSError):
                _mark(folder)
            return False
        return True
    finally:
        os.close(folder)


def _others_in(folder: int) -> Iterator[str]:
    return (name for name in os.listdir(folder) if name != FOLDER_MARK)
