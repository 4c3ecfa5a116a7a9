"""List runs, and find the one that the user names.

The folders are the truth; `kept_list.py` only saves reading and assessing every run again. Where it cannot be kept at all
(no folder of the user's own, a file system without shared memory) that is done each time instead. What a run came to is
for its numbers; it is computed when it is first needed. Whatever a folder holds, it is one line of the list, and no other
line depends on it.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from assay import config, ownership, xdg
from assay.bundle import files
from assay.bundle.kept_list import Entry, HeadRate, KeptList, RunOutcome, catalog_of, seal_of
from assay.bundle.opened_folder import OpenedFolder, open_folder
from assay.bundle.original import FOREIGN
from assay.bundle.remarks import Remarks, change_remarks, is_name, remarks_of
from assay.errors import BundleError, InputError

if TYPE_CHECKING:
    from assay.bundle import RunBundle

SEALED = "sealed"
UNFINISHED = "unfinished"
DAMAGED = "damaged"
LAST = "last"

_CANDIDATES_SHOWN = 5
_LAST = re.compile(rf"{LAST}(?:~([0-9]{{1,9}}))?", re.ASCII)


class Assessor(Protocol):
    """Works out what a run came to."""

    @property
    def version(self) -> str:
        """Changes whenever it may come to something else."""

    def __call__(self, folder: Path) -> RunOutcome:
        """Assess a sealed run; raises BundleError where it is damaged."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list of runs."""

    run_id: str
    name: str | None
    """What the user calls it, as are `tags` and `note`."""
    tags: tuple[str, ...]
    note: str
    load: str
    """Name of the Plan."""
    command: str
    target: str
    """Directories that were measured, with commas between them."""
    targets: tuple[str, ...]
    started_utc: str
    """ISO 8601; empty when the run cannot be read."""
    seconds: float | None
    state: str
    """`sealed`, `unfinished` (under way, or died), `damaged` (cannot be read, or is not what a run writes)."""
    exit_code: int | None
    """None if unknown: unfinished, damaged, or ended by itself and not assessed."""
    head: HeadRate | None
    """The rate that represents the run; None where there is none, or where it was not assessed, as is `trust`."""
    trust: dict[str, int] | None
    """Results by their level of trust: `yes`, `weak`, `no`."""
    is_foreign: bool = False
    """Whether another tool measured it, and it was imported."""
    owner: str | None = None
    """Owner of its folder; None: the user who lists it."""


def runs_directory(override: Path | None) -> Path:
    """Return where runs are kept: `--runs`, else `$ASSAY_RUNS`, the configuration file's `runs`, the XDG data folder."""
    if override is not None:
        return xdg.expanded(str(override), "--runs").absolute()
    if named := os.environ.get("ASSAY_RUNS"):
        return xdg.expanded(named, "ASSAY_RUNS").absolute()
    if named := config.load().runs:
        return xdg.expanded(named, "HOME").absolute()
    return xdg.folder("XDG_DATA_HOME", "~/.local/share") / "runs"


# -- the list ----------------------------------------------------------------------------------------------------------


def list_runs(
    runs: Path, assess: Assessor | None = None, *, is_wanted: Callable[[RunSummary], bool] | None = None
) -> tuple[RunSummary, ...]:
    """List all runs, newest first; an absent folder holds none.

    Args:
        runs: Where runs are kept.
        assess: Assesses each sealed run whose outcome is not kept yet; None: runs have no outcome then.
        is_wanted: Selects runs by what is known without reading their results; None: all.

    Raises:
        BundleError: the folder cannot be read.
    """
    folders = _folders(runs)
    if not folders:
        return ()

    def listed(kept: KeptList | None) -> tuple[RunSummary, ...]:
        entries = list(_entries(runs, folders)) if kept is None else kept.entries(runs, folders, _entry)
        found = (_summary(entry, remarks_of(runs / entry.run_id)) for entry in entries)
        wanted = sorted(
            (run for run in found if is_wanted is None or is_wanted(run)),
            key=lambda run: (run.started_utc, run.run_id),
            reverse=True,
        )
        if assess is None:
            return tuple(wanted)
        return tuple(_assessed(runs, wanted, {entry.run_id: entry for entry in entries}, assess, kept))

    catalog = catalog_of(runs)
    if catalog is None:
        return listed(None)
    try:
        with closing(KeptList(catalog)) as kept:
            return listed(kept)
    except sqlite3.OperationalError:
        return listed(None)
    except sqlite3.DatabaseError:
        # Not a database any more. It holds nothing that the folders do not.
        catalog.unlink(missing_ok=True)
    try:
        with closing(KeptList(catalog)) as kept:
            return listed(kept)
    except sqlite3.DatabaseError:
        return listed(None)


def _assessed(
    runs: Path, found: Sequence[RunSummary], entries: dict[str, Entry], assess: Assessor, kept: KeptList | None
) -> Iterator[RunSummary]:
    """Fill in what the sealed runs came to."""
    known = {} if kept is None else kept.outcomes(assess.version)
    for run in found:
        if run.state != SEALED:
            yield run
            continue
        entry = entries[run.run_id]
        outcome = known.get((entry.seal, entry.owner))
        if outcome is None:
            try:
                outcome = _assess(runs / run.run_id, entry, assess, kept)
            except (BundleError, OSError):
                yield msgspec.structs.replace(run, state=DAMAGED, exit_code=None)
                continue
        yield msgspec.structs.replace(run, exit_code=outcome.exit_code, head=outcome.head, trust=outcome.trust)


def _assess(folder: Path, entry: Entry, assess: Assessor, kept: KeptList | None) -> RunOutcome:
    """Assess the run that was listed, and no other that was put in its place meanwhile; raises BundleError and OSError."""
    with open_folder(folder) as opened:
        if (seal_of(opened.place), opened.owner) != (entry.seal, entry.owner):
            raise BundleError(f"{folder}: another was put in its place")
        outcome = assess(opened.place)
        if kept is not None and entry.seal and opened.is_fixed():
            kept.keep(opened, assess.version, outcome)
    return outcome


def _entries(runs: Path, names: Iterable[str]) -> Iterator[Entry]:
    for name in names:
        with contextlib.suppress(OSError), open_folder(runs / name) as opened:
            if entry := _entry(opened):
                yield entry


def _entry(opened: OpenedFolder) -> Entry | None:
    """Read one run; None when the folder holds none, or was removed this moment."""
    folder = opened.place
    if not files.is_run(folder):
        return None
    try:
        head, plan = files.read_head(folder), files.read_plan(folder)
    except BundleError:
        if not folder.is_dir():
            return None
        return Entry(run_id=opened.name, started_utc="", load="", command="", targets=(), state=DAMAGED,
                     exit_code=None, seconds=None, seal="", owner=opened.owner)  # fmt: skip
    directories = {fact.key: str(fact.value) for fact in head.facts}
    is_sealed, is_foreign = isinstance(head, files.Manifest), plan.origin.front_end == FOREIGN
    return Entry(
        run_id=opened.name,
        started_utc=head.info.started_utc,
        load=plan.name,
        command=head.info.command,
        targets=tuple(directories.get(f"target.{target.name}.directory", target.uri) for target in plan.targets),
        state=SEALED if is_sealed else UNFINISHED,
        exit_code=head.info.exit_code,
        seconds=None if is_foreign else head.info.seconds,
        seal=seal_of(folder) if is_sealed else "",
        is_foreign=is_foreign,
        owner=opened.owner,
    )


def _summary(entry: Entry, remarks: Remarks) -> RunSummary:
    return RunSummary(
        run_id=entry.run_id,
        name=remarks.name,
        tags=remarks.tags,
        note=remarks.note,
        load=entry.load,
        command=entry.command,
        target=", ".join(entry.targets),
        targets=entry.targets,
        started_utc=entry.started_utc,
        seconds=entry.seconds,
        state=entry.state,
        exit_code=entry.exit_code,
        head=None,
        trust=None,
        is_foreign=entry.is_foreign,
        owner=ownership.stranger(entry.owner),
    )


def _folders(runs: Path) -> set[str]:
    try:
        with os.scandir(runs) as entries:
            return {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise BundleError(f"{runs}: cannot be listed: {error.strerror}. Name another with --runs DIR") from error


# -- find a run ------------------------------------------------------------------------------------------------------


def open_run(reference: str, runs: Path | None) -> "RunBundle":
    """Open the run that the user means.

    Args:
        reference: As for `resolve`.
        runs: Where runs are kept; None: the usual place.

    Raises:
        BundleError: there is none, or its files were changed.
    """
    folder = resolve(reference, runs_directory(runs))
    # Only now: who looks for a run reads no tables.
    from assay.bundle.run_bundle import RunBundle  # noqa: PLC0415

    bundle = RunBundle.open(folder)
    bundle.verify()
    return bundle


def resolve(reference: str, runs: Path) -> Path:
    """Find the run that the user means.

    Args:
        reference: Path of a bundle, `last`, `last~N` (the N-th before it), an id, a name, or a part of one id alone; what
            comes first in this list is taken.
        runs: Where runs are kept.

    Raises:
        BundleError: no run or more than one fits; the text names candidates.
    """
    path = Path(reference)
    if files.is_run(path):
        return path.absolute()
    _check_reach(path)
    if last := _LAST.fullmatch(reference):
        return _last(runs, int(last[1] or 0))
    ids = sorted(name for name in _folders(runs) if files.is_run(runs / name))
    if reference in ids:
        return runs / reference
    found = _named(reference, runs, ids) or [id_ for id_ in ids if reference and reference in id_]
    if len(found) == 1:
        return runs / found[0]
    if found:
        raise BundleError(f"run '{reference}': {len(found)} runs fit: {_some(found)}. Give more of the id")
    known = f"There are: {_some(ids)}" if ids else "There are none yet: 'assay quick DIR' makes one"
    raise BundleError(f"run '{reference}': no such run in {runs}. {known}")


def _check_reach(path: Path) -> None:
    """Raise BundleError if it is unknown whether a path is that of a run, because this user may not look."""
    try:
        (path / files.RUN).lstat()
    except PermissionError as error:
        raise BundleError(f"run '{path}': cannot be reached: {error.strerror}. Check the permissions") from error
    except (OSError, ValueError):  # not there, or no path at all
        return


def _last(runs: Path, before: int) -> Path:
    known = [run for run in list_runs(runs) if run.state != DAMAGED]
    if before < len(known):
        return runs / known[before].run_id
    if not known:
        raise BundleError(f"run '{LAST}': there is no run in {runs} yet. 'assay quick DIR' makes one")
    raise BundleError(f"run '{LAST}~{before}': the {len(known)} runs of {runs} go back to '{LAST}~{len(known) - 1}'")


def _some(names: list[str]) -> str:
    newest = sorted(names, reverse=True)
    more = len(newest) - _CANDIDATES_SHOWN
    return ", ".join(newest[:_CANDIDATES_SHOWN]) + (f" and {more} more" if more > 0 else "")


# -- what the user calls them ------------------------------------------------------------------------------------------


def take_name(name: str, keeper: Path) -> list[str]:
    """Take a name from every other run of the folder in which `keeper` lies, and give the ids of those that had it.

    Raises:
        AssayError: a run cannot be changed; the name is then its own too, and selects neither.
    """
    runs = keeper.parent
    others = [id_ for id_ in _named(name, runs, _folders(runs)) if id_ != keeper.name]
    for id_ in others:
        change_remarks(runs / id_, lambda text: msgspec.structs.replace(text, name=None))
    return others


def check_free(name: str, runs: Path) -> None:
    """Raise InputError if a name is the id of a run, because an id always selects that run."""
    if files.is_run(runs / name):
        raise InputError(f"--name {name}: is the id of a run in {runs}; choose another")


def _named(name: str, runs: Path, ids: Iterable[str]) -> list[str]:
    """Find the runs of a name: one, unless somebody put another there."""
    if not is_name(name):
        return []
    return [id_ for id_ in ids if remarks_of(runs / id_).name == name]
