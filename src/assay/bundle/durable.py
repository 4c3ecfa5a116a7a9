"""Make files and names survive a power failure, and handle storage that fails meanwhile.

fsync(2) of a file does not cover its name. Journals that are flushed as a whole make names durable by the way; others,
such as those of Btrfs and of ext4 with fast commits, do not promise it.
"""

import contextlib
import errno
import io
import os
from pathlib import Path

from assay.closing import close
from assay.errors import naming

_NOT_TO_BE_SYNCED = frozenset({errno.EINVAL, errno.EACCES})
"""The file system has no fsync of folders, and keeps its own order; or the folder can be written but not read."""


class OnlyRead(io.BufferedReader):
    """A file that is read and no more, and closed as `assay.closing` does."""

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(OSError):
            super().close()


def write_synced(path: Path, flags: int, mode: int, data: bytes) -> None:
    """Open a file as open(2) does, write into it, and have that on storage; its name is not. Raises OSError."""
    descriptor = os.open(path, flags, mode)
    try:
        with naming(path), open(descriptor, "wb", closefd=False) as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    finally:
        close(descriptor)


def names_in(folder: Path) -> list[str]:
    """Name what is in a folder, in order; raises OSError."""
    # Python's own open asks again where a file system was interrupted; opendir of the C library does not.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with naming(folder):
            return sorted(os.listdir(descriptor))  # noqa: PTH208 - of what is open
    finally:
        close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on storage, where that can be asked for; raises OSError."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            close(descriptor)
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
