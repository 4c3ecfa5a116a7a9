"""Remove what a killed run left behind: the marked file sets of a directory, by the engine's own rules.

What clients of a run left in folders of their own in the directory goes with it.

The engine takes the lock of the directory first, so that a run in progress is never disturbed, and removes lock and data
folder at the end when nothing is left in them. Each set is a call of its own: one that cannot be removed keeps no other.
"""

import os
import shlex
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec

from assay import events
from assay.bundle.catalog import resolve, runs_directory
from assay.bundle.strict_json import decode
from assay.errors import BundleError, InputError, Interrupted, RunError
from assay.plan import FileSet, Origin, Phase, Plan, Remove
from assay.running.client_folders import folders_in, remove_folders
from assay.running.engine import run_quietly
from assay.targets import DATA_FOLDER, LOCK, MARK, check_directory, directories, of_directory, read_mark
from assay.units import format_names


class FolderMark(msgspec.Struct, frozen=True):
    """Content of the mark of a file set; unknown fields are the engine's."""

    set: FileSet


def directories_of(place: str, runs: Path | None) -> list[Path]:
    """The directories that a place names: a directory itself, or the targets of a run.

    Raises:
        InputError: It names a directory that this user may not enter, a run that another user made, or one of which all
            clients were other machines.
        BundleError: It names neither.
    """
    try:
        is_directory = not place or (Path(place).is_dir() and not (Path(place) / "resolved.json").exists())
    except OSError as error:
        raise InputError(f"{place} cannot be reached: {error.strerror}; give a directory that you may enter") from None
    if is_directory:
        return [check_directory(place)]
    # Not `session.open_run`: a run whose files are damaged may be cleaned up after all the same.
    library = runs_directory(runs)
    try:
        folder = resolve(place, library)
    except BundleError as error:
        raise BundleError(f"'{place}' is no directory; {error}") from error
    from assay.bundle import RunBundle  # noqa: PLC0415 - only now: who looks for a run reads no tables

    bundle = RunBundle.open(folder)
    if bundle.is_foreign:
        raise InputError(f"{bundle.path}: is a foreign run: another tool measured it, and it left no data")
    found = sorted(set(directories(bundle.plan).values()))
    if not bundle.is_own(library):
        names = ", ".join(f"'assay clean {shlex.quote(str(directory))}'" for directory in found)
        raise InputError(
            f"{bundle.path}: you did not make this run in this library, so what it names is not cleaned. Nothing was "
            f"removed; {names} does it"
        )
    of_run = bundle.client_set()
    hosts = dict.fromkeys(member.hostname for member in of_run.loads) if of_run else {}
    if hosts and os.uname().nodename not in hosts:
        names = ", ".join(f"'assay clean {shlex.quote(str(directory))}'" for directory in found)
        raise InputError(
            f"{bundle.run_id} was measured by {format_names(list(hosts))}, and not by this machine: run {names} there"
        )
    return found


def clean(directory: Path, *, keep_kept: bool = False) -> Iterator[str]:
    """Remove the marked sets of a directory, then its data folder, yielding a line about each thing removed or left.

    Raises:
        RunError: A run is using the directory, or something that should go could not be removed.
        InputError: The directory is not there.
    """
    directory = check_directory(directory)
    clients = folders_in(directory)
    failures: list[Path] = []
    if not (directory / DATA_FOLDER).is_dir() and not clients:
        yield f"{directory}: nothing of Assay's is left here"
        return
    for place in (directory, *clients):
        if (place / DATA_FOLDER).is_dir():
            failures += yield from _clean_data_folder(place, keep_kept=keep_kept)
    for client in clients:
        is_left = bool(remove_folders((client,)))
        yield f"{client}: left, because Assay did not make it, or it is not empty" if is_left else f"{client}: removed"
    if failures:
        raise RunError(f"{', '.join(map(str, failures))}: not removed; the lines above explain why")


def _clean_data_folder(directory: Path, *, keep_kept: bool) -> Generator[str, None, list[Path]]:
    """Remove the marked sets of a data folder, then itself; gives what should have gone and did not."""
    folder = directory / DATA_FOLDER
    run_quietly(_plan(directory))  # takes the lock, and with it a folder of Assay's that is empty
    failures: list[Path] = []
    for entry in _entries(folder):
        line, is_failure = _one(directory, entry, keep_kept=keep_kept)
        yield f"{entry}: {line}"
        failures += [entry] if is_failure else []
    yield f"{folder}: left, because it is not empty" if folder.exists() else f"{folder}: removed"
    return failures


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != LOCK) if folder.is_dir() else []


def _one(directory: Path, entry: Path, *, keep_kept: bool) -> tuple[str, bool]:
    """Remove one entry of the data folder if it is a set; what became of it, and whether that is a failure."""
    try:
        kept = decode(read_mark(entry.parent, entry.name), FolderMark).set
    except (FileNotFoundError, NotADirectoryError):
        return "left: it has no mark of Assay. Look at it and remove it yourself", False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"left: its mark {MARK} cannot be read ({reason}). Look at it and remove it yourself", True
    if keep_kept and kept.keep:
        return "left: its load file asked to keep it", False
    try:
        seen = run_quietly(_plan(directory, msgspec.structs.replace(kept, target="target", path=entry.name)))
    except Interrupted:
        raise
    except RunError as error:
        return f"left: {error}", True
    removed = next(event.detail for event in seen if isinstance(event, events.StepDone))
    foreign = [event.text for event in seen if isinstance(event, events.Warning) and event.id == events.FOREIGN_FILE]
    if foreign:
        return f"{removed}; {'; '.join(foreign)}, with the folders that hold it", True
    return removed, False


def _plan(directory: Path, *sets: FileSet) -> Plan:
    """Remove sets and nothing else; without one, only take the lock and leave again."""
    before = tuple(Remove(set=file_set.name) for file_set in sets)
    return Plan(
        name="clean",
        origin=Origin(front_end="assay", source="clean", sha256=""),
        seed=0,
        targets=(of_directory("target", directory),),
        file_sets=sets,
        phases=(Phase(name="clean", title="clean", jobs=(), before=before),) if sets else (),
    )
