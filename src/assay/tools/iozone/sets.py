"""Where the files of a run are: targets and file sets of the Plan."""

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from assay import plan
from assay.tools.iozone.matrix import Cell
from assay.tools.iozone.settings import Settings

_MOST_CREATE_WORKERS = 8


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a mode makes of the settings."""

    targets: tuple[plan.Target, ...]
    file_sets: tuple[plan.FileSet, ...]
    phases: tuple[plan.Phase, ...]


def directory_of(file: PurePosixPath, directory: Path) -> Path:
    """Give the absolute directory of a file that the command line names."""
    return (directory / file).parent


def targets_of(directories: Iterable[Path]) -> dict[Path, plan.Target]:
    """Name a target for each directory."""
    unique = list(dict.fromkeys(directories))
    names = ["target"] if len(unique) == 1 else [f"target{i}" for i in range(len(unique))]
    return {path: plan.Target(name=name, uri=path.as_uri()) for path, name in zip(unique, names, strict=True)}


def folder_of(file: PurePosixPath, cell: Cell) -> str:
    """Name the folder that represents a file, one for each size: `iozone.tmp-1048576`."""
    plain = re.sub(r"[^\w.-]", "_", file.name).lstrip(".")
    return f"{plain or 'iozone'}-{cell.file_bytes}"


def file_set(
    settings: Settings, cell: Cell, *, name: str, target: str, path: str, files: int, is_made: bool, is_found: bool
) -> plan.FileSet:
    """Make a set of equal files.

    Args:
        settings: The command line.
        cell: Sizes.
        name: Name in the Plan.
        target: Target that holds it.
        path: Its folder.
        files: How many.
        is_made: Whether the first test makes the files.
        is_found: Whether the files are those that an earlier run left.
    """
    # A mapping ends where the file does, and several records in flight need a file that is open: it has its full length
    # from the start then, without blocks.
    is_sparse = is_made and needs_length(settings)
    return plan.FileSet(
        name=name,
        target=target,
        path=path,
        files=files,
        size=plan.Fixed(value=float(cell.file_bytes)),
        existing_share=1.0 if is_sparse or not is_made else 0.0,
        reuse=plan.Reuse.TRUST if is_found else plan.Reuse.NEVER,
        content=plan.Content(stamped=settings.verify),
        allocate=plan.Allocate.SPARSE if is_sparse else plan.Allocate.WRITE,
        create_workers=min(files, _MOST_CREATE_WORKERS),
        keep=settings.keep,
    )


def needs_length(settings: Settings) -> bool:
    """Return whether a file has to have its length before it is written."""
    return settings.mmap or settings.depth > 1
