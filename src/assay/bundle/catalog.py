"""Which runs are there, and which one does the user mean?

The folders are the truth. `catalog.sqlite` beside them only saves reading every manifest again: it follows folders that
were added, changed or removed by hand, is made anew when it is missing, damaged or of another version, and where it cannot
be kept at all (a read-only folder, a file system without shared memory) the manifests are read each time instead.
The exit code of a run that ended by itself is for its numbers to say; it is worked out when it is first asked for.
Whatever a folder holds, it is one line of the list, and no other line depends on it.
SQLite in WAL mode takes several writers at once.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from assay import config, xdg
from assay.bundle import RunBundle, files
from assay.errors import BundleError

CATALOG = "catalog.sqlite"
SEALED = "sealed"
UNFINISHED = "unfinished"
DAMAGED = "damaged"

_VERSION = 2
_COLUMNS = "run_id, started_utc, name, command, target, state, exit_code, seconds"
_TABLE = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, started_utc TEXT NOT NULL, name TEXT NOT NULL, command TEXT NOT NULL,
                   target TEXT NOT NULL, state TEXT NOT NULL, exit_code INTEGER, seconds REAL, stamp TEXT NOT NULL)
""".strip()
_WAIT_FOR_WRITERS_S = 30.0
Judge = Callable[[Path], int]
"""Gives the exit code of a sealed run that ended by itself; raises BundleError where it is damaged."""
_CANDIDATES_SHOWN = 10


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list of runs."""

    run_id: str
    started_utc: str
    """ISO 8601; empty when the run cannot be read."""
    name: str
    """Name of the Plan."""
    command: str
    target: str
    """Directories that were measured, with commas between them."""
    state: str
    """`sealed`, `unfinished` (under way, or died), `damaged` (cannot be read, or is not what a run writes)."""
    exit_code: int | None
    """None where nobody knows it: unfinished, damaged, or ended by itself and not judged yet."""
    seconds: float | None


def runs_directory(override: Path | None) -> Path:
    """Say where runs are kept: `--runs`, else `$ASSAY_RUNS`, the configuration file's `runs`, the XDG data folder."""
    if override is not None:
        return xdg.expanded(str(override), "--runs").absolute()
    if named := os.environ.get("ASSAY_RUNS"):
        return xdg.expanded(named, "ASSAY_RUNS").absolute()
    if named := config.load().runs:
        return xdg.expanded(named, "HOME").absolute()
    return xdg.folder("XDG_DATA_HOME", "~/.local/share") / "runs"


def list_runs(runs: Path, judge: Judge | None = None) -> tuple[RunSummary, ...]:
    """List all runs, newest first; an absent folder holds none.

    Args:
        runs: Where runs are kept.
        judge: Asked for each exit code that the catalog does not know yet; None: these are left out.

    Raises:
        BundleError: the folder cannot be read.
    """
    folders = _folders(runs)
    if not folders:
        return ()
    try:
        return _indexed(runs, folders, judge)
    except sqlite3.OperationalError:
        return _newest_first(_judged(runs, _summaries(runs, folders), judge))
    except sqlite3.DatabaseError:
        # Not a database any more. It holds nothing that the folders do not.
        (runs / CATALOG).unlink(missing_ok=True)
    try:
        return _indexed(runs, folders, judge)
    except sqlite3.DatabaseError:
        return _newest_first(_judged(runs, _summaries(runs, folders), judge))


def open_run(reference: str, runs: Path | None) -> RunBundle:
    """Open the run that the user means.

    Args:
        reference: As for `resolve`.
        runs: Where runs are kept; None: the usual place.

    Raises:
        BundleError: there is none, or its files were changed.
    """
    bundle = RunBundle.open(resolve(reference, runs_directory(runs)))
    bundle.verify()
    return bundle


def resolve(reference: str, runs: Path) -> Path:
    """Find the run that the user means.

    Args:
        reference: Path of a bundle, an id, the beginning of one, beginning or end of its hexadecimal part, or `last`.
        runs: Where runs are kept.

    Raises:
        BundleError: no run or more than one fits; the text names candidates.
    """
    path = Path(reference)
    if files.is_run(path):
        return path.absolute()
    _check_reach(path)
    if reference == "last":
        return _last(runs)
    names = sorted(name for name in _folders(runs) if files.is_run(runs / name))
    if reference in names:
        return runs / reference
    found = [name for name in names if reference and _is_meant(reference, name)]
    if len(found) == 1:
        return runs / found[0]
    if found:
        raise BundleError(f"run '{reference}': {len(found)} runs fit: {_some(found)}. Give more of the name")
    known = f"There are: {_some(names)}" if names else "There are none yet: 'assay quick DIR' makes one"
    raise BundleError(f"run '{reference}': no such run in {runs}. {known}")


def _check_reach(path: Path) -> None:
    """Raise BundleError where nobody can say whether a path is that of a run, because this user may not look."""
    try:
        (path / files.RUN).lstat()
    except PermissionError as error:
        raise BundleError(f"run '{path}': cannot be reached: {error.strerror}. Check the permissions") from error
    except (OSError, ValueError):  # not there, or no path at all
        return


def _is_meant(reference: str, name: str) -> bool:
    hexadecimal = name.rpartition("-")[2]
    return name.startswith(reference) or hexadecimal.startswith(reference) or hexadecimal.endswith(reference)


def _last(runs: Path) -> Path:
    known = [run for run in list_runs(runs) if run.state != DAMAGED]
    if not known:
        raise BundleError(f"run 'last': there is no run in {runs} yet. 'assay quick DIR' makes one")
    return runs / known[0].run_id


def _some(names: list[str]) -> str:
    newest = sorted(names, reverse=True)
    more = len(newest) - _CANDIDATES_SHOWN
    return ", ".join(newest[:_CANDIDATES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _folders(runs: Path) -> set[str]:
    try:
        with os.scandir(runs) as entries:
            return {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise BundleError(f"{runs}: cannot be listed: {error.strerror}. Name another with --runs DIR") from error


def _indexed(runs: Path, folders: set[str], judge: Judge | None) -> tuple[RunSummary, ...]:
    with closing(_connect(runs / CATALOG)) as database:
        stamps = dict(database.execute("SELECT run_id, stamp FROM runs"))
        # Looked at again: another process may have begun a run since the folders were listed.
        gone = {name for name in stamps.keys() - folders if not (runs / name).is_dir()}
        now = {name: _stamp(runs / name) for name in folders}
        changed = {name for name in folders if stamps.get(name) != now[name]}
        if gone or changed:
            fresh = _summaries(runs, changed)
            database.execute("BEGIN IMMEDIATE")
            database.executemany("DELETE FROM runs WHERE run_id = ?", [(name,) for name in gone])
            database.executemany(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*msgspec.structs.astuple(run), now[run.run_id]) for run in fresh],
            )
            database.execute("COMMIT")
        rows = database.execute(f"SELECT {_COLUMNS} FROM runs").fetchall()  # noqa: S608 - a constant of this module
        found = _summaries_in(rows)
        known = [run for run in found if run.run_id in folders]
        judged = _judged(runs, known, judge)
        database.executemany(
            "UPDATE runs SET exit_code = ?, state = ? WHERE run_id = ?",
            [
                (run.exit_code, run.state, run.run_id)
                for run, before in zip(judged, known, strict=True)
                if run is not before
            ],
        )
    return _newest_first(judged)


def _judged(runs: Path, found: list[RunSummary], judge: Judge | None) -> list[RunSummary]:
    """Fill in the exit codes of the runs that ended by themselves."""

    def judged(run: RunSummary) -> RunSummary:
        if judge is None or run.state != SEALED or run.exit_code is not None:
            return run
        try:
            return msgspec.structs.replace(run, exit_code=judge(runs / run.run_id))
        except BundleError:
            return msgspec.structs.replace(run, state=DAMAGED)

    return [judged(run) for run in found]


def _summaries_in(rows: list[tuple[object, ...]]) -> list[RunSummary]:
    fields = RunSummary.__struct_fields__
    try:
        return [msgspec.convert(dict(zip(fields, row, strict=True)), RunSummary) for row in rows]
    except msgspec.ValidationError as error:
        raise sqlite3.DatabaseError(str(error)) from error


def _stamp(folder: Path) -> str:
    """Tell of which file a summary was made: only a sealed run never changes, and that only if nobody meddles with it."""
    for name in (files.MANIFEST, files.RUN):
        try:
            found = (folder / name).lstat()
        except OSError:
            continue
        return f"{name} {found.st_ino} {found.st_size} {found.st_mtime_ns}"
    return ""


def _connect(path: Path) -> sqlite3.Connection:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise sqlite3.OperationalError(f"{path} is no file")
    database = sqlite3.connect(path, timeout=_WAIT_FOR_WRITERS_S, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # The catalog can be made anew: it need not survive a power cut.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN IMMEDIATE")
        if database.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            database.execute("DROP TABLE IF EXISTS runs")
            database.execute(_TABLE)
            database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("COMMIT")
        # As it is made here, or not at all: a view or a trigger that somebody put there could do anything.
        kept = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if kept != [(_TABLE,)]:
            raise sqlite3.DatabaseError(f"{path} holds other tables")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _newest_first(summaries: Iterable[RunSummary]) -> tuple[RunSummary, ...]:
    return tuple(sorted(summaries, key=lambda run: (run.started_utc, run.run_id), reverse=True))


def _summaries(runs: Path, names: Iterable[str]) -> list[RunSummary]:
    found = (_summary(runs / name) for name in names)
    return [run for run in found if run is not None]


def _summary(folder: Path) -> RunSummary | None:
    """Read one run; None when the folder holds none, or was removed this moment."""
    if not files.is_run(folder):
        return None
    try:
        head, plan = files.read_head(folder), files.read_plan(folder)
    except BundleError:
        if not folder.is_dir():
            return None
        return RunSummary(run_id=folder.name, started_utc="", name="", command="", target="", state=DAMAGED,
                          exit_code=None, seconds=None)  # fmt: skip
    directories = {fact.key: str(fact.value) for fact in head.facts}
    targets = [directories.get(f"target.{target.name}.directory", target.uri) for target in plan.targets]
    return RunSummary(
        run_id=folder.name,
        started_utc=head.info.started_utc,
        name=plan.name,
        command=head.info.command,
        target=", ".join(targets),
        state=SEALED if isinstance(head, files.Manifest) else UNFINISHED,
        exit_code=head.info.exit_code,
        seconds=head.info.seconds,
    )
