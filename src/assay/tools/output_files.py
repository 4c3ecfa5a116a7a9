"""Files that a classic tool writes in addition to its output: spreadsheets, tables, traces."""

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

from assay.errors import InputError, RunError
from assay.outputs import check_output, output
from assay.report.output import make_folder, write_whole


@dataclasses.dataclass(frozen=True)
class OutputFile:
    """A file with its content."""

    path: Path
    content: bytes
    appends: bool = False
    """Whether it goes after what is there."""

    def write(self) -> None:
        """Write it; raises RunError with the cure where that is not possible, InputError where `output` does."""
        try:
            with output(self.path, appends=self.appends) as file:
                file.write(self.content)
        except InputError as error:
            raise InputError(f"{error}. The run itself is kept") from error
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error.strerror}. The run itself is kept") from error


def write_into(files: Iterable[OutputFile], folder: Path) -> list[Path]:
    """Write files into a folder, made if need be, under their bare names, and give the paths.

    The paths in a bundle's words are not a request to write there when it is read later.

    Raises:
        InputError: the folder is a file, or lies inside a run bundle.
        RunError: a file cannot be written.
    """
    make_folder(folder)
    found: dict[str, bytes] = {}
    for file in files:
        name = file.path.name.lstrip(".") or "output"
        found[name] = found.get(name, b"") + file.content
    return [write_whole(folder / name, content) for name, content in found.items()]


def check_folder(folder: Path) -> None:
    """Look whether files can be made in a folder.

    Raises:
        InputError: there is no such folder.
        RunError: the machine does not let them be made.
    """
    if not folder.is_dir():
        raise InputError(f"the folder {folder} does not exist; make it, or name another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RunError(f"you cannot create files in {folder}; name another folder")


def check_writable(path: Path) -> None:
    """Look whether a file can be written later: better before the run than after it.

    Raises:
        InputError: no file can have that path, or what is there is not this user's own file.
        RunError: the machine does not let it be written.
    """
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} is a directory; name a file")
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist; make it, or name another file")
    try:
        check_output(path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; name a file that can") from None
