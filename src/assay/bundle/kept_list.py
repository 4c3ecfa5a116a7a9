"""Cache what `assay ls` and `assay show` would read or compute again: `catalog.sqlite`, per user.

It holds nothing that the folders do not: it follows folders that were added, changed or removed by hand, and is made anew
when it is missing, damaged or of another version. The outcome of a sealed run is kept under the hash of its manifest,
the owner of its folder and the version of the judgement, and found under all three alone: never that of another run, of
other content, of other rules, or of a copy that another user can change while it is read. SQLite in WAL mode takes several
writers at once.

The catalog is next to the runs if nobody else can change them. Where several users keep runs, each has a catalog in the
own cache folder. SQLite opens by name, follows links and opens its journals in the same place: so both places are safe
folders, and no file there is opened that is not this user's own. A file of that name that Assay did not make (its header
has another application id, or none) is neither opened nor removed: the catalog is then in the cache folder, too.
"""

import contextlib
import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from assay import own_files, xdg
from assay.bundle import files
from assay.bundle.inside import read_inside
from assay.bundle.opened_folder import OpenedFolder, open_folder
from assay.errors import BundleError, InputError

CATALOG = "catalog.sqlite"

_FOLDER = "catalogs"
"""In the cache folder, of runs of several users."""
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")
"""What SQLite opens, by what it adds to the name."""

_APPLICATION_ID = 0x61737361
"""In the header of each catalog: which program's file it is (the "application file format" of SQLite)."""
_MAGIC, _ID_AT, _HEADER_BYTES = b"SQLite format 3\0", 68, 100

_VERSION = 6
_TABLES = (
    """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, started_utc TEXT NOT NULL, load TEXT NOT NULL, command TEXT NOT NULL,
                   targets TEXT NOT NULL, state TEXT NOT NULL, exit_code INTEGER, seconds REAL, seal TEXT NOT NULL,
                   is_foreign INTEGER NOT NULL, owner INTEGER NOT NULL, stamp TEXT NOT NULL)
""".strip(),
    """
CREATE TABLE judged (seal TEXT NOT NULL, owner INTEGER NOT NULL, version TEXT NOT NULL, came_to TEXT NOT NULL,
                     PRIMARY KEY (seal, owner))
""".strip(),
    """
CREATE TABLE answers (seal TEXT NOT NULL, owner INTEGER NOT NULL, version TEXT NOT NULL, answer TEXT NOT NULL,
                      PRIMARY KEY (seal, owner))
""".strip(),
)
_WAIT_FOR_WRITERS_S: Final = 30.0
_SEAL = re.compile(rb"([0-9a-f]{64})  manifest\.json\n")


class HeadRate(msgspec.Struct, frozen=True, kw_only=True):
    """The rate that represents a run in a list."""

    label: str
    """Of its result."""
    title: str
    value: float
    unit: str
    """`MiB/s` or `ops/s`."""
    measures: str
    """What the number is a number of, as in the result document."""
    trust: str


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """RunOutcome of a sealed run, in short."""

    exit_code: int
    head: HeadRate | None
    """None: nothing has a rate."""
    trust: dict[str, int]
    """Results by their level of trust: `yes`, `weak`, `no`."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the small files of a run."""

    run_id: str
    started_utc: str
    load: str
    command: str
    targets: tuple[str, ...]
    state: str
    exit_code: int | None
    seconds: float | None
    seal: str
    """SHA-256 of the manifest; empty for a run that has none."""
    is_foreign: bool = False
    """Whether another tool measured it."""
    owner: int = -1
    """Owner of its folder."""


def catalog_of(runs: Path) -> Path | None:
    """Return the path of this user's catalog of a folder of runs; None: no place is this user's own."""
    with contextlib.suppress(OSError, InputError):
        resolved = own_files.safe_folder(runs)
        catalog = resolved / CATALOG
        if resolved.stat().st_uid == os.geteuid() and _is_own(catalog) and _is_catalog(catalog):
            return catalog
    with contextlib.suppress(OSError, InputError):
        name = hashlib.sha256(os.fsencode(runs.resolve())).hexdigest()
        path = own_files.make_safe_folder(xdg.caches() / _FOLDER) / f"{name}.sqlite"
        return path if _is_own(path) else None
    return None


def _is_own(catalog: Path) -> bool:
    """Whether all that SQLite would open of a catalog in a safe folder is this user's own, or not there."""
    for ending in _SQLITE_FILES:
        path = catalog.with_name(catalog.name + ending)
        with contextlib.suppress(FileNotFoundError):
            facts = path.lstat()
            if facts.st_uid != os.geteuid() or own_files.refusal(facts, path, is_folder=False):
                return False
    return True


def _is_catalog(path: Path) -> bool:
    """Whether there is nothing yet, or what was made as a catalog."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        return True
    is_made_here = header[_ID_AT : _ID_AT + 4] == _APPLICATION_ID.to_bytes(4, "big")
    return not header or (header.startswith(_MAGIC) and is_made_here)


class KeptList:
    """The open catalog."""

    def __init__(self, path: Path) -> None:
        """Open it, made anew where it is of another version; raises sqlite3.Error."""
        self._database = _connect(path)

    def close(self) -> None:
        """Close it."""
        self._database.close()

    def entries(self, runs: Path, folders: set[str], read: Callable[[OpenedFolder], Entry | None]) -> list[Entry]:
        """Give the entries of folders, reading again those that have changed; raises sqlite3.Error.

        Args:
            runs: Where runs are kept.
            folders: Names of the folders in it.
            read: Reads one run; None where the folder holds none.
        """
        stamps: dict[str, str] = dict(self._database.execute("SELECT run_id, stamp FROM runs"))
        if not all(isinstance(name, str) for name in stamps):
            raise sqlite3.DatabaseError("a run's name is no text")
        # Looked at again: another process may have begun a run since the folders were listed.
        gone = {name for name in stamps.keys() - folders if not (runs / name).is_dir()}
        now = {name: _stamp(runs / name) for name in folders}
        changed = {name for name in folders if stamps.get(name) != now[name]}
        if gone or changed:
            fresh = [found for found in (_stamped(runs / name, read) for name in changed) if found is not None]
            with self._transaction():
                self._database.executemany("DELETE FROM runs WHERE run_id = ?", [(name,) for name in gone | changed])
                self._database.executemany(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [(*_row(entry), stamp) for entry, stamp in fresh],
                )
                for table in ("judged", "answers"):
                    self._database.execute(f"DELETE FROM {table} WHERE seal NOT IN (SELECT seal FROM runs)")  # noqa: S608
        columns = ", ".join(Entry.__struct_fields__)
        rows = self._database.execute(f"SELECT {columns} FROM runs").fetchall()  # noqa: S608 - names of this module
        return [entry for entry in map(_entry, rows) if entry.run_id in folders]

    def outcomes(self, version: str) -> dict[tuple[str, int], RunOutcome]:
        """Return the outcomes, by the seals of the runs and their owners; raises sqlite3.Error."""
        rows = self._database.execute("SELECT seal, owner, came_to FROM judged WHERE version = ?", (version,))
        try:
            return {(seal, owner): msgspec.json.decode(outcome, type=RunOutcome) for seal, owner, outcome in rows}
        except (msgspec.MsgspecError, TypeError, UnicodeError) as error:
            raise sqlite3.DatabaseError(str(error)) from error

    def keep(self, run: OpenedFolder, version: str, outcome: RunOutcome) -> None:
        """Keep the outcome of a run; raises sqlite3.Error."""
        text = msgspec.json.encode(outcome).decode()
        self._database.execute(
            "INSERT OR REPLACE INTO judged VALUES (?, ?, ?, ?)", (seal_of(run.place), run.owner, version, text)
        )

    def answer(self, run: OpenedFolder, version: str) -> str | None:
        """Give what is kept to be shown of a run, in the words of whoever kept it; raises sqlite3.Error."""
        found = self._database.execute(
            "SELECT answer FROM answers WHERE seal = ? AND owner = ? AND version = ?",
            (seal_of(run.place), run.owner, version),
        )
        row = found.fetchone()
        return None if row is None else str(row[0])

    def keep_answer(self, run: OpenedFolder, version: str, answer: str) -> None:
        """Keep what is to be shown of a run; raises sqlite3.Error."""
        self._database.execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (seal_of(run.place), run.owner, version, answer)
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def seal_of(folder: Path) -> str:
    """Read the hash of a run's manifest; empty where there is none."""
    try:
        found = _SEAL.fullmatch(read_inside(folder, files.SEAL))
    except (OSError, BundleError):
        return ""
    return found[1].decode() if found else ""


def _stamped(folder: Path, read: Callable[[OpenedFolder], Entry | None]) -> tuple[Entry, str] | None:
    """Read an entry and its stamp of one and the same folder, whoever renames what meanwhile; None where there is no run."""
    try:
        with open_folder(folder) as opened:
            stamp, entry = _stamp(opened.place), read(opened)
    except OSError:
        return None
    return None if entry is None else (entry, stamp)


def _stamp(folder: Path) -> str:
    """Identify the file of an entry: only a sealed run never changes, and that only if nobody meddles with it."""
    for name in (files.MANIFEST, files.RUN):
        try:
            found = os.lstat(folder / name)
        except OSError:
            continue
        seal = seal_of(folder) if name == files.MANIFEST else ""
        return f"{name} {found.st_ino} {found.st_size} {found.st_mtime_ns} {seal}"
    return ""


def _row(entry: Entry) -> Iterable[object]:
    values = msgspec.structs.asdict(entry)
    values["targets"] = msgspec.json.encode(entry.targets).decode()
    return values.values()


def _entry(row: tuple[object, ...]) -> Entry:
    values = dict(zip(Entry.__struct_fields__, row, strict=True))
    try:
        values["targets"] = msgspec.json.decode(str(values["targets"]))
        values["is_foreign"] = bool(values["is_foreign"])
        return msgspec.convert(values, Entry)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise sqlite3.DatabaseError(str(error)) from error


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_WAIT_FOR_WRITERS_S, isolation_level=None)
    try:
        # Before the log: the header has it from the first moment on.
        if not path.stat().st_size:
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute("PRAGMA journal_mode = WAL")
        # The catalog can be made anew: it need not survive a power cut.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN IMMEDIATE")
        if database.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            database.execute("DROP TABLE IF EXISTS runs")
            database.execute("DROP TABLE IF EXISTS judged")
            database.execute("DROP TABLE IF EXISTS answers")
            for table in _TABLES:
                database.execute(table)
            database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("COMMIT")
        # As it is made here, or not at all: a view or a trigger that somebody put there could do anything.
        kept = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        if kept != [(table,) for table in _TABLES]:
            raise sqlite3.DatabaseError(f"{path} holds other tables")
    except sqlite3.Error:
        database.close()
        raise
    except UnicodeDecodeError as error:  # of a message about a damaged schema, which quotes it
        database.close()
        raise sqlite3.DatabaseError(f"{path} is damaged") from error
    return database
