"""The order for a worker at its start: which files it joins by, its name, and its role.

Only paths and names are on its command line, which every user of its machine may read; the key of the run is in a file.
"""

import dataclasses
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from assay import __version__
from assay.bundle.client_set import Role
from assay.bundle.inside import is_plain
from assay.bundle.strict_json import decode
from assay.cluster.worker_shell import HostError
from assay.errors import RunError, reason_of

JOIN: Final = "join.json"
_MOST_BYTES: Final = 64 << 10
_REFUSED: Final = "refused: "


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerOrder:
    """What one worker is started with."""

    name: str
    role: Role
    folder: Path
    """With `join.json` and the files that it names, on this machine."""
    files: Mapping[str, bytes]
    """What the worker needs of that folder, by name."""
    is_insecure_as_root: bool = False
    """Whether the user has allowed that, where this run has no keys."""

    def arguments(self, folder: str) -> tuple[str, ...]:
        """Give the words after `assay`, for a machine on which the files are in a folder."""
        observer = ("--observer",) if self.role is Role.OBSERVER else ()
        insecure = ("--insecure-as-root",) if self.is_insecure_as_root else ()
        return ("worker", "--join", f"{folder}/{JOIN}", "--name", self.name, *observer, *insecure)


class _Named(msgspec.Struct, frozen=True):
    """The files that `join.json` names."""

    certificate: str | None
    key: str | None


def read_join_folder(folder: Path) -> dict[str, bytes]:
    """Read `join.json`, which the leader wrote, and the files that it names next to it; by name.

    Raises:
        RunError: it is not there, is a link, or is no such file.
    """
    try:
        join = _read(folder / JOIN)
        named = decode(join, _Named)
        pem_files = [name for name in (named.certificate, named.key) if name is not None]
        if not all(map(is_plain, pem_files)):
            raise RunError(f"{folder / JOIN}: names a file that is not next to it")
        return {JOIN: join} | {name: _read(folder / name) for name in pem_files}
    except OSError as error:
        raise RunError(f"{error.filename or folder}: cannot be read: {reason_of(error)}") from error
    except ValueError as error:
        raise RunError(f"{folder / JOIN}: is not a file to join by ({error})") from error


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RunError(f"{path}: is not a regular file")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise RunError(f"{path}: has more than {_MOST_BYTES >> 10} KiB; no file to join by has")
    return data


def check_version(printed: str) -> None:
    """Raise HostError unless `assay --version` of a host printed what it prints here."""
    if printed == f"assay {__version__}":
        return
    if printed.startswith("assay ") and len(printed.split()) == 2:
        raise HostError(f"it has {printed}, and this machine assay {__version__}: install the same version on both")
    here = Path(sys.executable)
    if printed == "none":
        raise HostError(
            f"there is no assay on PATH there, nor in ~/.local/bin. Install assay {__version__} there; where that machine "
            f"shares this one's folders, 'ln -s {here.with_name('assay')} ~/.local/bin/', or name its Python in a hosts "
            f"file: HOST python={here}"
        )
    if printed.startswith(_REFUSED):
        raise HostError(
            f"{printed.removeprefix(_REFUSED)}: others could run anything there by changing it. Change that, or name the "
            "Python that you mean with python=/path in a hosts file"
        )
    raise HostError(
        f"there is no assay that runs ({printed or 'it prints nothing'}). Install assay {__version__} there, and name "
        "its Python with python=/path in a hosts file where it is not on PATH"
    )
