"""What a client keeps of a run on its own machine, until the leader has sealed the run with it.

`$XDG_STATE_HOME/assay/clients/RUN_ID/NAME/` has the Plan, the engine's stream and its log. It outlives the leader and the
client: what was measured can still be collected from there.
"""

import contextlib
import hashlib
import io
import os
import stat
from pathlib import Path
from typing import Final, Self

import msgspec

from assay import xdg
from assay.bundle.durable import OnlyRead, make_folders, write_synced
from assay.bundle.inside import is_plain
from assay.errors import RunError, reason_of
from assay.plan import Plan
from assay.running.stream_lock import is_being_written

PLAN: Final = "plan.json"
STREAM: Final = "events.ndjson"
LOG: Final = "engine.log"
LARGEST_PIECE_BYTES: Final = 4 << 20
_CHUNK_BYTES = 1 << 20
_MOST_TRIES = 10
_LONGEST_RUN_ID = 200
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class NothingKept(msgspec.Struct, frozen=True, tag=True):
    """There is nothing of the run that was asked for."""


class StreamDigest(msgspec.Struct, frozen=True, tag=True):
    """What a stream is, once its engine has ended."""

    bytes: int
    sha256: str


def clients_folder() -> Path:
    """Give the folder of runs of this user's clients; raises InputError where the user has no home."""
    return xdg.folder("XDG_STATE_HOME", "~/.local/state") / "clients"


class KeptRun:
    """One client's part of one run."""

    def __init__(self, folder: Path) -> None:
        """Take a folder as `make` made it."""
        self.folder = folder

    @classmethod
    def make(cls, root: Path, run_id: str, name: str, plan: Plan) -> Self:
        """Make the folder and put the Plan in.

        Raises:
            RunError: there is one already, or it cannot be made.
        """
        if not _is_run_id(run_id):
            raise RunError(f"{run_id[:64]!r} is not a valid run name")
        kept = cls(root / run_id / name)
        try:
            kept._make_folders(root)
            write_synced(kept.folder / PLAN, _NEW, 0o600, plan.to_json() + b"\n")
        except FileExistsError as error:
            raise RunError(
                f"{kept.folder} already exists: another client of this name, or this run once more"
            ) from error
        except OSError as error:
            raise RunError(f"{kept.folder}: cannot be made: {reason_of(error)}. Nothing was measured") from error
        return kept

    @classmethod
    def find(cls, root: Path, run_id: str, name: str) -> Self | None:
        """Give what a client kept of an earlier run; None: there is nothing, or no engine of it has written."""
        if not _is_run_id(run_id):
            return None
        kept = cls(root / run_id / name)
        try:
            is_there = stat.S_ISREG(kept.stream.lstat().st_mode)
        except OSError:
            return None
        return kept if is_there else None

    def _make_folders(self, root: Path) -> None:
        # Another client of this machine may just remove a folder above, which is empty to it.
        for tries_left in reversed(range(_MOST_TRIES)):
            try:
                make_folders(root, 0o700)
                self.folder.parent.mkdir(mode=0o700, exist_ok=True)
                self.folder.mkdir(mode=0o700)
            except FileNotFoundError:
                if not tries_left:
                    raise
            else:
                return

    @property
    def stream(self) -> Path:
        """The engine's standard output."""
        return self.folder / STREAM

    @property
    def log(self) -> Path:
        """Its standard error."""
        return self.folder / LOG

    def piece(self, offset: int, count: int) -> bytes:
        """Read N bytes of the stream, or what there is of them; raises OSError."""
        with self._open() as file:
            file.seek(offset)
            return file.read(min(count, LARGEST_PIECE_BYTES))

    def digest(self) -> StreamDigest:
        """Hash the stream; raises OSError, and RunError while its engine still writes to it."""
        digest, size_bytes = hashlib.sha256(), 0
        with self._open() as file:
            if is_being_written(file.fileno()):
                raise RunError("its engine is still at work")
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                size_bytes += len(chunk)
        return StreamDigest(bytes=size_bytes, sha256=digest.hexdigest())

    def is_being_written(self) -> bool:
        """Return whether an engine still has the stream as its standard output; raises OSError."""
        with self._open() as file:
            return is_being_written(file.fileno())

    def _open(self) -> OnlyRead:
        return OnlyRead(io.FileIO(os.open(self.stream, _READ)))

    def remove(self) -> None:
        """Remove the run, and the folders above where nothing else is in them; raises OSError.

        The stream goes last: while it is there, `find` finds the folder, and it can be removed again.
        """
        for path in (self.folder / PLAN, self.log, self.stream):
            path.unlink(missing_ok=True)
        self.folder.rmdir()
        for above in (self.folder.parent, self.folder.parent.parent):
            with contextlib.suppress(OSError):
                above.rmdir()


def _is_run_id(run_id: str) -> bool:
    return len(run_id) <= _LONGEST_RUN_ID and is_plain(run_id)
