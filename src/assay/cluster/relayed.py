"""What clients said while the run went on, line by line as they said it, in the place of their streams.

A client's whole stream replaces it when it comes. Of one that never comes, this is what is known.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from assay import events
from assay.errors import RunError, reason_of


def empty(path: Path) -> None:
    """Take back what a client said, of whom nothing is believed; raises RunError."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {reason_of(error)}") from error


class RelayedStreams:
    """The files; a context manager that closes them."""

    def __init__(self, path_of: Callable[[str], Path]) -> None:
        """None is there yet; `path_of` says where the stream of a client goes."""
        self._path_of = path_of
        self._open: dict[str, BinaryIO] = {}
        self._opened = contextlib.ExitStack()

    def begin(self, client: str) -> None:
        """Make the file of a client; raises RunError."""
        path = self._path_of(client)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._open[client] = self._opened.enter_context(os.fdopen(os.open(path, flags, 0o666), "wb", buffering=0))
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {reason_of(error)}") from error

    def add(self, client: str, event: events.Event) -> None:
        """Write down what a client said; raises RunError."""
        try:
            self._open[client].write(msgspec.json.encode(event) + b"\n")
        except OSError as error:
            raise RunError(
                f"{self._path_of(client)}: cannot be written: {reason_of(error)}. Make room, or keep runs elsewhere with "
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
