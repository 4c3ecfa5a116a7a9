"""Open a folder that no other user can exchange, nor any folder on the way to it.

The way is walked from the root by descriptors, and no link is followed. Each folder on it belongs to root or to this user.
Others can write to none of them, but to one that is sticky, where they can rename only what is theirs. Permissions of an ACL
are in the mode: its mask is the group's bits (acl(5)). Names below such a folder are then as safe as a descriptor.
"""

import os
import stat
from pathlib import Path

from assay.errors import InputError

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def open_safe_folder(path: Path, *, cure: str) -> int:
    """Open a folder that is there; it may be a sticky one of root, such as /var/tmp.

    Args:
        path: Absolute, without symbolic links.
        cure: What to do where others could exchange it, for the message.

    Returns:
        Its descriptor, which the caller closes.

    Raises:
        FileNotFoundError: it is not there.
        OSError: it cannot be opened.
        InputError: another user can exchange it, or a folder above it.
    """
    return _walk(path, cure, is_own=False, makes=False)


def open_own_folder(path: Path, *, cure: str, makes: bool = False) -> int:
    """Open a folder that is this user's and that only this user can write to; as `open_safe_folder`.

    Args:
        path: Absolute, without symbolic links.
        cure: What to do where others could exchange it, for the message.
        makes: Make it, and those above it, where they are not there; nothing is made below a folder that is refused.
    """
    return _walk(path, cure, is_own=True, makes=makes)


def _walk(path: Path, cure: str, *, is_own: bool, makes: bool) -> int:
    if not path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{path} is no absolute path")
    last = len(path.parts) - 1
    place = os.open("/", _STEP)
    try:
        _check(place, Path("/"), cure)
        for index, name in enumerate(path.parts[1:], start=1):
            so_far = Path(*path.parts[: index + 1])
            inner = _enter(place, name, so_far, cure, mode=(0o700 if index == last else 0o755) if makes else None)
            os.close(place)
            place = inner
            _check(place, so_far, cure)
        if is_own:
            _check_own(place, path, cure)
        return os.open(".", _READ, dir_fd=place)
    finally:
        os.close(place)


def _enter(place: int, name: str, path: Path, cure: str, *, mode: int | None) -> int:
    """Open the next folder of a way; with a mode it is made where it is not there."""
    try:
        return os.open(name, _STEP, dir_fd=place)
    except FileNotFoundError:
        if mode is None:
            raise
    except NotADirectoryError:
        raise InputError(f"{path} is a link or no folder; {cure}") from None
    try:
        os.mkdir(name, mode, dir_fd=place)
        _sync(place)
    except FileExistsError:  # somebody was quicker: whose it is is looked at
        pass
    return _enter(place, name, path, cure, mode=None)


def _sync(place: int) -> None:
    """Have the names in a folder on storage; raises OSError."""
    descriptor = os.open(".", _READ, dir_fd=place)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(place: int, path: Path, cure: str) -> None:
    """Refuse a folder on the way in which another user can exchange what is not theirs."""
    facts = os.fstat(place)
    if facts.st_uid not in {0, os.geteuid()}:
        raise InputError(f"{path} belongs to user {facts.st_uid}, who can exchange what lies in it; {cure}")
    if facts.st_mode & _OTHERS_WRITE and not facts.st_mode & stat.S_ISVTX:
        raise InputError(
            f"other users can exchange what lies in {path} (its mode is {stat.S_IMODE(facts.st_mode):04o}); {cure}"
        )


def _check_own(place: int, path: Path, cure: str) -> None:
    facts = os.fstat(place)
    if facts.st_uid != os.geteuid() or facts.st_mode & _OTHERS_WRITE:
        raise InputError(
            f"{path} is no folder of yours that you alone can write to (it belongs to user {facts.st_uid}, its mode is"
            f" {stat.S_IMODE(facts.st_mode):04o}); {cure}"
        )
