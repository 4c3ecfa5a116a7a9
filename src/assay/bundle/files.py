"""The small files of a run bundle: `run.json`, which opens a run that died, and `manifest.json`, which seals one.

Light on purpose: the catalog reads hundreds of these and needs no tables. All writes are atomic (a temporary file
next to the old one, fsync, rename, fsync of the folder): a reader sees the file as it was before or after, never half.

The manifest has the hash of every other file, and `manifest.sha256` has the manifest's, as sha256sum writes it. Hashes find
damage; who forges a file forges its hash too, so a bundle is checked as any input is.
"""

import contextlib
import datetime as dt
import hashlib
import os
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from assay.bundle.durable import names_in, sync_folder, write_synced
from assay.bundle.inside import DAMAGED_CURE, is_inside, is_plain, open_inside, read_inside
from assay.bundle.kept_marks import MARKS
from assay.bundle.remarks import REMARKS
from assay.bundle.run_place import place_of, remove_in_run
from assay.bundle.strict_json import decode
from assay.errors import BundleError, PlanError, RunError, naming, reason_of
from assay.events import Hello
from assay.host.facts import Fact
from assay.plan import Plan

MANIFEST_SCHEMA = "assay.bundle/3"
RUN_SCHEMA = "assay.run/1"

MANIFEST = "manifest.json"
SEAL = "manifest.sha256"
"""The manifest's own hash."""
RUN = "run.json"
PLAN = "resolved.json"
SOURCE = "plan.toml"
STREAMS = "events/*.ndjson"
EVENTS = "events/*.json"
"""A file for each client, named after it."""

ALONE = "0"
"""Name of the client where there is one: this machine. The same on every machine, so that runs compare."""

_NEVER_HASHED = frozenset({MANIFEST, SEAL, RUN, REMARKS, MARKS})
"""What a seal writes or replaces, and what may change after it."""
_TEMPORARY = ".part"
_MOST_FILES = 32_768
_CHUNK_BYTES = 1 << 20
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


_MOST_SECONDS = 1e11
"""Three thousand years."""


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who ran what, when, and how it ended."""

    run_id: str
    command: str
    """The command line, quoted for a shell."""
    argv: tuple[str, ...]
    started_utc: str
    """ISO 8601, ends in Z."""
    ended_utc: str | None
    """None until the run is sealed, as is `seconds`."""
    seconds: float | None
    exit_code: int | None
    """Of the error that ended the run early, else None. Older versions put 0 and 1 here too."""
    assay_version: str

    def __post_init__(self) -> None:
        """Hold to what a run can have come to what others may have written; raises ValueError."""
        for moment in (self.started_utc, self.ended_utc):
            if moment is not None and dt.datetime.fromisoformat(moment).utcoffset() != dt.timedelta(0):
                raise ValueError(f"{moment!r} is no time of day in UTC")
        if self.seconds is not None and abs(self.seconds) > _MOST_SECONDS:
            raise ValueError(f"no run takes {self.seconds:g} s")


class RunFile(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`: what was known when the run began."""

    schema: str
    info: RunInfo
    facts: tuple[Fact, ...]


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a sealed bundle."""

    bytes: int
    sha256: str


class ClientEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One client of a sealed bundle."""

    hello: Hello | None
    """The engine, its machine and its clock; None if the engine sent nothing."""
    stream_cut_bytes: int
    """Bytes of a line that was still being written when the engine was killed; they are not in the tables."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`: what a sealed run is, and the hash of everything in it."""

    schema: str
    info: RunInfo
    plan_sha256: str
    """Of `resolved.json`: runs with the same hash did the same."""
    clients: dict[str, ClientEntry]
    """By name."""
    facts: tuple[Fact, ...]
    files: dict[str, FileEntry]
    """By path inside the bundle."""


def read_head(folder: Path) -> Manifest | RunFile:
    """Read the manifest of a sealed run, or the record of one that is under way or has died.

    Raises:
        BundleError: the folder is not there, holds no run, or holds one of another version of Assay.
    """
    if not folder.is_dir():
        raise BundleError(f"{folder}: there is no such run folder. 'assay ls' lists the runs")
    # A run may be sealed while we look: then run.json goes away only after the manifest has come.
    head = _read_manifest(folder) or _read_record(folder) or _read_manifest(folder)
    if head is None:
        raise BundleError(f"{folder}: this is no run: it holds neither {MANIFEST} nor {RUN}. 'assay ls' lists the runs")
    return head


def read_plan(folder: Path) -> Plan:
    """Read the Plan of a run, with its scripts as they are named there; raises BundleError."""
    try:
        return decode(read_inside(folder, PLAN), Plan)
    except OSError as error:
        raise BundleError(f"{folder / PLAN}: cannot be read: {error.strerror}. {DAMAGED_CURE}") from error
    except (PlanError, ValueError) as error:
        raise BundleError(f"{folder / PLAN}: is no Plan that this Assay reads ({error}). {DAMAGED_CURE}") from error


def of_client(folder: Path, pattern: str, client: str) -> Path:
    """Give a client's file of a pattern."""
    return folder / pattern.replace("*", client)


def by_client(folder: Path, pattern: str) -> dict[str, Path]:
    """Find every client's file of a pattern."""
    found = (folder / name for name in names_of(folder))
    return {path.stem: path for path in found if path.match(pattern) and is_plain(path.stem)}


def names_of(folder: Path) -> list[str]:
    """Name the files of a bundle, in its folder and in those below it, as far as they are there; raises OSError."""
    found = []
    for name in _names_in(folder):
        path = folder / name
        inner = _names_in(path) if path.is_dir() and not path.is_symlink() else None
        found += [name] if inner is None else [f"{name}/{one}" for one in inner]
    return found


def _names_in(folder: Path) -> list[str]:
    # A run may be sealed while we look, or removed.
    with contextlib.suppress(FileNotFoundError):
        return names_in(folder)
    return []


def is_run(folder: Path) -> bool:
    """Whether a folder looks like a run, sealed or not, whole or damaged."""
    return any(os.path.lexists(folder / name) for name in (MANIFEST, RUN))


def write_seal(folder: Path, manifest: Manifest) -> None:
    """Put the manifest in place, with its hash ahead of it: from then on the run is sealed; raises RunError."""
    data = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    write_durably(folder / SEAL, _seal_of(data))
    try:
        write_durably(folder / MANIFEST, data)
    except RunError:
        # It may have its name already, and only that not be on storage: a run that is reported as unsealed must not
        # be sealed.
        with contextlib.suppress(OSError):
            remove_in_run(folder / MANIFEST)
        raise


def _seal_of(manifest: bytes) -> bytes:
    return f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n".encode()


def write_durably(path: Path, data: bytes) -> FileEntry:
    """Replace a file atomically; what is returned was on the storage before the new name was.

    Raises:
        RunError: the file could not be written; the old one, if any, is untouched.
    """
    temporary = path.name + _TEMPORARY
    try:
        with place_of(path) as place:
            # For the owner to write, whatever the umask: what others may write proves nothing.
            write_synced(place / temporary, _WRITE, 0o644, data)
            (place / temporary).replace(place / path.name)
            sync_folder(place)
    except OSError as error:
        with contextlib.suppress(OSError):  # a read-only file system reports that for missing files too
            remove_in_run(path.with_name(temporary))
        raise RunError(
            f"{path}: could not be written: {reason_of(error)}. What was measured is still in '{path.parent}'; "
            "make room there or keep runs in another place with --runs DIR"
        ) from error
    return FileEntry(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def entry_of(file: BinaryIO) -> FileEntry:
    """Hash an open file from where it is to its end; raises OSError."""
    digest, size_bytes = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
        size_bytes += len(chunk)
    return FileEntry(bytes=size_bytes, sha256=digest.hexdigest())


def to_seal(folder: Path) -> dict[str, FileEntry]:
    """Hash each file that a seal covers: all but the manifest and what the seal replaces; raises OSError, BundleError.

    Each is on storage when this returns: who reads the manifest after a cut of the power finds what it has the hash of.
    """
    found = {}
    for name in names_of(folder):
        path = folder / name
        is_replaced = name in _NEVER_HASHED or path.match(STREAMS)
        if path.is_file() and not is_replaced and not name.endswith(_TEMPORARY):
            with naming(path), open_inside(folder, name) as file:
                os.fsync(file.fileno())
                found[name] = entry_of(file)
    return found


def faults(folder: Path, files: dict[str, FileEntry]) -> tuple[str, ...]:
    """Compare files with the manifest; one phrase for each that is missing or differs."""
    found = []
    for name, expected in files.items():
        try:
            with open_inside(folder, name) as file:
                size_bytes = os.fstat(file.fileno()).st_size
                # Hashed only if it can be right: the size may be any.
                actual = entry_of(file) if size_bytes == expected.bytes else None
        except OSError as error:
            found.append(f"{name} cannot be read ({error.strerror})")
            continue
        if actual is None or actual.bytes != expected.bytes:
            found.append(f"{name} has {size_bytes} bytes, not {expected.bytes}")
        elif actual.sha256 != expected.sha256:
            found.append(f"{name} has other content than when the run was sealed")
    return tuple(found)


def is_as_sealed(folder: Path) -> bool:
    """Whether a run is sealed, and each of its files matches the manifest; raises BundleError where it has no head."""
    head = read_head(folder)
    return isinstance(head, Manifest) and not faults(folder, head.files)


_Head = TypeVar("_Head", Manifest, RunFile)


class _AnyHead(msgspec.Struct):
    """Fields that the documents of every version begin with."""

    schema: str


def _read_manifest(folder: Path) -> Manifest | None:
    data = _contents(folder, MANIFEST)
    if data is None:
        return None
    manifest = _decoded(data, folder / MANIFEST, Manifest, MANIFEST_SCHEMA)
    if _contents(folder, SEAL) != _seal_of(data):
        raise BundleError(f"{folder / MANIFEST}: does not match {SEAL}. {DAMAGED_CURE}")
    if foreign := [name for name in manifest.files if not is_inside(name)]:
        raise BundleError(f"{folder / MANIFEST}: names the file {foreign[0]!r}, which is none of a run. {DAMAGED_CURE}")
    if foreign := [name for name in manifest.clients if not is_plain(name)]:
        raise BundleError(f"{folder / MANIFEST}: names the client {foreign[0]!r}, which none can be. {DAMAGED_CURE}")
    if not manifest.clients:
        raise BundleError(f"{folder / MANIFEST}: names no client. {DAMAGED_CURE}")
    if len(manifest.files) > _MOST_FILES:
        raise BundleError(f"{folder / MANIFEST}: names {len(manifest.files)} files. {DAMAGED_CURE}")
    return manifest


def _read_record(folder: Path) -> RunFile | None:
    data = _contents(folder, RUN)
    return None if data is None else _decoded(data, folder / RUN, RunFile, RUN_SCHEMA)


def _contents(folder: Path, name: str) -> bytes | None:
    """Read a small file; None where there is none."""
    try:
        return read_inside(folder, name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BundleError(f"{folder / name}: cannot be read: {error.strerror}. Check its permissions") from error


def _decoded(data: bytes, path: Path, kind: type[_Head], schema: str) -> _Head:
    try:
        found = decode(data, _AnyHead).schema
        if found != schema:
            raise BundleError(
                f"{path}: was made by another version of Assay: its schema is {found!r}, and this one reads {schema}. Read "
                "it with the Assay that made it"
            )
        return decode(data, kind)
    except ValueError as error:
        raise BundleError(f"{path}: is no {schema} ({error}). {DAMAGED_CURE}") from error
