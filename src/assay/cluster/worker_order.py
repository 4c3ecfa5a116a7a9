"""What a worker is told when it is started: which files it joins by, its name, and what it is there for.

Only paths and names stand on its command line, which every user of its machine may read; the key of the run is in a file.
"""

import dataclasses
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from assay import __version__
from assay.bundle.client_set import Role
from assay.cluster.worker_shell import COPIED, HostError
from assay.errors import RunError, reason_of

JOIN: Final = "join.json"
_MOST_FILES: Final = 16
_MOST_BYTES: Final = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerOrder:
    """What one worker is started with."""

    name: str
    role: Role
    folder: Path
    """With `join.json` and the files that it names, on this machine."""
    files: Mapping[str, bytes]
    """The content of that folder."""

    def arguments(self, folder: str) -> tuple[str, ...]:
        """Give the words after `assay`, for a machine on which the files are in a folder."""
        observer = ("--observer",) if self.role is Role.OBSERVER else ()
        return ("worker", "--join", f"{folder}/{JOIN}", "--name", self.name, *observer)


def read_join_folder(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder that the leader made for its workers.

    Raises:
        RunError: it cannot be read, or holds what is none of them: a link, a folder, a large file.
    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names alone
        if JOIN not in names or len(names) > _MOST_FILES or COPIED in names:
            raise RunError(f"{folder}: is no folder to join by: it has {len(names)} files, and one must be {JOIN}")
        return {name: _read(folder / name) for name in names}
    except OSError as error:
        raise RunError(f"{error.filename or folder}: cannot be read: {reason_of(error)}") from error


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RunError(f"{path}: is no regular file; a folder to join by has no others")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise RunError(f"{path}: has more than {_MOST_BYTES >> 20} MiB; no file to join by has")
    return data


def check_version(said: str) -> None:
    """Raise HostError unless `assay --version` of a host said what it says here."""
    if said == f"assay {__version__}":
        return
    if said.startswith("assay ") and len(said.split()) == 2:
        raise HostError(f"it has {said}, and this machine assay {__version__}: install the same version on both")
    raise HostError(
        f"there is no assay that runs ({said or 'it prints nothing'}). Install assay {__version__} there, and name "
        "its Python with python=/path in a hosts file where it is not on PATH"
    )
