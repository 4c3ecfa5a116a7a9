"""The small files of a run bundle: `run.json`, which opens a run that died, and `manifest.json`, which seals one.

Light on purpose: the catalog reads hundreds of these and needs no tables. All writes are atomic (a temporary file
beside the old one, fsync, rename, fsync of the folder): a reader sees the file as it was before or after, never half.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from assay.errors import BundleError, RunError, reason_of
from assay.events import Hello
from assay.host.facts import Fact

MANIFEST_SCHEMA = "assay.bundle/2"
_BEFORE_CLIENTS = "assay.bundle/1"
"""One client, whose hello stood in the manifest itself, and whose events in the bundle's own folder."""
RUN_SCHEMA = "assay.run/1"

MANIFEST = "manifest.json"
RUN = "run.json"
PLAN = "resolved.json"
SOURCE = "plan.toml"
STREAMS = "events/*.ndjson"
EVENTS = "events/*.json"
"""A file for each client, named after it."""

ALONE = "0"
"""Name of the client where there is one: this machine. The same on every machine, so that runs compare."""

_OLD_STREAM, _OLD_EVENTS = "events.ndjson", "events.json"
_NEVER_HASHED = frozenset({MANIFEST, RUN, _OLD_STREAM})
_TEMPORARY = ".part"
_CHUNK_BYTES = 1 << 20


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
    note: str


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
    """The engine, its machine and its clock; None when the engine never spoke."""
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
    head = (
        _read(folder / MANIFEST, Manifest, MANIFEST_SCHEMA)
        or _read(folder / RUN, RunFile, RUN_SCHEMA)
        or _read(folder / MANIFEST, Manifest, MANIFEST_SCHEMA)
    )
    if head is None:
        raise BundleError(f"{folder}: this is no run: it holds neither {MANIFEST} nor {RUN}. 'assay ls' lists the runs")
    return head


def of_client(folder: Path, pattern: str, client: str) -> Path:
    """Give a client's file of a pattern."""
    return folder / pattern.replace("*", client)


def by_client(folder: Path, pattern: str) -> dict[str, Path]:
    """Find every client's file of a pattern, also where a bundle of before there were clients keeps the one it has."""
    old = folder / {STREAMS: _OLD_STREAM, EVENTS: _OLD_EVENTS}[pattern]
    found = {path.stem: path for path in sorted(folder.glob(pattern))}
    return found or ({ALONE: old} if old.exists() else {})


def is_run(folder: Path) -> bool:
    """Whether a folder looks like a run, sealed or not."""
    return (folder / MANIFEST).is_file() or (folder / RUN).is_file()


def write_durably(path: Path, data: bytes) -> FileEntry:
    """Replace a file atomically; what is returned was on the storage before the new name was.

    Raises:
        RunError: the file could not be written; the old one, if any, is untouched.
    """
    temporary = path.with_name(path.name + _TEMPORARY)
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # a read-only file system says so of what is not there too
            temporary.unlink(missing_ok=True)
        raise RunError(
            f"{path}: could not be written: {reason_of(error)}. What was measured is still in '{path.parent}'; "
            "make room there or keep runs elsewhere with --runs DIR"
        ) from error
    return FileEntry(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def entry_of(path: Path) -> FileEntry:
    """Hash a file; raises OSError."""
    digest, size_bytes = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
    return FileEntry(bytes=size_bytes, sha256=digest.hexdigest())


def sealed_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file that a seal covers: all but the manifest and what the seal replaces."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        is_replaced = name in _NEVER_HASHED or path.match(STREAMS)
        if path.is_file() and not is_replaced and not name.endswith(_TEMPORARY):
            yield name, path


def faults(folder: Path, files: dict[str, FileEntry]) -> tuple[str, ...]:
    """Compare files with the manifest; one phrase for each that is missing or differs."""
    found = []
    for name, expected in files.items():
        try:
            actual = entry_of(folder / name)
        except OSError as error:
            found.append(f"{name} cannot be read ({error.strerror})")
            continue
        if actual.bytes != expected.bytes:
            found.append(f"{name} has {actual.bytes} bytes, not {expected.bytes}")
        elif actual.sha256 != expected.sha256:
            found.append(f"{name} has other content than when the run was sealed")
    return tuple(found)


_Head = TypeVar("_Head", Manifest, RunFile)


def _read(path: Path, kind: type[_Head], schema: str) -> _Head | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}. Check its permissions") from error
    try:
        head = msgspec.convert(_upgraded(msgspec.json.decode(data)), kind)
    except msgspec.DecodeError as error:
        raise BundleError(
            f"{path}: is no {schema} ({error}). It was changed after it was written, or a newer Assay wrote it; "
            "restore the file, or read the run with the Assay that made it"
        ) from error
    if head.schema != schema:
        raise BundleError(
            f"{path}: its schema is {head.schema}; this Assay reads {schema}. Read it with the Assay that made it"
        )
    return head


def _upgraded(head: Any) -> Any:
    """Give what was read as this version writes it."""
    if isinstance(head, dict) and head.get("schema") == _BEFORE_CLIENTS:
        alone = {name: head.pop(name, None) for name in ("hello", "stream_cut_bytes")}
        return head | {"schema": MANIFEST_SCHEMA, "clients": {ALONE: alone}}
    return head


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
