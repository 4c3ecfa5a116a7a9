"""Remove what a killed run left behind: the marked data sets of a directory, by the engine's own rules."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay import events
from assay.bundle import RunBundle
from assay.catalog import resolve, runs_directory
from assay.engine import run_quietly
from assay.errors import InputError
from assay.plan import FileSet, Origin, Phase, Plan, Remove, Target
from assay.run import target_directories

DATA_FOLDER = "assay-data"
MARK = ".assay-set.json"


class Mark(msgspec.Struct, frozen=True):
    """What the mark of a set says; unknown fields belong to the engine."""

    set: FileSet


def directories_of(place: str, runs: Path | None) -> list[Path]:
    """The directories that a place names: a directory itself, or the targets of a run."""
    if Path(place).is_dir() and not (Path(place) / "resolved.json").exists():
        return [Path(place).resolve()]
    # Not `session.open_run`: a run whose files are damaged may be cleaned up after all the same.
    bundle = RunBundle.open(resolve(place, runs_directory(runs)))
    return sorted(set(target_directories(bundle.plan).values()))


def clean(directory: Path, *, keep_kept: bool = False) -> Iterator[str]:
    """Remove the marked sets below a directory, yielding a line about each; raises RunError while a run uses it."""
    folder = directory / DATA_FOLDER
    sets = [(mark.parent, _read(mark)) for mark in sorted(folder.rglob(MARK))] if folder.is_dir() else []
    sets = [(path, kept) for path, kept in sets if not (keep_kept and kept.keep)]
    if not sets:
        yield f"{directory}: nothing of Assay's is left here"
        return
    named = tuple(
        msgspec.structs.replace(kept, name=f"set{i}", target="target", path=str(path.relative_to(folder)))
        for i, (path, kept) in enumerate(sets)
    )
    plan = Plan(
        name="clean",
        origin=Origin(front_end="assay", source="clean", sha256=""),
        seed=0,
        targets=(Target(name="target", uri=directory.as_uri()),),
        file_sets=named,
        phases=(Phase(name="clean", title="clean", jobs=(), before=tuple(Remove(set=s.name) for s in named)),),
    )
    removed = [event for event in run_quietly(plan) if isinstance(event, events.StepDone)]
    for (path, _), step in zip(sets, removed, strict=True):
        yield f"{path}: {step.detail}"


def _read(mark: Path) -> FileSet:
    try:
        return msgspec.json.decode(mark.read_bytes(), type=Mark).set
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{mark} cannot be read as Assay's mark ({error}); remove its folder by hand") from error
