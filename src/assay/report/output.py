"""Write a file that a user asked for: completely or not at all, and never into a run bundle."""

import os
import tempfile
from pathlib import Path

from assay.errors import InputError, RunError
from assay.outputs import way_to

_BUNDLE_FILES = ("manifest.json", "run.json")


def check_place(folder: Path) -> None:
    """Refuse a folder that does not exist or that is part of a run bundle; raises InputError."""
    if not folder.is_dir():
        raise InputError(f"output: folder '{folder}' does not exist. Make it, or name another place.")
    resolved = folder.resolve()
    for place in (resolved, *resolved.parents):
        if (place / "resolved.json").is_file() and any((place / name).is_file() for name in _BUNDLE_FILES):
            raise InputError(
                f"output: '{folder}' is inside the run bundle '{place}'. Bundles are never written to once they"
                " are made; name a place outside it."
            )


def check_file(path: Path) -> None:
    """Refuse to write a file where `check_place` refuses, or where a directory is; raises InputError."""
    if path.is_dir():
        raise InputError(f"output: '{path}' is a directory. Name the file to write, such as '{path / 'report.html'}'.")
    check_place(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder for files that were asked for, where it is not there; raises InputError and RunError."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"output: '{folder}' is a file; name a folder.")
    check_place(folder.parent)
    try:
        with way_to(folder.parent) as place:
            (place / folder.name).mkdir(exist_ok=True)
        with way_to(folder):
            pass
    except OSError as error:
        raise RunError(f"output: cannot make '{folder}': {error.strerror}. Name another folder.") from error


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file through a temporary one in the same directory: readers never see half of it, even after a power failure.

    Raises:
        InputError: `path` is a directory, or its folder is not there, inside a run bundle, or behind a link of others.
        RunError: the system refused.
    """
    check_file(path)
    try:
        with (
            way_to(path.parent) as place,
            tempfile.NamedTemporaryFile(dir=place, prefix=f".{path.name}.", delete=False) as partial,
        ):
            written = Path(partial.name)
            try:
                partial.write(content)
                partial.flush()
                os.fsync(partial.fileno())
                partial.close()
                written.chmod(0o666 & ~_umask())
                written.replace(place / path.name)
            except BaseException:
                written.unlink(missing_ok=True)
                raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise RunError(f"output: cannot write '{path}': {reason}. Name another place.") from error
    return path


def _umask() -> int:
    # There is no call that only reads it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
