"""Change the small files next to a run's record: its remarks and its marks.

No manifest covers them, so they may change after the seal. Each is replaced as a whole, under a name made anew, so that
nothing that lies in a stranger's bundle is opened to be written.
"""

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from assay.bundle.durable import sync_folder, write_synced
from assay.bundle.opened_folder import OpenedFolder, open_folder
from assay.closing import close
from assay.errors import BundleError, InputError

_LOCK_TRIES, _LOCK_PAUSE_S = 100, 0.05
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_sidecar(folder: Path, name: str, data: bytes) -> None:
    """Replace a file of a run, durably; raises OSError, and then the old is untouched."""
    # It ends as a seal's own temporary files do, which no manifest has.
    temporary = folder / f"{name}.{secrets.token_hex(8)}.part"
    try:
        write_synced(temporary, _NEW, 0o644, data)
        temporary.replace(folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(folder)


@contextlib.contextmanager
def to_change(folder: Path) -> Iterator[OpenedFolder]:
    """Open a run's folder to change what lies there: it leads nowhere else from then on, whoever renames what meanwhile.

    Raises:
        BundleError: it cannot be opened.
        InputError: it is a link.
    """
    with contextlib.ExitStack() as opened:
        try:
            found = opened.enter_context(open_folder(folder))
        except NotADirectoryError as error:
            raise InputError(f"{folder}: is a link, which is not followed; name the run itself") from error
        except OSError as error:
            raise BundleError(f"{folder}: cannot be opened: {error.strerror}. Check its permissions") from error
        yield found


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let nobody else change these files meanwhile, where the file system can lock a folder.

    Whoever may read the folder can hold the lock for ever: after a while it is done without.
    """
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise BundleError(f"{folder}: cannot be opened: {error.strerror}. Check its permissions") from error
    try:
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOCK_PAUSE_S)
            except OSError:
                break
            else:
                break
        yield
    finally:
        close(place)
