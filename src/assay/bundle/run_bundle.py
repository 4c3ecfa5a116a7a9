"""Begin, open, read and seal one run; `assay.bundle` describes its files."""

import contextlib
import datetime as dt
import io
import shlex
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import msgspec
import polars as pl

from assay import __version__
from assay.bundle import files
from assay.bundle.client_set import CLIENTS, ClientSet, client_set_of, write_client_set
from assay.bundle.contents import check_events, check_rows, read_events, read_table
from assay.bundle.durable import sync_folder
from assay.bundle.files import ClientEntry, Manifest, RunFile, RunInfo
from assay.bundle.inside import DAMAGED_CURE, is_inside, read_inside
from assay.bundle.kept_marks import MARKS, KeptMark, marks_of
from assay.bundle.maker import is_own, sign
from assay.bundle.opened_folder import open_folder
from assay.bundle.original import ABOUT, FOREIGN, ORIGINAL, Original, original_of, write_original
from assay.bundle.remarks import NOTHING, REMARKS, Remarks, remarks_of, write_remarks
from assay.bundle.run_folder import cannot_be_kept, make_run_folder, remove_run, removed_on_error
from assay.bundle.run_place import STREAM_FOLDER, remove_in_run
from assay.bundle.scan import FileTable, HeldTable, Scan, content_checked
from assay.bundle.scripts import find_scripts, keep_scripts, opened_scripts
from assay.bundle.tables import COLUMNS, HISTOGRAMS, HOST, INTERVALS, WORKERS, Stream, join, read_stream
from assay.errors import BundleError, RunError
from assay.events import Event
from assay.host.facts import Fact
from assay.plan import Plan

_NAMED = 5
"""Clients that a message names."""

Streams = dict[str, Stream]
"""Content of each client's stream, by the client's name."""


class RunBundle:
    """One run on storage, sealed or not; both answer the same questions."""

    def __init__(self, path: Path, plan: Plan, head: Manifest | RunFile) -> None:
        """Hold what is known; use `create` or `open`."""
        self.path = path
        self.plan = plan
        self._head = head
        self._read: tuple[dict[str, int], Streams] | None = None
        self._sealed_from: Streams | None = None
        self._taken: dict[str, tuple[int, Stream]] = {}
        self._began_s: float | None = None

    @classmethod
    def create(
        cls,
        runs_directory: Path,
        slug: str,
        *,
        plan: Plan,
        argv: Sequence[str],
        source_text: str | None = None,
        remarks: Remarks = NOTHING,
    ) -> Self:
        """Begin a run: make its folder and write down all that is known before the engine starts.

        Args:
            runs_directory: Where runs are kept; made if it is not there.
            slug: What the run is about, in a word or two, for its name.
            plan: What will be done.
            argv: The command line that asked for it.
            source_text: The load file as it was read, where there is one.
            remarks: What the user calls it.

        Raises:
            InputError: a script of the Plan cannot be read.
            RunError: the folder cannot be made or written.
        """
        began, began_s = dt.datetime.now(dt.UTC), time.monotonic()
        with opened_scripts(plan) as scripts:
            path = make_run_folder(runs_directory, began, slug)
            try:
                # Nothing was measured: a folder without its record would be a run that nobody can open.
                with removed_on_error(path):
                    kept = keep_scripts(plan, scripts, path)
                    return cls._begin(path, began, began_s, kept, argv=argv, source_text=source_text, remarks=remarks)
            except BaseException as error:
                reason = error if isinstance(error, OSError) else error.__cause__
                if isinstance(reason, OSError):
                    raise RunError(cannot_be_kept(runs_directory, reason)) from reason
                raise

    @classmethod
    def _begin(
        cls,
        path: Path,
        began: dt.datetime,
        began_s: float,
        kept: Plan,
        *,
        argv: Sequence[str],
        source_text: str | None,
        remarks: Remarks,
    ) -> Self:
        """Write all that is known into the new folder of a run; raises RunError, or OSError."""
        info = RunInfo(
            run_id=path.name,
            command=shlex.join(argv),
            argv=tuple(argv),
            started_utc=_iso(began),
            ended_utc=None,
            seconds=None,
            exit_code=None,
            assay_version=__version__,
        )
        with open_folder(path) as opened:
            (opened.place / STREAM_FOLDER).mkdir(mode=0o755)
        bundle = cls(path, find_scripts(kept, path), RunFile(schema=files.RUN_SCHEMA, info=info, facts=()))
        bundle._began_s = began_s
        files.write_durably(path / files.PLAN, kept.to_json())
        if source_text is not None:
            files.write_durably(path / files.SOURCE, source_text.encode())
        if remarks != NOTHING:
            write_remarks(path, remarks)
        sign(path, kept)
        # Last: a folder with run.json always has its Plan.
        bundle._write_record(())
        sync_folder(path.parent)
        return bundle

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run, sealed, under way or dead; writes nothing.

        Raises:
            BundleError: it is not there, is no run, is damaged, or was made by another version of Assay.
        """
        head = files.read_head(path)
        return cls(path, find_scripts(files.read_plan(path), path), head)

    @property
    def run_id(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def is_sealed(self) -> bool:
        """Whether the run is complete and will never change again."""
        return isinstance(self._head, Manifest)

    @property
    def is_gone(self) -> bool:
        """Whether its folder is known not to be there any more; False if the storage does not answer."""
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return False

    @property
    def info(self) -> RunInfo:
        """Who ran what, when, and how it ended."""
        return self._head.info

    @property
    def remarks(self) -> Remarks:
        """What the user calls it, now: no part of the record."""
        return remarks_of(self.path)

    @property
    def marks(self) -> tuple[KeptMark, ...]:
        """When something happened, as the user states, now: no part of the record."""
        return marks_of(self.path)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What is known of machine and storage, in the order in which it was recorded."""
        return self._head.facts

    @property
    def events_path(self) -> Path:
        """Where the engine's standard output goes, straight from the engine: it survives the death of `assay`."""
        return files.of_client(self.path, files.STREAMS, files.ALONE)

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of the clients, in order."""
        if isinstance(self._head, Manifest):
            return tuple(self._head.clients)
        return tuple(self._streams())

    @property
    def stream_cut_bytes(self) -> int:
        """Bytes of lines that engines were writing when they were killed; 0 when each stream ends with a whole line."""
        cut: Iterable[ClientEntry | Stream]
        cut = self._head.clients.values() if isinstance(self._head, Manifest) else self._streams().values()
        return sum(one.cut_bytes if isinstance(one, Stream) else one.stream_cut_bytes for one in cut)

    def events(self, client: str | None = None) -> list[Event]:
        """Return every event of a client but the intervals, in order; None: of the only one.

        Raises:
            BundleError: they cannot be read, or there are several clients and none was named.
        """
        name = self._only_client() if client is None else client
        if (streams := self._in_memory()) is not None:
            with content_checked(files.of_client(self.path, files.STREAMS, name)):
                check_events(streams[name].events, len(self.plan.phases))
            return list(streams[name].events)
        file = files.of_client(self.path, files.EVENTS, name).relative_to(self.path).as_posix()
        with content_checked(self.path / file):
            found = read_events(self._contents(file))
            check_events(found, len(self.plan.phases))
        return found

    def intervals(self) -> pl.DataFrame:
        """Return `intervals`: one row for each interval and operation."""
        return self._table(INTERVALS)

    def histograms(self) -> pl.DataFrame:
        """Return `hist`: one row for each filled bucket."""
        return self._table(HISTOGRAMS)

    def workers(self) -> pl.DataFrame:
        """Return `workers`: where each worker's time went, running totals."""
        return self._table(WORKERS)

    def host(self) -> pl.DataFrame:
        """Return `host`: counters of the machine and of the engine's process, one row a counter."""
        return self._table(HOST)

    def record_facts(self, facts: Iterable[Fact]) -> None:
        """Add facts, durably; one of a key that is there replaces it.

        Raises:
            BundleError: the run is sealed.
            RunError: the facts cannot be written.
        """
        merged = {fact.key: fact for fact in (*self.facts, *facts)}
        self._write_record(tuple(merged.values()))

    def seal(self, exit_code: int | None = None) -> None:
        """Finish the run: write tables, events and, last, the manifest; then remove what they replace.

        The engine must have ended. When this fails, the run stays unsealed and loses nothing.

        Args:
            exit_code: Of the error that ended the run early; None: it ended by itself, and its results decide the code.

        Raises:
            BundleError: the run is sealed, or its stream is not one.
            RunError: a file cannot be written.
        """
        self._refuse_if_sealed()
        streams, replaced = (
            self._streams(),
            [*files.by_client(self.path, files.STREAMS).values(), self.path / files.RUN],
        )
        for table in COLUMNS:
            files.write_durably(self._table_path(table), parquet(_joined(streams, table)))
        for client, stream in streams.items():
            encoded = msgspec.json.format(msgspec.json.encode(stream.events), indent=2)
            files.write_durably(files.of_client(self.path, files.EVENTS, client), encoded)
        manifest = self._manifest(streams, exit_code)
        files.write_seal(self.path, manifest)
        self._head, self._read, self._sealed_from = manifest, None, streams
        with contextlib.suppress(OSError):  # it is sealed: what stays is not looked at any more
            for path in replaced:
                remove_in_run(path)

    def discard(self) -> None:
        """Remove a run that was refused before anything was done; raises BundleError where it is sealed."""
        self._refuse_if_sealed()
        remove_run(self.path)

    def verify(self) -> None:
        """Check every file of a sealed run against the manifest; an unsealed run has nothing to check against.

        Raises:
            BundleError: files are missing or differ; the text names them.
        """
        if not isinstance(self._head, Manifest):
            return
        needed = {self._in_folder(self._table_path(table)) for table in COLUMNS} | {files.PLAN}
        needed |= {self._in_folder(files.of_client(self.path, files.EVENTS, client)) for client in self.clients}
        found = [f"{name} is not in it" for name in sorted(needed - self._head.files.keys())]
        found += files.faults(self.path, self._head.files)
        if found:
            raise BundleError(f"{self.path}: does not match its manifest: {'; '.join(found)}. {DAMAGED_CURE}")

    @property
    def is_foreign(self) -> bool:
        """Whether Assay did not measure it: `assay import` made it of what another tool printed."""
        return self.plan.origin.front_end == FOREIGN

    def stream_path(self, client: str) -> Path:
        """Where the stream of a client of several goes."""
        return files.of_client(self.path, files.STREAMS, client)

    def take_stream(self, client: str, stream: Stream) -> None:
        """Keep the content of a client's stream: while the file has this size it is not read again."""
        self._taken[client] = (self.stream_path(client).lstat().st_size, stream)

    def keep_client_set(self, found: ClientSet) -> None:
        """Write down who measures; raises RunError, and BundleError where the run is sealed."""
        self._refuse_if_sealed()
        write_client_set(self.path, found)

    def client_set(self) -> ClientSet | None:
        """Give who measured; None of a run of one client. Raises BundleError where the file is damaged."""
        if self.is_sealed and not self._is_listed(CLIENTS):
            return None
        try:
            with content_checked(self.path / CLIENTS):
                found = client_set_of(self._contents(CLIENTS))
                if any(start.phase_index >= len(self.plan.phases) for start in found.starts):
                    raise ValueError(f"a start is of a phase that the Plan of {len(self.plan.phases)} does not have")
                return found
        except BundleError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def keep_original(self, original: Original) -> None:
        """Put what another tool printed into a foreign run; raises RunError, and BundleError where the run is sealed."""
        self._refuse_if_sealed()
        write_original(self.path, original)

    def original(self) -> Original | None:
        """Give what another tool printed; None of a run that Assay measured.

        Raises:
            BundleError: a foreign run does not have it, or it does not match its description.
        """
        if not self.is_foreign:
            return None
        with content_checked(self.path / ORIGINAL):
            return original_of(self._contents(ABOUT), self._contents(ORIGINAL))

    def check_contents(self) -> None:
        """Read everything once, for those who use the Plan alone; raises BundleError where the run is damaged."""
        self.client_set()
        for client in self.clients:
            self.events(client)
        for name in COLUMNS:
            for _ in self.scan(name).parts():
                pass

    def is_own(self, library: Path) -> bool:
        """Whether this user made the run in a library, and what a rerun of it does is as it was then."""
        return is_own(self.path, self.plan, library)

    def source_text(self) -> str | None:
        """Give the load file as it was read, where there was one; raises BundleError."""
        if self.is_sealed and not self._is_listed(files.SOURCE):
            return None
        try:
            return self._contents(files.SOURCE).decode()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise BundleError(f"{self.path / files.SOURCE}: cannot be read ({error}). {DAMAGED_CURE}") from error

    def file_names(self) -> tuple[str, ...]:
        """Name the files of the run: of a sealed one those of its manifest, the manifest, and the remarks on it."""
        if isinstance(self._head, Manifest):
            names = {*self._head.files, files.MANIFEST, files.SEAL}
            sidecars = {REMARKS: self.remarks != NOTHING, MARKS: bool(self.marks)}
            parts = [name for name, is_there in sidecars.items() if is_there and name not in names]
            return (*self._head.files, files.MANIFEST, files.SEAL, *parts)
        there = ((name, self.path / name) for name in files.names_of(self.path) if is_inside(name))
        return tuple(name for name, path in there if path.is_file() and not path.is_symlink())

    def _is_listed(self, name: str) -> bool:
        return isinstance(self._head, Manifest) and name in self._head.files

    def _in_folder(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _contents(self, name: str) -> bytes:
        """Read a file of the run; raises FileNotFoundError, OSError, and BundleError where the manifest does not have it."""
        if self.is_sealed and not self._is_listed(name):
            raise BundleError(f"{self.path}: its manifest does not have {name}. {DAMAGED_CURE}")
        return read_inside(self.path, name)

    def _manifest(self, streams: Streams, exit_code: int | None) -> Manifest:
        ended = dt.datetime.now(dt.UTC)
        began_s = self._began_s
        if began_s is None:
            # Sealed by another process than the one that began it: only the calendar has the time.
            seconds = (ended - dt.datetime.fromisoformat(self.info.started_utc)).total_seconds()
        else:
            seconds = time.monotonic() - began_s
        entries = files.to_seal(self.path)
        info = msgspec.structs.replace(self.info, ended_utc=_iso(ended), seconds=seconds, exit_code=exit_code)
        return Manifest(
            schema=files.MANIFEST_SCHEMA,
            info=info,
            plan_sha256=entries[files.PLAN].sha256,
            clients={
                client: ClientEntry(hello=stream.hello, stream_cut_bytes=stream.cut_bytes)
                for client, stream in streams.items()
            },
            facts=self.facts,
            files=entries,
        )

    def scan(self, name: str) -> Scan:
        """Return a table to be read part by part.

        Raises:
            BundleError: it is none, here or when a part of it is read.
        """
        if self._in_memory() is not None:
            return HeldTable(self._table(name))
        path = self._table_path(name)
        with content_checked(path):
            data = self._contents(path.name)
        return FileTable(path, data, name, len(self.plan.phases))

    def _table(self, name: str) -> pl.DataFrame:
        phases = len(self.plan.phases)
        if (streams := self._in_memory()) is not None:
            with content_checked(self.path):
                return check_rows(_joined(streams, name), name, phases)
        path = self._table_path(name)
        with content_checked(path):
            return check_rows(read_table(self._contents(path.name), name), name, phases)

    def _table_path(self, name: str) -> Path:
        return self.path / table_file(name)

    def _only_client(self) -> str:
        clients = self.clients
        if len(clients) > 1:
            raise BundleError(
                f"{self.path}: has streams of {len(clients)} clients ({', '.join(clients[:_NAMED])}), and each is asked for"
                f" by its name; their clock offsets would be in {CLIENTS}. {DAMAGED_CURE}"
            )
        return clients[0]

    def _in_memory(self) -> Streams | None:
        """Return the content of the streams, if there are any or they were just sealed; else tables are in files."""
        if self._sealed_from is None and not self.is_sealed:
            streams = self._streams()
            if not self.is_sealed:
                return streams
        return self._sealed_from

    def _streams(self) -> Streams:
        """Read the streams, again only if one has grown; a run that was sealed meanwhile becomes a sealed one here."""
        try:
            found = files.by_client(self.path, files.STREAMS) or {files.ALONE: self.events_path}
            sizes_bytes = {client: path.lstat().st_size for client, path in found.items()}
        except FileNotFoundError:
            sizes_bytes = {}
            self._head = files.read_head(self.path)
        except OSError as error:
            raise BundleError(
                f"{self.path}: its events cannot be read: {error.strerror}. Check its permissions"
            ) from error
        if self._read is None or self._read[0] != sizes_bytes:
            self._read = (
                sizes_bytes,
                {client: self._stream_of(client, path, sizes_bytes.get(client)) for client, path in found.items()},
            )
        return self._read[1]

    def _stream_of(self, client: str, path: Path, size_bytes: int | None) -> Stream:
        """Give what was read of this size, else read it; None: it is not there any more."""
        taken_bytes, stream = self._taken.get(client, (None, None))
        if stream is not None and taken_bytes == size_bytes:
            return stream
        return read_stream(self.path, self._in_folder(path))

    def _write_record(self, facts: tuple[Fact, ...]) -> None:
        self._refuse_if_sealed()
        record = RunFile(schema=files.RUN_SCHEMA, info=self.info, facts=facts)
        files.write_durably(self.path / files.RUN, msgspec.json.format(msgspec.json.encode(record), indent=2))
        self._head = record

    def _refuse_if_sealed(self) -> None:
        if self.is_sealed or (self.path / files.MANIFEST).exists():
            raise BundleError(f"{self.path}: is sealed and is never rewritten. Start a new run instead")


def _joined(streams: Streams, name: str) -> pl.DataFrame:
    return join({client: stream.tables[name] for client, stream in streams.items()})


def table_file(name: str) -> str:
    """Name the file of a table."""
    return f"{name}.parquet"


def parquet(table: pl.DataFrame) -> bytes:
    """Encode a table as it is kept."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _iso(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
