"""Write the lines that clients sent during the run, in the place of their streams.

A client's whole stream replaces it when it comes. Of one that never comes, this is all there is. It is written in the
opened folder of the run: whoever may write next to it cannot redirect it.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from assay import events
from assay.bundle.durable import sync_folder
from assay.bundle.opened_folder import open_folder
from assay.bundle.run_place import open_in_run
from assay.errors import RunError, reason_of

_PARTIAL = ".part"


def empty(path: Path) -> None:
    """Remove the lines of a client whose data is not used; raises RunError."""
    try:
        os.close(open_in_run(path, os.O_WRONLY | os.O_TRUNC))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {reason_of(error)}") from error


@contextlib.contextmanager
def arriving(into: Path) -> Iterator[Path]:
    """Give the path of a file that gets a stream's place at the end, on storage; where something is raised, it is removed.

    Args:
        into: The stream's place, in the folder of streams of a run.

    Raises:
        OSError: it cannot be written, or the folder is behind a link.
    """
    with open_folder(into.parent.parent) as run, open_folder(run.place / into.parent.name) as streams:
        # By way of the run's folder, in which nobody else can exchange that of the streams: it is read as one of a run.
        partial = run.place / into.parent.name / (into.name + _PARTIAL)
        try:
            yield partial
            partial.replace(streams.place / into.name)
            sync_folder(streams.place)
        except BaseException:
            (streams.place / partial.name).unlink(missing_ok=True)
            raise


class RelayedStreams:
    """The files; a context manager that closes them."""

    def __init__(self, path_of: Callable[[str], Path]) -> None:
        """Start without streams; `path_of` gives the path of a client's stream."""
        self._path_of = path_of
        self._open: dict[str, BinaryIO] = {}
        self._opened = contextlib.ExitStack()

    def begin(self, client: str) -> None:
        """Make the file of a client; raises RunError."""
        path = self._path_of(client)
        try:
            file = os.fdopen(open_in_run(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb", buffering=0)
            self._open[client] = self._opened.enter_context(file)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {reason_of(error)}") from error

    def add(self, client: str, event: events.Event) -> None:
        """Write the lines of a client; raises RunError."""
        try:
            self._open[client].write(msgspec.json.encode(event) + b"\n")
        except OSError as error:
            raise RunError(
                f"{self._path_of(client)}: cannot be written: {reason_of(error)}. Make room, or choose another folder with "
                "--runs DIR or $ASSAY_RUNS"
            ) from error

    def __enter__(self) -> Self:
        """Nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them."""
        self._opened.close()
