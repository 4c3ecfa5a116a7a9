"""The run bundle: a directory that holds a whole run. Third of the seams.

    <utc>-<slug>-<8 hex>/
      manifest.json       schema, run id, command, times, what ended it, facts, sha256 of every other file; only in a
                          sealed run
      run.json            what was known at the start (id, command, started, facts so far): opens a run that died
      plan.toml           the load file as asked, where there was one (asked.* of other front ends)
      resolved.json       the Plan after defaults
      script-*.ndjson     the lists of operations that the Plan refers to
      events/CLIENT.ndjson  a client's stream; after sealing `events/CLIENT.json` (all but the intervals) and the tables
                          replace it. A client that is alone is called `0`
      intervals.parquet   client, phase_index i32, job, operation, t_s, dt_s, ops, bytes, errors,
                          latency_max_ns (running), latency_sum_ns, response_max_ns, response_sum_ns (null: closed loop)
      hist.parquet        client, phase_index i32, job, operation, series (latency | response), t_s, bucket u32, n
      workers.parquet     client, phase_index i32, t_s, job, worker i32, ops, bytes, and the *_ns and io_calls of the stream
      host.parquet        client, phase_index i32, t_s, source, instance, name, value f64; source `process` holds the
                          engine's own process_cpu_ns, observer_cpu_ns, process_read_bytes, process_write_bytes

`t_s` is seconds since the engine's hello, at the end of the interval. Counters are running totals (events.py).

A run is unsealed until its tables are written and the manifest, last of all, is in place. Opening never writes. A
sealed run is never rewritten. A run that died opens just the same; only its end (`ended_utc`, `exit_code`) is unknown.

Bundles of before there were clients (`assay.bundle/1`: `events.ndjson` or `events.json` beside the tables, no column
`client`) open as those of client `0`.
"""

import contextlib
import datetime as dt
import io
import re
import secrets
import shlex
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import msgspec
import polars as pl

from assay import __version__
from assay.bundle import files as files
from assay.bundle.files import ClientEntry, Manifest, RunFile, RunInfo
from assay.bundle.scripts import find_scripts, keep_scripts
from assay.bundle.tables import COLUMNS, HISTOGRAMS, HOST, INTERVALS, WORKERS, Stream, join, read_stream, with_client
from assay.errors import BundleError, PlanError, RunError, reason_of
from assay.events import Event
from assay.host.facts import Fact
from assay.plan import Plan

_SLUG_CHARACTERS = 40
_NAME_TRIES = 8


Streams = dict[str, Stream]
"""What each client's stream says, by the client's name."""


class RunBundle:
    """One run on storage, sealed or not; both answer the same questions."""

    def __init__(self, path: Path, plan: Plan, head: Manifest | RunFile) -> None:
        """Hold what is known; use `create` or `open`."""
        self.path = path
        self.plan = plan
        self._head = head
        self._read: tuple[dict[str, int], Streams] | None = None
        self._sealed_from: Streams | None = None
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
        note: str = "",
    ) -> Self:
        """Begin a run: make its folder and write down all that is known before the engine starts.

        Args:
            runs_directory: Where runs are kept; made if it is not there.
            slug: What the run is about, in a word or two, for its name.
            plan: What will be done.
            argv: The command line that asked for it.
            source_text: The load file as it was read, where there is one.
            note: The operator's own words.

        Raises:
            RunError: the folder cannot be made or written.
        """
        began = dt.datetime.now(dt.UTC)
        path = _make_folder(runs_directory, f"{began:%Y%m%dT%H%M%SZ}-{_slug(slug)}")
        try:
            return cls._begin(path, began, plan=plan, argv=argv, source_text=source_text, note=note)
        except BaseException as error:
            # Nothing was measured: a folder without its record would be a run that nobody can open.
            shutil.rmtree(path, ignore_errors=True)
            reason = error if isinstance(error, OSError) else error.__cause__
            if isinstance(reason, OSError):
                raise RunError(_cannot_be_kept(runs_directory, reason)) from reason
            raise

    @classmethod
    def _begin(
        cls, path: Path, began: dt.datetime, *, plan: Plan, argv: Sequence[str], source_text: str | None, note: str
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
            note=note,
        )
        kept = keep_scripts(plan, path)
        files.of_client(path, files.STREAMS, files.ALONE).parent.mkdir()
        bundle = cls(path, find_scripts(kept, path), RunFile(schema=files.RUN_SCHEMA, info=info, facts=()))
        bundle._began_s = time.monotonic()
        files.write_durably(path / files.PLAN, kept.to_json())
        if source_text is not None:
            files.write_durably(path / files.SOURCE, source_text.encode())
        # Last: a folder with run.json always has its Plan.
        bundle._write_record(())
        return bundle

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run, sealed, under way or dead; writes nothing.

        Raises:
            BundleError: it is not there, is no run, or was written by another version of Assay.
        """
        head = files.read_head(path)
        return cls(path, find_scripts(_read_plan(path / files.PLAN), path), head)

    @property
    def run_id(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def is_sealed(self) -> bool:
        """Whether the run is complete and will never change again."""
        return isinstance(self._head, Manifest)

    @property
    def info(self) -> RunInfo:
        """Who ran what, when, and how it ended."""
        return self._head.info

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
            return list(streams[name].events)
        path = files.by_client(self.path, files.EVENTS).get(name, files.of_client(self.path, files.EVENTS, name))
        try:
            return msgspec.json.decode(path.read_bytes(), type=list[Event])
        except (OSError, msgspec.DecodeError) as error:
            raise BundleError(f"{path}: cannot be read ({error}). {_RESTORE}") from error

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
            exit_code: Of the error that ended the run early; None: it ended by itself, and its numbers say the rest.

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
            files.write_durably(self._table_path(table), _parquet(_joined(streams, table)))
        for client, stream in streams.items():
            encoded = msgspec.json.format(msgspec.json.encode(stream.events), indent=2)
            files.write_durably(files.of_client(self.path, files.EVENTS, client), encoded)
        manifest = self._manifest(streams, exit_code)
        encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        files.write_durably(self.path / files.MANIFEST, encoded)
        self._head, self._read, self._sealed_from = manifest, None, streams
        with contextlib.suppress(OSError):  # it is sealed: what stays is not looked at any more
            for path in replaced:
                path.unlink(missing_ok=True)

    def verify(self) -> None:
        """Check every file of a sealed run against the manifest; an unsealed run has nothing to check against.

        Raises:
            BundleError: files are missing or differ; the text names them.
        """
        if isinstance(self._head, Manifest) and (found := files.faults(self.path, self._head.files)):
            raise BundleError(f"{self.path}: is not what its manifest says: {'; '.join(found)}. {_RESTORE}")

    def _manifest(self, streams: Streams, exit_code: int | None) -> Manifest:
        ended = dt.datetime.now(dt.UTC)
        began_s = self._began_s
        if began_s is None:
            # Sealed by another process than the one that began it: only the calendar knows.
            seconds = (ended - dt.datetime.fromisoformat(self.info.started_utc)).total_seconds()
        else:
            seconds = time.monotonic() - began_s
        entries = {name: files.entry_of(path) for name, path in files.sealed_files(self.path)}
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

    def _table(self, name: str) -> pl.DataFrame:
        if (streams := self._in_memory()) is not None:
            return _joined(streams, name)
        path = self._table_path(name)
        try:
            return with_client(pl.read_parquet(path), files.ALONE)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise BundleError(f"{path}: cannot be read ({error}). {_RESTORE}") from error

    def _table_path(self, name: str) -> Path:
        return self.path / f"{name}.parquet"

    def _only_client(self) -> str:
        clients = self.clients
        if len(clients) > 1:
            raise BundleError(
                f"{self.path}: is a run of {len(clients)} clients ({', '.join(clients)}), and this Assay judges runs of"
                " one. Read it with a newer one"
            )
        return clients[0]

    def _in_memory(self) -> Streams | None:
        """Give what the streams say, while there are any or when they were sealed a moment ago; else tables are in files."""
        if self._sealed_from is None and not self.is_sealed:
            streams = self._streams()
            if not self.is_sealed:
                return streams
        return self._sealed_from

    def _streams(self) -> Streams:
        """Read the streams, again only if one has grown; a run that was sealed meanwhile becomes a sealed one here."""
        try:
            found = files.by_client(self.path, files.STREAMS) or {files.ALONE: self.events_path}
            sizes_bytes = {client: path.stat().st_size for client, path in found.items()}
        except FileNotFoundError:
            sizes_bytes = {}
            self._head = files.read_head(self.path)
        if self._read is None or self._read[0] != sizes_bytes:
            self._read = (sizes_bytes, {client: read_stream(path) for client, path in found.items()})
        return self._read[1]

    def _write_record(self, facts: tuple[Fact, ...]) -> None:
        self._refuse_if_sealed()
        record = RunFile(schema=files.RUN_SCHEMA, info=self.info, facts=facts)
        files.write_durably(self.path / files.RUN, msgspec.json.format(msgspec.json.encode(record), indent=2))
        self._head = record

    def _refuse_if_sealed(self) -> None:
        if self.is_sealed or (self.path / files.MANIFEST).exists():
            raise BundleError(f"{self.path}: is sealed and is never rewritten. Start a new run instead")


_RESTORE = "The run was changed after it was sealed: restore it from a copy, or measure again"


def _make_folder(runs: Path, stem: str) -> Path:
    try:
        runs.mkdir(parents=True, exist_ok=True)
        for _ in range(_NAME_TRIES):
            path = runs / f"{stem}-{secrets.token_hex(4)}"
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise RunError(_cannot_be_kept(runs, error)) from error
    raise RunError(f"{runs}: no free name after {_NAME_TRIES} tries. Nothing was measured. Check the system's clock")


def _cannot_be_kept(runs: Path, error: OSError) -> str:
    return (
        f"{runs}: a run folder cannot be made here: {reason_of(error)}. Nothing was measured. "
        "Keep runs elsewhere with --runs DIR or $ASSAY_RUNS"
    )


def _read_plan(path: Path) -> Plan:
    try:
        return Plan.from_json(path.read_bytes())
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}. Without its Plan a run has no meaning") from error
    except (PlanError, msgspec.DecodeError) as error:
        raise BundleError(f"{path}: is no Plan that this Assay reads ({error}). {_RESTORE}") from error


def _joined(streams: Streams, name: str) -> pl.DataFrame:
    return join({client: stream.tables[name] for client, stream in streams.items()})


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_CHARACTERS].strip("-") or "run"


def _iso(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
