"""Reading a table part by part, so that no more of it is in memory than is worked on."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

import polars as pl

from assay.bundle.contents import TooLargeError, check_rows, check_table, read_part
from assay.bundle.inside import DAMAGED_CURE
from assay.bundle.tables import COLUMNS
from assay.errors import BundleError

PART_ROWS: Final = 1 << 18
"""Rows that are read at once."""


class Scan(Protocol):
    """A table of a run."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of its columns."""

    @property
    def rows(self) -> int:
        """Count its rows."""

    def parts(
        self, begin: int = 0, end: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Give rows `begin` up to before `end` in order, at most `PART_ROWS` at a time."""


class HeldTable:
    """A table in memory."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Hold it."""
        self._frame = frame

    @property
    def columns(self) -> Sequence[str]:
        """Names of its columns."""
        return self._frame.columns

    @property
    def rows(self) -> int:
        """Count its rows."""
        return self._frame.height

    def parts(
        self, begin: int = 0, end: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Give rows in order; they are slices of the table."""
        frame = self._frame if columns is None else self._frame.select(columns)
        for first, count in _pieces(begin, frame.height if end is None else end):
            yield frame.slice(first, count)


class FileTable:
    """A table of a sealed run, of whose file only the bytes are held."""

    def __init__(self, path: Path, data: bytes, name: str, phases: int) -> None:
        """Check the file before anything of it is unpacked.

        Args:
            path: For messages.
            data: The file.
            name: Of the table.
            phases: Of the run's Plan.

        Raises:
            BundleError: it is not that table, or no run has one of that size.
        """
        self._path, self._data, self._name, self._phases = path, data, name, phases
        with content_checked(path):
            found = check_table(data, name)
        self._rows = found.rows

    @property
    def columns(self) -> Sequence[str]:
        """Names of its columns."""
        return tuple(COLUMNS[self._name])

    @property
    def rows(self) -> int:
        """Count its rows."""
        return self._rows

    def parts(
        self, begin: int = 0, end: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Give rows in order; raises BundleError where no run can have one of them."""
        for first, count in _pieces(begin, self._rows if end is None else end):
            with content_checked(self._path):
                part = read_part(self._data, self._name, first, count, columns)
                check_rows(part, self._name, self._phases)
            yield part


def whole(scan: Scan, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a table as one frame."""
    return pl.concat(scan.parts(columns=columns))


def _pieces(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a range into parts; of no rows there is one part, for its columns."""
    if end <= begin:
        yield begin, 0
    for first in range(begin, end, PART_ROWS):
        yield first, min(PART_ROWS, end - first)


@contextlib.contextmanager
def content_checked(path: Path) -> Iterator[None]:
    """Report what is wrong with the content of a file as damage of the run."""
    try:
        yield
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror}). {DAMAGED_CURE}") from error
    except TooLargeError as error:
        raise BundleError(f"{path}: {error}") from error
    except ValueError as error:
        raise BundleError(f"{path}: is not what a run writes: {error}. {DAMAGED_CURE}") from error
