"""Keep the key of this user, with which Assay recognises its own runs.

`key` in Assay's folder of the XDG data folder: 32 random bytes that only this user can read. It is made when it is first
needed. What is authenticated with it begins with words of its own, so that no proof is valid for another thing.
"""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from assay import own_files, xdg
from assay.bundle.durable import sync_folder, write_synced
from assay.bundle.inside import NotRegularError, open_below
from assay.closing import close
from assay.errors import InputError, RunError

_KEY: Final = "key"
_KEY_BYTES: Final = 32
_VARIABLE: Final = "XDG_DATA_HOME"


def user_key() -> bytes | None:
    """Read the key; None where there is none that only this user can have read or written."""
    folder = _folder()
    if folder is None:
        return None
    try:
        place = os.open(own_files.safe_folder(folder), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, own_files.NotOwnError):
        return None
    try:
        return _read(place)
    finally:
        close(place)


def user_key_or_new() -> bytes | None:
    """Read the key, made where there is none yet; None where it cannot be kept."""
    return user_key() or _new_key()


def safe_user_key(what: str) -> bytes:
    """Read the key, or make it, for what makes Assay act on the machine: no other user may be able to exchange it.

    Args:
        what: What needs it, for the message: `a campaign`.

    Raises:
        InputError: another user can exchange the folder that it is in.
        RunError: there is no home to keep a key in.
    """
    cure = f"{what} needs your key there. Set HOME, or {_VARIABLE}, to a folder of your own ('sudo -H' does)"
    folder = _folder()
    if folder is None:
        raise RunError(
            f"{what} is kept with your key, and there is no home for it. Set HOME, or {_VARIABLE}, to a folder"
        )
    try:
        place = own_files.open_own_folder(folder.resolve(), cure=cure, makes=True)
    except OSError as error:
        raise RunError(f"{folder}: {error.strerror}; {cure}") from error
    try:
        key = _read(place) or _new_key()
    finally:
        close(place)
    if key is None:
        raise RunError(f"{folder / _KEY} cannot be made, or is no key that you alone can read; {cure}")
    return key


def _folder() -> Path | None:
    try:
        return xdg.folder(_VARIABLE, "~/.local/share")
    except InputError:  # no home directory
        return None


def _read(place: int) -> bytes | None:
    """Read the key in an open folder."""
    try:
        with open_below(place, _KEY) as file:
            found = os.fstat(file.fileno())
            key = file.read(_KEY_BYTES + 1)
    except (OSError, NotRegularError):
        return None
    is_mine = found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
    return key if is_mine and len(key) == _KEY_BYTES else None


def _new_key() -> bytes | None:
    """Make a key where there is none yet; None where it cannot be kept."""
    folder, key = _folder(), secrets.token_bytes(_KEY_BYTES)
    if folder is None:
        return None
    try:
        folder = own_files.make_safe_folder(folder)
    except (OSError, own_files.NotOwnError):
        return None
    temporary = folder / f".{_KEY}-{secrets.token_hex(8)}"
    try:
        write_synced(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, key)
        try:
            # Whole at once, and never in the place of one that another run has made meanwhile.
            os.link(temporary, folder / _KEY)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError:
        return user_key()
    return key
