"""Names that outlive a cut of the power: a file is on storage when its name is, and its name when its folder is.

fsync(2) of a file says nothing of its name. Journals that are flushed as a whole make names durable by the way; others,
such as those of Btrfs and of ext4 with fast commits, do not promise it.
"""

import errno
import os
from pathlib import Path

_NOT_TO_BE_SYNCED = frozenset({errno.EINVAL, errno.EACCES})
"""The file system knows no fsync of folders, and keeps its own order; or the folder can be written but not read."""


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on storage, where that can be asked for; raises OSError."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NOT_TO_BE_SYNCED:
            raise


def make_folders(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it where they are not there, each on storage when this returns; raises OSError.

    Args:
        path: The folder.
        mode: Of the folder itself; those above have the usual one.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)
