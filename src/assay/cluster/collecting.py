"""Fetch what clients kept of a run whose end they, or its leader, did not see.

Theirs is the only copy until a sealed run has it: they are asked to remove it after that, and never before.
"""

import contextlib
import dataclasses
import datetime as dt
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.bundle import RunBundle, files
from assay.bundle.client_set import ClientSet, Member, Role
from assay.bundle.common_clock import common_clock
from assay.bundle.completing import complete
from assay.bundle.contents import LONGEST_S
from assay.bundle.held import held
from assay.bundle.known_until import known_until_ns, stream_until_ns
from assay.bundle.run_place import STREAM_FOLDER
from assay.bundle.tables import Stream, read_stream_at
from assay.cluster.cleanup import remove_collected
from assay.cluster.client_rules import ClientRules, RuleBrokenError
from assay.cluster.connection import Connection
from assay.cluster.fetch_progress import FetchProgress
from assay.cluster.not_collected import with_not_collected
from assay.cluster.observing import observers_plan
from assay.errors import BundleError, RunError
from assay.own_files import scratch_folder
from assay.units import format_seconds

_NS_PER_S = 1e9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Collected:
    """What came of it."""

    bundle: RunBundle
    """The run that has it: the one that was asked for, where that was not sealed, else a new one."""
    clients: tuple[str, ...]
    """Whose streams were fetched."""
    whole: tuple[str, ...]
    """Clients with complete data in the run."""
    failed: Mapping[str, str]
    """Why nothing came of the others, by name."""
    remarks: tuple[str, ...]
    """Further notes for the user."""


@contextlib.contextmanager
def to_complete(bundle: RunBundle) -> Iterator[RunBundle]:
    """Hold a run that is to be completed, and give it as it is now; raises RunError where another process works on it."""
    with held(bundle.path) as is_free:
        if not is_free:
            raise RunError(
                f"{bundle.run_id} is under way, or is being collected by another command; nothing was fetched"
            )
        yield RunBundle.open(bundle.path)


def collect(
    bundle: RunBundle, connections: Sequence[Connection], runs: Path, report: Callable[[str], None] = lambda _: None
) -> Collected:
    """Fetch what the clients of connections kept of a run, and make the run whole with it, as far as that goes.

    Args:
        bundle: The run, held by `to_complete`.
        connections: Clients that are connected.
        runs: Where a run is made that has more than a sealed one.
        report: Receives a line now and then while much is fetched.

    Raises:
        BundleError: the run is damaged.
        RunError: the run cannot be written; all that was fetched is still on the clients.
    """
    found = bundle.client_set()
    assert found is not None  # noqa: S101 - whoever calls has looked
    members = {member.name: member for member in found.members}
    wanted: dict[str, Connection] = {}
    whole: list[str] = []
    failed: dict[str, str] = {}
    for connection in connections:
        recalled = connection.recall(bundle.run_id)
        for name in connection.clients:
            if name not in members:
                failed[name] = f"is not a client of {bundle.run_id}"
            elif is_whole(bundle, members[name]):
                whole.append(name)
            elif name in recalled.kept:
                wanted[name] = connection
            else:
                failed[name] = recalled.refused.get(name, f"has nothing of {bundle.run_id}")
    made, streams = bundle, dict[str, Stream]()
    with _place_for(bundle) as folder:
        telling = FetchProgress(tuple(wanted), report)
        until_ns = known_until_ns(bundle) if wanted else {}
        for name, connection in wanted.items():
            try:
                rules = _rules_of(bundle, members[name])
                streams[name] = _fetch(connection, name, folder, telling, until_ns.get(name, 0), rules)
            except (BundleError, RuleBrokenError, RunError) as error:
                failed[name] = str(error).removeprefix(f"client '{name}': ")
    if streams:
        made = _complete(bundle, found, streams, until_ns, runs)
    remarks = [text for name in streams for text in remove_collected(wanted[name], (name,))]
    return Collected(bundle=made, clients=tuple(streams), whole=tuple(whole), failed=failed, remarks=tuple(remarks))


def is_whole(bundle: RunBundle, member: Member) -> bool:
    """Return whether a run has all that a client recorded."""
    return bundle.is_sealed and (member.lost is None or member.lost.is_collected)


@contextlib.contextmanager
def _place_for(bundle: RunBundle) -> Iterator[Path]:
    """Give the folder whose folder of streams gets what is fetched: the run's own, or one that goes, as sealed runs stay."""
    if not bundle.is_sealed:
        yield bundle.path
        return
    with scratch_folder() as folder:
        (folder / STREAM_FOLDER).mkdir()
        yield folder


def _rules_of(bundle: RunBundle, member: Member) -> ClientRules:
    """Make the rules for what a client recorded: of its part of the Plan, and no longer than the run is ago."""
    plan = bundle.plan if member.role is Role.LOAD else observers_plan(bundle.plan)
    ago_s = (dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(bundle.info.started_utc)).total_seconds()
    most_ns = round((ago_s if ago_s > 0 else LONGEST_S) * _NS_PER_S)
    return ClientRules(plan, lambda: most_ns)


def _fetch(  # noqa: PLR0917 - what it is of
    connection: Connection, client: str, folder: Path, telling: FetchProgress, known_ns: int, rules: ClientRules
) -> Stream:
    """Fetch a stream under the name that it has in a run, and read it; until `known_ns` the run has something of it.

    Raises:
        BundleError: it is not a stream.
        RuleBrokenError: it cannot be one of this run.
        RunError: it cannot be fetched, or has less than the run already has of the client.
    """
    found: list[Stream] = []

    def check(path: Path) -> None:
        stream = read_stream_at(path)
        rules.check_whole(stream, is_complete=False)
        if (end_ns := stream_until_ns(stream)) < known_ns:
            raise RunError(
                f"its stream ends at {format_seconds(end_ns / _NS_PER_S)}, and the run has more of it, until "
                f"{format_seconds(known_ns / _NS_PER_S)}; it was left there"
            )
        found.append(stream)

    into = files.of_client(folder, files.STREAMS, client)
    connection.fetch(client, into, functools.partial(telling.look, client), check)
    return found[0]


def _complete(
    bundle: RunBundle, found: ClientSet, streams: Mapping[str, Stream], until_ns: Mapping[str, int], runs: Path
) -> RunBundle:
    """Give the sealed run that has the streams; raises BundleError and RunError, and then there is none."""
    now = _with_collected(found, streams)
    if bundle.is_sealed:
        return complete(bundle, streams, now, runs)
    now = with_not_collected(now, streams, _last_event_ns(bundle, found, until_ns), time.monotonic_ns())
    bundle.keep_client_set(now)
    bundle.seal()
    return bundle


def _with_collected(found: ClientSet, streams: Mapping[str, Stream]) -> ClientSet:
    members = tuple(
        msgspec.structs.replace(member, lost=msgspec.structs.replace(member.lost, is_collected=True))
        if member.name in streams and member.lost is not None
        else member
        for member in found.members
    )
    return msgspec.structs.replace(found, members=members)


def _last_event_ns(bundle: RunBundle, found: ClientSet, until_ns: Mapping[str, int]) -> Callable[[str], int]:
    """Give the time of each client's last event by the leader's clock; for an unknown clock, the start of the last phase."""
    clock = common_clock(found, {client: bundle.events(client) for client in bundle.clients})
    begun_ns = found.starts[-1].at_ns if found.starts else clock.zero_ns

    def last_event_ns(client: str) -> int:
        client_ns = until_ns.get(client, 0)
        shift = clock.shift(client, client_ns)
        return begun_ns if shift is None else client_ns + shift.ns + clock.zero_ns

    return last_event_ns
