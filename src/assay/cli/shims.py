"""`assay shims BIN`: write scripts with the classic tools' names."""

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.pipes import echo
from assay.errors import InputError, RunError
from assay.outputs import way_to
from assay.tools import registry

MARK = "# Written by 'assay shims'"
"""How a shim's second line begins: only files that have it are ever replaced or removed."""

_HEAD_BYTES = 512
_MODE = 0o755


def shims(
    folder: Annotated[
        Path, typer.Argument(metavar="BIN", help="Directory for the scripts; created if its parent exists.")
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the scripts that Assay wrote there.")] = False,
) -> None:
    """Write scripts (iozone, bonnie++, …) into BIN that run `assay TOOL`.

    Files that Assay did not write are never replaced or removed.
    """
    for path in remove_shims(folder) if remove else write_shims(folder, command_in_use()):
        echo(path)
    if not remove and folder.absolute() not in map(Path, os.get_exec_path()):
        echo(f"For scripts to find them: export PATH={shlex.quote(str(folder.absolute()))}:$PATH", err=True)


def command_in_use() -> Path:
    """Find the path of the running `assay`; raises RunError if it was started in another way."""
    sibling = Path(sys.executable).parent / "assay"
    found = next((path for path in (Path(sys.argv[0]).absolute(), sibling) if shutil.which(path)), None)
    if found is None:
        raise RunError(
            f"shims: no 'assay' command was found at {sys.argv[0]} or {sibling}; install Assay, then try again"
        )
    return found


def shim_names() -> dict[str, str]:
    """Map the script names to their commands."""
    return {name: tool for tool in registry.TOOLS for name in registry.front_end(tool).shims}


def write_shims(folder: Path, command: Path) -> Iterator[Path]:
    """Write all scripts and give their paths; nothing is written where one name is taken.

    Raises:
        InputError: the folder is none, or holds a file of such a name that Assay did not write.
        RunError: the system refused.
    """
    paths = {folder / name: tool for name, tool in shim_names().items()}
    if folder.exists() and not folder.is_dir():
        raise InputError(f"shims: {folder} is not a folder; name the one that the scripts belong into")
    if not folder.parent.is_dir():
        raise InputError(f"shims: {folder.parent} does not exist; make it, or name another folder")
    taken = [path for path in paths if os.path.lexists(path) and not is_shim(path)]
    if taken:
        names = ", ".join(map(str, taken))
        raise InputError(f"shims: {names}: not written by Assay, so left alone. Name another folder, or move it away")
    is_new = not folder.exists()
    try:
        if is_new:
            with way_to(folder.parent) as parent:
                (parent / folder.name).mkdir(exist_ok=True)
        with way_to(folder) as place:
            for path, tool in paths.items():
                head = f"#!/bin/sh\n{MARK}; 'assay shims BIN --remove' removes it.\n"
                _write(place / path.name, f'{head}exec {shlex.quote(str(command))} {tool} "$@"\n')
                yield path
    except OSError as error:
        if is_new:
            with contextlib.suppress(OSError):  # it holds the scripts that there was room for
                folder.rmdir()
        raise RunError(f"shims: cannot write into {folder}: {error.strerror}. Name another folder") from error


def remove_shims(folder: Path) -> Sequence[Path]:
    """Remove every script that carries the mark, and give their paths; raises InputError where the folder is none."""
    if not folder.is_dir():
        raise InputError(f"shims: {folder} is not a folder; name the one that holds the scripts")
    with way_to(folder) as place:
        found = [path for path in sorted(folder.iterdir()) if is_shim(place / path.name)]
        for path in found:
            try:
                (place / path.name).unlink()
            except OSError as error:
                raise RunError(f"shims: cannot remove {path}: {error.strerror}") from error
    return found


def is_shim(path: Path) -> bool:
    """Whether a path is a plain file that this command wrote."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return head.startswith(f"#!/bin/sh\n{MARK}".encode())


def _write(path: Path, text: str) -> None:
    # By way of another name: a script that is running at this moment keeps the file that it is reading.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        Path(name).chmod(_MODE)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
