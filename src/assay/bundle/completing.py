"""Complete a run of several clients with records of one client that were collected later.

A sealed run is never rewritten: the completed one is another run, which names the run it completes, and has the same Plan,
facts and times, tags, note and marks. It takes over the name, and is the later of the two: who asks for `last` means it.
Of the clients that were whole it has what the first has.
"""

import contextlib
import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.bundle import files
from assay.bundle.client_set import CLIENTS, ClientSet, write_client_set
from assay.bundle.common_clock import common_clock
from assay.bundle.files import ClientEntry, Manifest
from assay.bundle.inside import read_inside
from assay.bundle.kept_marks import add_mark
from assay.bundle.maker import MAKER, sign
from assay.bundle.opened_folder import open_folder
from assay.bundle.remarks import NOTHING, change_remarks, write_remarks
from assay.bundle.run_bundle import RunBundle, parquet, table_file
from assay.bundle.run_folder import make_run_folder, removed_on_error
from assay.bundle.run_place import STREAM_FOLDER
from assay.bundle.tables import CLIENT, COLUMNS, Stream, join
from assay.errors import AssayError, BundleError
from assay.events import Event
from assay.host.facts import Fact

COMPLETES = "run.completes"
"""Fact that names the run which this one has more of."""


def complete(of: RunBundle, collected: Mapping[str, Stream], found: ClientSet, runs: Path) -> RunBundle:
    """Make the run that a sealed one and more streams are together.

    Args:
        of: The run without them.
        collected: Whole streams by client, each of them one of its clients.
        found: Who measured, as it is known now.
        runs: Where runs are kept.

    Raises:
        BundleError: the run is not sealed, is damaged, or has no such client.
        RunError: the folder cannot be made or written.
    """
    if not of.is_sealed:
        raise BundleError(f"{of.path}: is not sealed: collected records go into it, not next to it")
    if unknown := sorted(set(collected) - set(of.clients)):
        raise BundleError(f"{of.path}: has no client {', '.join(unknown)}")
    of.verify()
    head = files.read_head(of.path)
    assert isinstance(head, Manifest)  # noqa: S101 - it is sealed
    path = make_run_folder(runs, dt.datetime.fromisoformat(of.info.started_utc), of.plan.name, after=of.run_id)
    with removed_on_error(path):
        _write(path, of, head, collected, found)
    _move_name(of, path)
    return RunBundle.open(path)


def _move_name(of: RunBundle, path: Path) -> None:
    """Give the run the name of the one that it completes, unless that cannot be changed: a name is of one run alone."""
    if (name := of.remarks.name) is None:
        return
    with contextlib.suppress(AssayError):
        change_remarks(of.path, lambda text: msgspec.structs.replace(text, name=None))
        change_remarks(path, lambda text: msgspec.structs.replace(text, name=name))


def _write(path: Path, of: RunBundle, head: Manifest, collected: Mapping[str, Stream], found: ClientSet) -> None:
    made_anew = {MAKER, CLIENTS, *(table_file(name) for name in COLUMNS)}
    for name in head.files:
        if name not in made_anew and not Path(name).match(files.EVENTS):
            _make_stream_folder(path)
            files.write_durably(path / name, read_inside(of.path, name))
    streams = {client: collected.get(client) or _stream_of(of, head, client) for client in of.clients}
    for table in COLUMNS:
        data = join({client: stream.tables[table] for client, stream in streams.items()})
        files.write_durably(path / table_file(table), parquet(data))
    for client, stream in streams.items():
        file = files.of_client(path, files.EVENTS, client)
        _make_stream_folder(path)
        files.write_durably(file, msgspec.json.format(msgspec.json.encode(stream.events), indent=2))
    write_client_set(path, found)
    _add_note(path, of, {client: stream.events for client, stream in streams.items()}, found)
    sign(path, files.read_plan(path))
    facts = {fact.key: fact for fact in (*head.facts, Fact(key=COMPLETES, value=of.run_id, source="assay collect"))}
    entries = files.to_seal(path)
    manifest = msgspec.structs.replace(
        head,
        info=msgspec.structs.replace(head.info, run_id=path.name),
        clients={
            client: ClientEntry(hello=stream.hello, stream_cut_bytes=stream.cut_bytes)
            for client, stream in streams.items()
        },
        facts=tuple(facts.values()),
        files=entries,
    )
    files.write_seal(path, manifest)


def _make_stream_folder(path: Path) -> None:
    with open_folder(path) as opened:
        (opened.place / STREAM_FOLDER).mkdir(mode=0o755, exist_ok=True)


def _add_note(path: Path, of: RunBundle, recorded: Mapping[str, Sequence[Event]], found: ClientSet) -> None:
    """Take over tags, note and marks.

    Marks are of the time of the set, which begins earlier where a client is now known to have begun before the others.
    """
    text = msgspec.structs.replace(of.remarks, name=None)
    if text != NOTHING:
        write_remarks(path, text)
    before, now = (common_clock(found, events) for events in ({name: of.events(name) for name in of.clients}, recorded))
    for mark in of.marks:
        t_ns = max(0, mark.t_ns + before.zero_ns - now.zero_ns)
        add_mark(path, msgspec.structs.replace(mark, t_ns=t_ns))


def _stream_of(of: RunBundle, head: Manifest, client: str) -> Stream:
    """Give what a sealed run has of a client as the stream that it came from."""
    tables = dict(zip(COLUMNS, (of.intervals(), of.histograms(), of.workers(), of.host()), strict=True))
    entry = head.clients[client]
    return Stream(
        hello=entry.hello,
        events=tuple(of.events(client)),
        tables={name: table.filter(table[CLIENT] == client).drop(CLIENT) for name, table in tables.items()},
        cut_bytes=entry.stream_cut_bytes,
    )
